"""Brains: find them for a work tree, open them, and keep their indexes up to date.

This package must not import sessions, mining, the ledger or the command line.
Start with ``Brain`` in ``brain.py`` and ``Brains`` in ``brains.py``.
"""

"""The ledger: which lessons each session was given, and their effect.

This package must not import the hooks of a session, the command line or the daemon.
Start with ``note_given`` in ``given.py`` and with ``weigh`` in ``lesson_effect.py``.
"""

"""Parse tool calls: which files they touch, what commands run, and how they failed.

This package must not import cards, brains, or anything that writes files or starts processes.
Start with ``parse_call`` in ``parse_call.py``.
"""

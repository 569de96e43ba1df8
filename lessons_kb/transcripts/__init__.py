"""Readers for the session records that coding agents write. They only read.

They must not import cards, brains, or anything that writes files or starts processes.
Start with ``Entry`` and ``open_record`` in ``session_records.py``.
"""

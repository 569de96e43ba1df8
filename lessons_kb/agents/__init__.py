"""Coding agents: what each sends to a hook, what it accepts as an answer, and how it is set up.

It must not import ``library``, ``tui``, ``service`` or ``cli``.
Start reading in ``table.py``, one row per agent; then read ``payloads.py`` and ``claude_code.py``.
"""

"""One line of what the doctor found, and how to fix it."""

from __future__ import annotations

from typing import NamedTuple

MARKS = {"ok": "✓", "off": "–", "warning": "⚠", "error": "✗", "fixed": "✓"}

FIX = "`lessons doctor --fix`"
"""The command that repairs what it can."""


class Health(NamedTuple):
    """One line of the doctor's report."""

    level: str
    """``ok`` for what was seen to work, ``off`` for what is off or was not seen yet, ``warning``,
    ``error``, or ``fixed`` for what was put right."""
    what: str
    detail: str
    fix: str = ""

"""A line of the report of the doctor: a result and its fix."""

from __future__ import annotations

from dataclasses import dataclass

MARKS = {"ok": "✓", "off": "–", "warning": "⚠", "error": "✗", "fixed": "✓"}

FIX = "`lessons doctor --fix`"
"""The command that repairs everything that is safe to repair."""


@dataclass(frozen=True, slots=True)
class Health:
    """One line of the doctor's report."""

    level: str
    """``ok`` if it works, ``off`` if it is disabled or was never used, ``warning``, ``error``, or
    ``fixed`` if the doctor repaired it."""
    what: str
    detail: str
    fix: str = ""

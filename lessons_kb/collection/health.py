"""One line of what the doctor found, and how to fix it."""

from __future__ import annotations

from dataclasses import dataclass

MARKS = {"ok": "✓", "warning": "⚠", "error": "✗", "fixed": "✓"}


@dataclass(frozen=True, slots=True)
class Health:
    """One line of the doctor's report."""

    level: str
    """``ok``, ``warning`` or ``error``; ``fixed`` for what was put right."""
    what: str
    detail: str
    fix: str = ""

"""One line of the doctor's report, and the words that all checks share."""

from __future__ import annotations

from dataclasses import dataclass

MARKS = {"ok": "✓", "warning": "⚠", "error": "✗", "fixed": "✓"}
FIX = "`lessons doctor --fix`"
_STEP, _ROUND = 1_000, 10


@dataclass(frozen=True, kw_only=True, slots=True)
class Health:
    """One line of the doctor's report."""

    level: str
    """``ok``, ``warning`` or ``error``; ``fixed`` for what was put right."""
    what: str
    detail: str
    fix: str = ""


def size_of(count: float) -> str:
    """Return a number of bytes as people write it, such as ``12 kB``."""
    units = ["B", "kB", "MB", "GB"]
    while count >= _STEP and len(units) > 1:
        count /= _STEP
        del units[0]
    digits = 0 if units[0] == "B" or count >= _ROUND else 1
    return f"{count:.{digits}f} {units[0]}"

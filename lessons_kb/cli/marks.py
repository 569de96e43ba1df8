"""Format the marks that people gave to a card."""

from __future__ import annotations

from lessons_kb.ledger.lesson_effect import MARKS, Effect


def format_marks(effect: Effect) -> str:
    """Return one line with each mark and the number of times that people gave it to a card."""
    return ", ".join(f"{name} {getattr(effect, name)}×" for name in MARKS)

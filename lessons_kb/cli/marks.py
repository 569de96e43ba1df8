"""How often people gave each mark to a card."""

from __future__ import annotations

from lessons_kb.ledger.lesson_effect import MARKS, Effect


def count_marks(effect: Effect) -> str:
    """Return how often people gave each mark to a card."""
    return ", ".join(f"{name} {getattr(effect, name)}×" for name in MARKS)

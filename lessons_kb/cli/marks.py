"""Format the marks that people gave to a card."""

from __future__ import annotations

from lessons_kb.ledger.lesson_effect import MARKS, Effect


def format_marks(effect: Effect) -> str:
    """Return each mark and how often people gave it to a card, as one line."""
    return ", ".join(f"{name} {getattr(effect, name)}×" for name in MARKS)

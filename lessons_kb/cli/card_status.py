"""Set the status of cards and print the result, for `ignore` and `archive`."""

from __future__ import annotations

from collections.abc import Sequence

from lessons_kb.cli.options import open_brain
from lessons_kb.cli.output import print_cards
from lessons_kb.collection.card_edits import CardEdits
from lessons_kb.text.sanitize import clean_line


def set_status(status: str, ids: Sequence[str]) -> None:
    """Set the status of some cards, and print the new status of each card."""
    cards = CardEdits(open_brain()).set_status(status, *ids)
    print_cards(cards, lambda card: f"{clean_line(card.id)} {card.status}")

"""Find the drafts among the cards of a brain: files with ``status: draft`` in its folder."""

from __future__ import annotations

from lessons_kb.brain.brain import Brain
from lessons_kb.model import DRAFT, NOTE, Card


def find_draft_cards(brain: Brain) -> dict[str, Card]:
    """Return a mapping from id to card for the cards with ``status: draft``.

    The caller refreshes the brain first.
    """
    cards = brain.read(lambda brain: brain.catalogue.all_cards())
    return {card.id: card for card in cards if card.status == DRAFT and card.kind != NOTE}

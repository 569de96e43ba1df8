"""Count how many checklist items were visible in an answer, for ``brain.stats``."""

from __future__ import annotations

from collections.abc import Sequence

from lessons_kb.brain.injected import find_cards
from lessons_kb.brain.layer import Layer
from lessons_kb.learn.lesson_effect import ADDRESSED, UNADDRESSED
from lessons_kb.model import SHOWN, Card, Check


def count_items(given: Sequence[tuple[Layer, Card]], check: Check, *, at: float) -> None:
    """Count for each card how many of its items were visible in the answer, and how many not."""
    for layer, card in given:
        states = [item.state == SHOWN for item in check.items if item.card is card]
        seen = {UNADDRESSED: states.count(False), ADDRESSED: states.count(True)}
        with layer.session_journal.transaction():
            for what, times in seen.items():
                if times > 0:
                    layer.session_journal.count(card.id, what, at=at, times=times)


def count_check(layers: Sequence[Layer], check: Check, *, at: float) -> None:
    """Count the items of a check that no session is held against."""
    cards = {item.card.id: item.card for item in check.items}
    for layer in layers:
        found = [cards.pop(card.id) for card in find_cards(layer, set(cards))]
        count_items([(layer, card) for card in found], check, at=at)

"""What the journal of a brain says about the effect of its cards."""

from __future__ import annotations

from collections.abc import Iterable

from lessons_kb.brain.brain import Brain
from lessons_kb.ledger.lesson_effect import Effect, group_by_card, weigh
from lessons_kb.model import Card

_MANY = 500
"""Cards for which all counts are read at once."""


SUPPRESSED = "suppressed"
"""How the reason of a hit begins that its own brain holds back; a server's copy is so, too."""


def weigh_cards(brain: Brain, cards: Iterable[Card]) -> dict[str, Effect]:
    """Return what is known of some cards by their ids; those that were never given are left out."""
    every = {card.id: card for card in cards}
    if not every:
        return {}
    journal = brain.hook_journal
    totals = journal.outcomes.totals([*every] if len(every) < _MANY else None)
    occasions = group_by_card(journal.ledger.find(cards=every))
    seen = [card for card in every if card in totals or card in occasions]
    return {
        card: weigh(every[card], totals.get(card, {}), occasions.get(card, ())) for card in seen
    }


def find_harmful(brain: Brain, cards: Iterable[Card]) -> dict[str, str]:
    """Return the ids of the harmful ones among some cards → why; none where all may be given."""
    if not brain.settings.effect.withhold_harmful:
        return {}
    where = f"{SUPPRESSED} by [effect] withhold_harmful"
    effects = weigh_cards(brain, cards).items()
    return {card: f"{where}: {one.reason}" for card, one in effects if one.verdict == "harms"}

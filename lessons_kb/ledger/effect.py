"""Compute the effect of a brain's cards from its journal."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from lessons_kb.brain.brain import Brain
from lessons_kb.model import Card
from lessons_kb.on_demand import LESSON_EFFECT, load

if TYPE_CHECKING:
    from lessons_kb.ledger.lesson_effect import Effect

_MANY = 500
"""The number of cards from which the counts of all cards are read with one query."""


SUPPRESSED = "suppressed"
"""The first word of the reason of a hit that its own brain suppresses, here or on a server."""


def weigh_cards(brain: Brain, cards: Iterable[Card]) -> dict[str, Effect]:
    """Return a mapping from card ids to effects. Cards without counts and occasions are left
    out.
    """
    by_id = {card.id: card for card in cards}
    if not by_id:
        return {}
    journal = brain.hook_journal
    totals = journal.outcomes.totals([*by_id] if len(by_id) < _MANY else None)
    noted = journal.ledger.find(cards=by_id)
    if not totals and not noted:
        return {}
    judge = load(LESSON_EFFECT)
    occasions = judge.group_by_card(noted)
    effects = {}
    for name, card in by_id.items():
        if name in totals or name in occasions:
            effects[name] = judge.weigh(card, totals.get(name, {}), occasions.get(name, ()))
    return effects


def find_harmful(brain: Brain, cards: Iterable[Card]) -> dict[str, str]:
    """Return the ids of the harmful cards, each with the reason why it is suppressed.

    The result is empty if the setting ``withhold_harmful`` is off.
    """
    if not brain.settings.effect.withhold_harmful:
        return {}
    setting = f"{SUPPRESSED} by [effect] withhold_harmful"
    effects = weigh_cards(brain, cards)
    harmful = [name for name, effect in effects.items() if effect.verdict == "harms"]
    return {name: f"{setting}: {effects[name].reason}" for name in harmful}

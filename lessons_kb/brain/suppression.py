"""Cards that do harm, held back where ``[effect] withhold_harmful`` of ``lessons.toml`` says so."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from lessons_kb.brain.layer import Layer
from lessons_kb.learn.effect import may_harm, weigh
from lessons_kb.model import Card, Hit

_WHERE = "withheld by [effect] withhold_harmful"


def hold_back(layer: Layer, hits: Sequence[Hit]) -> list[Hit]:
    """Return the hits of one brain, the harmful ones among those that passed marked as held."""
    harm = find_harmful(layer, [hit.card for hit in hits if hit.passed])
    return [
        replace(hit, passed=False, reason=harm[hit.card.id])
        if hit.passed and hit.card.id in harm
        else hit
        for hit in hits
    ]


def find_harmful(layer: Layer, cards: Iterable[Card]) -> dict[str, str]:
    """Return the ids of the harmful ones among some cards → why; none where all may be given."""
    wanted = list(cards)
    if not wanted or not layer.settings.effect.withhold_harmful:
        return {}
    totals = layer.session_journal.outcomes.totals([card.id for card in wanted])
    suspect = (card for card in wanted if may_harm(totals.get(card.id, {})))
    effects = (weigh(card, totals[card.id]) for card in suspect)
    return {e.card.id: f"{_WHERE}: {e.reason}" for e in effects if e.verdict == "harms"}

"""Find the cards of a brain that are nearest to a card, as candidates for a contradiction."""

from __future__ import annotations

from collections.abc import Sequence

from lessons_kb.brain.brain import Brain
from lessons_kb.model import NOTE, Card
from lessons_kb.text.analyzer import analyze

MOST_NEAREST = 5
"""The maximum number of cards with which a card is compared."""
_WEIGHTS = {"title": 1.0, "symptoms": 1.0, "checklist": 1.0, "body": 1.0}
_FETCHED = 40
"""Notes, and cards that are not injected, are among the hits of the index."""
_RANK_OFFSET = 60
"""The usual constant of reciprocal rank fusion."""


def find_nearest(brain: Brain, card: Card) -> list[Card]:
    """Return the active cards that are most similar to a card, the most similar first.

    Similar are cards that share words of the title, the cause, the checklist and the symptoms.
    Where the extra ``[semantic]`` is in use, cards of a similar meaning count as much. The card
    need not be in the brain. Callers hold the brain; see ``Brain.read``.
    """
    text = "\n".join((card.title, card.why, *card.checklist, *card.symptoms))
    rankings: list[list[int]] = []
    if brain.reader is not None:
        terms = dict.fromkeys(analyze(text), 1.0)
        rankings.append([number for number, _ in brain.reader.search(terms, _WEIGHTS, _FETCHED)])
    nearness = brain.meaning.near(text) if brain.meaning is not None else None
    if nearness is not None:
        rankings.append([number for number, _cosine in nearness.nearest(_FETCHED)])
    ordered = _fuse(rankings)
    cards = brain.cards(ordered)
    nearest = [cards[number] for number in ordered if number in cards]
    return [other for other in nearest if _may_meet(card, other)][:MOST_NEAREST]


def _fuse(rankings: Sequence[Sequence[int]]) -> list[int]:
    """Return the numbers of all rankings by reciprocal rank fusion, the best first."""
    scores: dict[int, float] = {}
    for ranking in rankings:
        for rank, number in enumerate(ranking):
            scores[number] = scores.get(number, 0.0) + 1 / (_RANK_OFFSET + rank)
    return sorted(scores, key=lambda number: -scores[number])


def _may_meet(card: Card, other: Card) -> bool:
    """Return whether one block may have both cards."""
    is_itself = (other.id, other.title) == (card.id, card.title)
    if is_itself or other.kind == NOTE or not other.is_injectable:
        return False
    return not (card.project and other.project) or card.project == other.project

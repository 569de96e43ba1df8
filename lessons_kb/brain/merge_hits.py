"""The hits of several brains, and of a server, in one order."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from lessons_kb.brain.layer import Layer
from lessons_kb.brain.retrieve import SUPPRESSED, Found
from lessons_kb.model import Card, Hit


def merge_hits(
    found: Sequence[tuple[Layer, Found]], served: Sequence[Hit] = ()
) -> list[tuple[Layer, Hit]]:
    """Put the hits of several brains, nearest first, into one order.

    Raw scores of two brains cannot be compared. Each brain's scores are scaled so that its first
    hit scores that hit's confidence; the order inside a brain stays, the nearer brain wins ties.
    A file that a brain inside another holds for both is the nearer one's. Where two brains hold
    the same id, ``Hit.brain`` tells them apart. What a server gave (``served``) is that of the
    farthest brain; the nearest remembers it.
    """
    if len(found) == 1 and not served:
        layer, only = found[0]
        return [(layer, hit) for hit in only.hits]
    scaled: list[tuple[Layer, Hit]] = []
    seen: set[str] = set()
    for layer, answer in found:
        files = {f"{layer.root}/{hit.card.id}": hit for hit in answer.hits}
        scale = _scale(answer.hits)
        own = [hit for file, hit in files.items() if file not in seen]
        scaled += [(layer, replace(hit, score=hit.score * scale)) for hit in own]
        seen.update(files)
    known = _known(hit for _layer, hit in scaled)
    new = [hit for hit in served if not known.intersection(_names(hit.card))]
    scale = _scale(served)
    scaled += [(found[0][0], replace(hit, score=hit.score * scale)) for hit in new]
    ids = [hit.card.id for _layer, hit in scaled]
    clashing = {card_id for card_id in ids if ids.count(card_id) > 1}
    named = [
        (layer, replace(hit, brain=layer.alias) if hit.card.id in clashing else hit)
        for layer, hit in scaled
    ]
    return sorted(named, key=lambda pair: -round(pair[1].score, 6))


def _scale(hits: Sequence[Hit]) -> float:
    """Return what makes the best score of one brain's hits its best confidence."""
    best = max((hit.score for hit in hits), default=0.0)
    return max(hit.confidence for hit in hits) / best if best > 0 else 0.0


def _known(hits: Iterable[Hit]) -> set[tuple[str, ...]]:
    """Return the names of the cards that a server need not give: given here, or suppressed."""
    known = (hit for hit in hits if hit.passed or hit.reason.startswith(SUPPRESSED))
    return {name for hit in known for name in _names(hit.card)}


def _names(card: Card) -> tuple[tuple[str, ...], ...]:
    """Return what two brains' copies of one card have in common: its content, or file and title."""
    title = " ".join(card.title.casefold().split())
    file = card.id.rpartition(":")[2]
    return ("content", title, card.why, *card.checklist), ("file", title, file)

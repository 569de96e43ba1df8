"""How surprising it is that a card shares words with a prompt, whatever one brain may hold."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import expm1, log, log1p
from operator import mul

from lessons_kb.text.document_frequencies import get_share

FADING = 0.7
"""Each further word counts this much of the one before, the rarest first: words come in company."""
SPREAD = 1.25
"""A card ten times as long holds more than ten times as many common words: topics widen."""
_POWERS = tuple(FADING**place for place in range(256))
PASSAGE = 150
"""Terms of the passages in which the shares of common terms were counted."""
RARE = 0.0005
RARE_PIECE = 0.005
"""Shares of terms that are not listed: of words, and of numbers and CJK bigrams."""
_FIRST_BIGRAM = "\u0e00"


def share_of(term: str) -> float:
    """Return the share of passages of PASSAGE terms that hold a term."""
    share = get_share(term)
    if share is not None:
        return share
    return RARE_PIECE if term.isdigit() or term > _FIRST_BIGRAM else RARE


def measure_nats(
    terms: Iterable[str], shares: Mapping[str, float], length: int
) -> dict[str, float]:
    """Return how many nats it would take to find each of these terms by chance.

    A term that stands in the share p of passages of PASSAGE terms stands in a card of ``length``
    terms with probability 1 - (1 - p) ** (length / PASSAGE), were words strewn evenly.
    """
    passages = (max(length, 1) / PASSAGE) ** SPREAD
    return {term: -log(-expm1(log1p(-shares[term]) * passages)) for term in terms}


def fade(nats: list[float]) -> float:
    """Return the sum of some evidence, the strongest first, each further piece counting less."""
    nats.sort(reverse=True)
    if len(nats) > len(_POWERS):
        return sum([value * FADING**place for place, value in enumerate(nats)])
    return float(sum(map(mul, nats, _POWERS)))

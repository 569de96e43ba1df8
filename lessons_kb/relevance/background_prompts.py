"""The background: how readily a card is drawn by prompts that are about other things.

A long card about how a team works shares words with every prompt; a short one about one function
with none. What 1,200 prompts about other things make of a card tells the two apart, before any
user's prompt does (hubness, as CSLS corrects it in retrieval). The figure depends on the card's
text alone, so it is measured when the card is read.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from functools import cache, lru_cache
from math import exp, expm1, log, log1p

from lessons_kb.data import read_lines
from lessons_kb.relevance.surprise import PASSAGE, SPREAD, fade, share_of

_PROMPTS = "background_prompts.txt"
UNKNOWN = 2.5
"""For a card that was not measured: a figure that one in twenty of a large brain exceeds."""

_LEAST = 4.0
"""Nats that a prompt and a card have to share to count at all."""
# The gate's form without what a brain adds to it (its size, its own document frequencies).
_ANSWERED = 2.5
_HALF = 0.5
_SURPRISE = 0.45
_ENOUGH = 8.0
_LACKING = -0.5
_NONE = 0.01
"""Prompts drawn by a card that draws none: one in a hundred times as many."""


def measure_background(terms: Sequence[str]) -> float:
    """Return the log of how many background prompts a card with these body terms would draw.

    From about -4.6 (none) to 3 (twenty of 1,200).
    """
    by_term, information = _background()
    passages = (max(len(terms), 1) / PASSAGE) ** SPREAD
    shared: dict[int, list[float]] = defaultdict(list)
    told: dict[int, float] = defaultdict(float)
    for term in by_term.keys() & set(terms):
        share = share_of(term)
        nats, anywhere = -log(-expm1(log1p(-share) * passages)), -log(share)
        for prompt in by_term[term]:
            shared[prompt].append(nats)
            told[prompt] += anywhere
    drawn = _NONE
    for prompt, nats_shared in shared.items():
        if told[prompt] >= _LEAST:
            answered = told[prompt] / information[prompt]
            odds = (
                _ANSWERED * log(answered / (_HALF + answered))
                + _SURPRISE * fade(nats_shared)
                + _LACKING * max(_ENOUGH - told[prompt], 0)
            )
            drawn += 1 / (1 + exp(-odds))
    return round(log(drawn), 3)


@lru_cache(maxsize=10_000)
def is_background(term: str) -> bool:
    """Tell whether any background prompt holds a term."""
    return f" {term} " in _background_text()


@cache
def _background_text() -> str:
    # Not a set: to make one takes a process that asks for a few terms longer than to look.
    return f" {' '.join(read_lines(_PROMPTS))} "


@cache
def _background() -> tuple[dict[str, list[int]], list[float]]:
    """Return term → numbers of the prompts that hold it, and the nats of each prompt's terms."""
    by_term: dict[str, list[int]] = defaultdict(list)
    information: list[float] = []
    for number, line in enumerate(read_lines(_PROMPTS)):
        terms = line.split()
        for term in terms:
            by_term[term].append(number)
        information.append(sum(-log(share_of(term)) for term in terms) or 1.0)
    return dict(by_term), information

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
from typing import NamedTuple

from lessons_kb.data import read_lines
from lessons_kb.relevance.surprise import FADING, PASSAGE, SPREAD, share_of
from lessons_kb.text.scripts import find_script

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
    shared, told = [0.0] * len(information), [0.0] * len(information)
    # The commonest term first: `fade` counts each less than the next rarer one.
    for held in sorted((by_term[term] for term in by_term.keys() & set(terms)), reverse=True):
        nats, anywhere = -log(-expm1(log1p(-held.share) * passages)), held.nats
        for prompt in held.prompts:
            shared[prompt] = shared[prompt] * FADING + nats
            told[prompt] += anywhere
    drawn = _NONE
    for prompt, nats in enumerate(told):
        if nats >= _LEAST:
            answered = nats / information[prompt]
            odds = (
                _ANSWERED * log(answered / (_HALF + answered))
                + _SURPRISE * shared[prompt]
                + _LACKING * max(_ENOUGH - nats, 0)
            )
            drawn += 1 / (1 + exp(-odds))
    return round(log(drawn), 3)


@lru_cache(maxsize=10_000)
def measure_rarity(term: str) -> float:
    """Return how rare a term is in the background prompts, in nats: 7.8 where none holds it."""
    text, prompts = _background_text()
    return -log((text.count(f" {term} ") + 0.5) / (prompts + 1))


def share_of_background(term: str, script: str) -> float:
    """Return the share of the background prompts in a script that hold a term; see `find_script`.

    There are 40 to 130 in each of HANGUL, KANA and HAN, so it is one in 40 or nothing.
    """
    prompts = _background_in(script)
    return sum(term in prompt for prompt in prompts) / (len(prompts) + 1)


@cache
def _background_in(script: str) -> tuple[frozenset[str], ...]:
    prompts = (frozenset(line.split()) for line in read_lines(_PROMPTS) if not line.isascii())
    return tuple(prompt for prompt in prompts if find_script(prompt) == script)


@cache
def _background_text() -> tuple[str, int]:
    # No table of counts: to make one takes a process that asks for a few terms longer than to look.
    lines = list(read_lines(_PROMPTS))
    return f" {'  '.join(lines)} ", len(lines)


class _Held(NamedTuple):
    """One term of the background, ordered from the rarest to the commonest."""

    share: float
    """Share of passages that hold it."""
    nats: float
    prompts: tuple[int, ...]
    """Numbers of the prompts that hold it."""


@cache
def _background() -> tuple[dict[str, _Held], list[float]]:
    """Return each term of the prompts, and the nats of each prompt's terms."""
    by_term: dict[str, list[int]] = defaultdict(list)
    prompts = [line.split() for line in read_lines(_PROMPTS)]
    for number, terms in enumerate(prompts):
        for term in terms:
            by_term[term].append(number)
    held = {}
    for term, numbers in by_term.items():
        share = share_of(term)
        held[term] = _Held(share=share, nats=-log(share), prompts=tuple(numbers))
    return held, [sum(held[term].nats for term in terms) or 1.0 for terms in prompts]

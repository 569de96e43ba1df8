"""Compute the background of many cards at once, with numpy.

It is imported only for hundreds of files: the import of numpy takes 150 ms, and a card then takes
0.1 ms instead of 1 ms. The results are those of `background_prompts.measure_background`.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from math import log, log1p
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from lessons_kb.relevance.background_prompts import (
    ANSWERED,
    ENOUGH,
    FADING,
    HALF,
    LACKING,
    LEAST,
    NONE,
    PASSAGE,
    SPREAD,
    SURPRISE,
    read_background,
)

_Floats = npt.NDArray[np.float64]
_Integers = npt.NDArray[np.int16]


class _Background(NamedTuple):
    """The background prompts as arrays. Terms are numbered from the rarest to the most common."""

    numbers: dict[str, int]
    """Mapping from each term to its number."""
    log_absences: _Floats
    """For the number of each term, the log of the share of passages without the term."""
    nats: _Floats
    """For the number of each term, the information of the term in nats."""
    prompts: list[_Integers]
    """For the number of each term, the numbers of the prompts with the term."""
    information: _Floats
    """For each prompt, the information of its terms in nats."""


def measure_backgrounds(cards: Sequence[Sequence[str]]) -> list[float]:
    """Return the background of each card, given by the terms of its body."""
    background = _read_arrays()
    return [_measure(terms, background) for terms in cards]


def _measure(terms: Sequence[str], background: _Background) -> float:
    passages = (max(len(terms), 1) / PASSAGE) ** SPREAD
    is_shared = np.zeros(len(background.nats), dtype=bool)
    is_shared[list(filter(None, map(background.numbers.get, terms)))] = True
    shared_terms = np.flatnonzero(is_shared)
    if not len(shared_terms):
        return round(log(NONE), 3)
    surprises = -np.log(-np.expm1(background.log_absences[shared_terms] * passages))
    by_term = [background.prompts[term] for term in shared_terms.tolist()]
    sizes = list(map(len, by_term))
    prompts = np.concatenate(by_term)
    # Sort by prompt, with the rarest term of each prompt first. Each further term counts FADING
    # times the term before it.
    order = np.argsort(prompts, kind="stable")
    prompts = prompts[order]
    count = len(background.information)
    sums = np.cumsum(np.bincount(prompts, minlength=count))
    first = np.concatenate(([0], sums[:-1]))
    weights = _POWERS[np.arange(len(prompts)) - first[prompts]]
    surprise = np.repeat(surprises, sizes)[order]
    shared = np.bincount(prompts, weights * surprise, minlength=count)
    term_nats = np.repeat(background.nats[shared_terms], sizes)[order]
    nats = np.bincount(prompts, term_nats, minlength=count)
    is_matched = nats >= LEAST
    nats, shared = nats[is_matched], shared[is_matched]
    answered = nats / background.information[is_matched]
    odds = ANSWERED * np.log(answered / (HALF + answered)) + SURPRISE * shared
    odds += np.where(nats < ENOUGH, LACKING * (ENOUGH - nats), 0.0)
    return round(log(NONE + float(np.sum(1 / (1 + np.exp(-odds))))), 3)


_POWERS = FADING ** np.arange(1_000)
"""FADING to the powers 0 to 999. No prompt has more terms."""


@cache
def _read_arrays() -> _Background:
    by_term, information = read_background()
    # Number 0 means no term, so that ``filter`` removes it like an unknown term.
    ordered = ["", *sorted(by_term, key=by_term.__getitem__)]
    statistics = [by_term[term] for term in ordered[1:]]
    nothing = np.array([], dtype=np.int16)
    return _Background(
        numbers={term: number for number, term in enumerate(ordered)},
        log_absences=np.array([0.0, *(log1p(-term.share) for term in statistics)]),
        nats=np.array([0.0, *(term.nats for term in statistics)]),
        prompts=[nothing, *(np.array(term.prompts, dtype=np.int16) for term in statistics)],
        information=np.array(information),
    )

"""The background of many cards at once, with numpy.

It is imported for hundreds of files only: numpy takes 150 ms to import, and a card 0.1 ms instead
of one. The figures are those of `background_prompts.measure_background`.
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
    """The background prompts as arrays. Terms are numbered from the rarest to the commonest."""

    numbers: dict[str, int]
    """Term → its number."""
    log_absences: _Floats
    """Term's number → log of the share of passages without it."""
    nats: _Floats
    """Term's number → its nats."""
    prompts: list[_Integers]
    """Term's number → numbers of the prompts that hold it."""
    information: _Floats
    """Prompt → nats of its terms."""


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
    # By prompt, and of each prompt the rarest term first: each further one counts FADING of the
    # one before.
    order = np.argsort(prompts, kind="stable")
    prompts = prompts[order]
    count = len(background.information)
    sums = np.cumsum(np.bincount(prompts, minlength=count))
    first = np.concatenate(([0], sums[:-1]))
    weights = _POWERS[np.arange(len(prompts)) - first[prompts]]
    surprise = np.repeat(surprises, sizes)[order]
    shared = np.bincount(prompts, weights * surprise, minlength=count)
    told = np.repeat(background.nats[shared_terms], sizes)[order]
    nats = np.bincount(prompts, told, minlength=count)
    drawn = nats >= LEAST
    nats, shared = nats[drawn], shared[drawn]
    answered = nats / background.information[drawn]
    odds = ANSWERED * np.log(answered / (HALF + answered)) + SURPRISE * shared
    odds += np.where(nats < ENOUGH, LACKING * (ENOUGH - nats), 0.0)
    return round(log(NONE + float(np.sum(1 / (1 + np.exp(-odds))))), 3)


_POWERS = FADING ** np.arange(1_000)
"""More than the terms of any prompt."""


@cache
def _read_arrays() -> _Background:
    by_term, information = read_background()
    # Number 0 stands for no term: ``filter`` leaves it out with what is not there.
    ordered = ["", *sorted(by_term, key=by_term.__getitem__)]
    held = [by_term[term] for term in ordered[1:]]
    nothing = np.array([], dtype=np.int16)
    return _Background(
        numbers={term: number for number, term in enumerate(ordered)},
        log_absences=np.array([0.0, *(log1p(-one.share) for one in held)]),
        nats=np.array([0.0, *(one.nats for one in held)]),
        prompts=[nothing, *(np.array(one.prompts, dtype=np.int16) for one in held)],
        information=np.array(information),
    )

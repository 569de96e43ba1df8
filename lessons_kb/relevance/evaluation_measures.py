"""Measures of rankings and injections, as pure functions of lists and numbers.

A ranking is a sequence of ids, best first. ``lessons eval`` and ``python -m benchmarks`` use them.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from math import log2
from statistics import median
from typing import Any

from lessons_kb.errors import InputError
from lessons_kb.values import frozen

NDCG_DEPTH = 10
RECALL_DEPTH = 5
HIT_DEPTH = 3


@frozen
class Labelled:
    """One prompt and its expected cards."""

    line: int
    """The 1-based line in the file of prompts."""
    query: str
    expected: tuple[str, ...]
    """The ids of the expected cards. If it is empty, nothing should be injected."""


@frozen
class PromptOutcome:
    """The result of one prompt. All ids have the form of the expected ids."""

    expected: tuple[str, ...]
    ranked: tuple[str, ...]
    """The ranking without the gate, at least NDCG_DEPTH deep."""
    injected: tuple[str, ...]
    offered: tuple[str, ...]
    """Cards whose titles were injected."""
    listed: frozenset[str]
    """Cards whose titles a session gets when it starts."""
    tokens: int
    """The number of tokens of the injected block, or 0 if there is none."""
    milliseconds: float


@frozen
class Evaluation:
    """Measures over all prompts. A measure without any prompt is None."""

    queries: int
    positive: int
    """The number of prompts with expected cards. The measures down to ``kept`` are means over these
    prompts.
    """
    recall5: float | None
    hit3: float | None
    mrr: float | None
    ndcg10: float | None
    injected3: float | None
    """hit@3 of the injected cards."""
    offered: float | None
    """The share of prompts with an expected card that is injected or offered by title."""
    openable: float | None
    """The same share as ``offered``, including prompts with an expected card whose title a session
    gets when it starts.
    """
    kept: float | None
    """``injected3`` over ``hit3``: the share of the recall that passes the gate."""
    negative: int
    """The number of prompts for which nothing should be injected."""
    false_injection: float | None
    """Share of the negative prompts with at least one injected lesson."""
    false_offer: float | None
    """Share of the negative prompts with at least one offered title."""
    tokens: float
    """Mean injected tokens per prompt, over all prompts."""
    milliseconds: float
    """Median time of a prompt."""


def parse_labelled(text: str, *, name: str) -> list[Labelled]:
    """Parse JSON lines such as ``{"query": "…", "expected": ["id", …]}``. Other keys are ignored.

    Raises InputError, with ``name`` and the line, for an invalid line and for an empty text.
    """
    prompts = [
        _parse_line(line, number, f"{name}:{number}")
        for number, line in enumerate(text.removeprefix("\ufeff").split("\n"), 1)
        if line.strip()
    ]
    if not prompts:
        raise InputError(f'{name} is empty; write lines such as {{"query": "…", "expected": []}}')
    return prompts


def summarise(outcomes: Sequence[PromptOutcome]) -> Evaluation:
    """Return the measures of at least one outcome."""
    positive = [outcome for outcome in outcomes if outcome.expected]
    silent = [outcome for outcome in outcomes if not outcome.expected]
    hit3 = mean_of([compute_hit(o.ranked, o.expected) for o in positive])
    injected3 = mean_of([compute_hit(o.injected, o.expected) for o in positive])
    offered = [{*o.expected}.intersection(o.injected + o.offered) for o in positive]
    openable = [
        found or o.listed.intersection(o.expected)
        for found, o in zip(offered, positive, strict=True)
    ]
    return Evaluation(
        queries=len(outcomes),
        positive=len(positive),
        recall5=mean_of([compute_recall(o.ranked, o.expected) for o in positive]),
        hit3=hit3,
        mrr=mean_of([compute_reciprocal_rank(o.ranked, o.expected) for o in positive]),
        ndcg10=mean_of([compute_ndcg(o.ranked, dict.fromkeys(o.expected, 1)) for o in positive]),
        injected3=injected3,
        offered=mean_of([float(bool(found)) for found in offered]),
        openable=mean_of([float(bool(found)) for found in openable]),
        kept=injected3 / hit3 if hit3 and injected3 is not None else None,
        negative=len(silent),
        false_injection=mean_of([float(bool(outcome.injected)) for outcome in silent]),
        false_offer=mean_of([float(bool(outcome.offered)) for outcome in silent]),
        tokens=mean([float(outcome.tokens) for outcome in outcomes]),
        milliseconds=median(outcome.milliseconds for outcome in outcomes),
    )


def compute_ndcg(
    ranked: Sequence[str], grades: Mapping[str, int], depth: int = NDCG_DEPTH
) -> float:
    """Return the normalised discounted cumulative gain of the first ``depth`` places.

    The gain is 2^grade - 1 and the discount log2(place + 1) (Burges et al. 2005). The result is 0
    if nothing is relevant.
    """
    gains = [2 ** grades.get(card, 0) - 1 for card in ranked[:depth]]
    best = sorted((2**grade - 1 for grade in grades.values()), reverse=True)[:depth]
    ideal = _discounted(best)
    return _discounted(gains) / ideal if ideal else 0.0


def compute_recall(
    ranked: Sequence[str], relevant: Collection[str], depth: int = RECALL_DEPTH
) -> float:
    """Return the share of the relevant documents that are in the first ``depth`` places."""
    return len(set(ranked[:depth]) & set(relevant)) / max(len(relevant), 1)


def compute_hit(ranked: Sequence[str], relevant: Collection[str], depth: int = HIT_DEPTH) -> float:
    """Return 1 if a relevant document is in the first ``depth`` places, or else 0."""
    return float(any(card in relevant for card in ranked[:depth]))


def compute_reciprocal_rank(ranked: Sequence[str], relevant: Collection[str]) -> float:
    """Return 1 / place of the first relevant document, or 0 if there is none."""
    for place, card in enumerate(ranked, 1):
        if card in relevant:
            return 1 / place
    return 0.0


def mean(values: Collection[float]) -> float:
    """Return the arithmetic mean, or 0 if there are no values."""
    return sum(values) / len(values) if values else 0.0


def mean_of(values: Collection[float]) -> float | None:
    """Return the arithmetic mean, or None if there are no values."""
    return mean(values) if values else None


def _discounted(gains: Sequence[float]) -> float:
    return sum(gain / log2(place + 1) for place, gain in enumerate(gains, 1))


def _parse_line(line: str, number: int, where: str) -> Labelled:
    try:
        data: Any = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{where}: not JSON ({error}); fix or remove the line") from None
    query = data.get("query") if isinstance(data, dict) else None
    expected = data.get("expected") if isinstance(data, dict) else None
    if not isinstance(query, str) or not query.strip():
        raise InputError(f'{where}: no "query"; write {{"query": "…", "expected": ["id", …]}}')
    if not isinstance(expected, list) or not all(isinstance(name, str) for name in expected):
        raise InputError(
            f'{where}: "expected" must be a list of ids; use [] if nothing should be injected'
        )
    return Labelled(line=number, query=query, expected=tuple(dict.fromkeys(expected)))

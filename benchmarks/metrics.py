"""Measures of a ranking, and intervals around them. Pure functions of lists and numbers."""

from __future__ import annotations

import math
import random
from statistics import median
from typing import TYPE_CHECKING

from lessons_kb.value import Value

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence


class Spread(Value):
    """A median with its extremes."""

    median: float
    low: float
    high: float
    count: int


def compute_ndcg(ranked: Sequence[str], grades: Mapping[str, int], depth: int = 10) -> float:
    """Return the normalised discounted cumulative gain of the first ``depth`` places.

    Gain 2^grade - 1, discount log2(place + 1) (Burges et al. 2005); 0 where nothing is relevant.
    """
    gains = [2 ** grades.get(found, 0) - 1 for found in ranked[:depth]]
    best = sorted((2**grade - 1 for grade in grades.values()), reverse=True)[:depth]
    ideal = _discounted(best)
    return _discounted(gains) / ideal if ideal else 0.0


def compute_recall(ranked: Sequence[str], relevant: Collection[str], depth: int = 5) -> float:
    """Return the share of the relevant documents that stand in the first ``depth`` places."""
    if not relevant:
        return 0.0
    return len(set(ranked[:depth]) & set(relevant)) / len(relevant)


def compute_hit(ranked: Sequence[str], relevant: Collection[str], depth: int = 3) -> float:
    """Return 1 if a relevant document stands in the first ``depth`` places, else 0."""
    return float(any(found in relevant for found in ranked[:depth]))


def compute_reciprocal_rank(ranked: Sequence[str], relevant: Collection[str]) -> float:
    """Return 1 / place of the first relevant document, 0 if there is none."""
    for place, found in enumerate(ranked, 1):
        if found in relevant:
            return 1 / place
    return 0.0


def mean(values: Collection[float]) -> float:
    """Return the arithmetic mean, 0 for nothing."""
    return sum(values) / len(values) if values else 0.0


def compute_interval(
    differences: Sequence[float], *, seed: int = 0, rounds: int = 2000, level: float = 0.95
) -> tuple[float, float]:
    """Return the paired-bootstrap interval of the mean difference.

    ``differences`` holds ours minus theirs for each query; percentile method, same seed same
    answer (Efron and Tibshirani 1993, ch. 13). (0, 0) for nothing.
    """
    if not differences:
        return 0.0, 0.0
    rng = random.Random(seed)
    size = len(differences)
    means = sorted(sum(rng.choices(differences, k=size)) / size for _ in range(rounds))
    tail = (1 - level) / 2
    return means[int(tail * (rounds - 1))], means[math.ceil((1 - tail) * (rounds - 1))]


def compute_spread(values: Sequence[float]) -> Spread:
    """Return median, minimum and maximum of at least one value."""
    return Spread(median=median(values), low=min(values), high=max(values), count=len(values))


def compute_exponent(sizes: Sequence[float], times: Sequence[float]) -> float:
    """Return the growth exponent: the slope of log time over log size by least squares."""
    xs = [math.log(size) for size in sizes]
    ys = [math.log(time) for time in times]
    middle_x, middle_y = mean(xs), mean(ys)
    spread = sum((x - middle_x) ** 2 for x in xs)
    return sum((x - middle_x) * (y - middle_y) for x, y in zip(xs, ys, strict=True)) / spread


def _discounted(gains: Sequence[float]) -> float:
    return sum(gain / math.log2(place + 1) for place, gain in enumerate(gains, 1))

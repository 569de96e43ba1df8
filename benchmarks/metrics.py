"""Intervals, spreads and growth. The measures of a ranking are those of ``lessons eval``."""

from __future__ import annotations

import math
import random
from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING

from lessons_kb.relevance.evaluation_measures import (
    compute_hit,
    compute_ndcg,
    compute_recall,
    compute_reciprocal_rank,
    mean,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = [
    "Spread",
    "compute_exponent",
    "compute_hit",
    "compute_interval",
    "compute_ndcg",
    "compute_recall",
    "compute_reciprocal_rank",
    "compute_spread",
    "mean",
]


@dataclass(frozen=True, kw_only=True, slots=True)
class Spread:
    """A median with its extremes."""

    median: float
    low: float
    high: float
    count: int


def compute_interval(
    differences: Sequence[float], *, seed: int = 0, rounds: int = 2000, level: float = 0.95
) -> tuple[float, float]:
    """Return the paired-bootstrap interval of the mean difference.

    ``differences`` has ours minus theirs for each query; percentile method, same seed same
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


def cohen_kappa(first: Sequence[bool], second: Sequence[bool]) -> float:
    """Return the agreement of two readers beyond chance; 1.0 if both always say the same."""
    total = len(first)
    agreed = sum(a == b for a, b in zip(first, second, strict=True)) / total
    yes = (sum(first) / total) * (sum(second) / total)
    no = (1 - sum(first) / total) * (1 - sum(second) / total)
    by_chance = yes + no
    return 1.0 if by_chance == 1.0 else (agreed - by_chance) / (1.0 - by_chance)


def compute_exponent(sizes: Sequence[float], times: Sequence[float]) -> float:
    """Return the growth exponent: the slope of log time over log size by least squares."""
    xs = [math.log(size) for size in sizes]
    ys = [math.log(time) for time in times]
    middle_x, middle_y = mean(xs), mean(ys)
    spread = sum((x - middle_x) ** 2 for x in xs)
    return sum((x - middle_x) * (y - middle_y) for x, y in zip(xs, ys, strict=True)) / spread

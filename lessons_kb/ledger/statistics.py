"""What two arms say: how much better one is, how surely, and how many more runs would settle it.

A pair of a trial is one run of a task in each arm. What is inferred holds for these tasks: each run
counts, and that other tasks are like them is the reader's judgement.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property, lru_cache

from lessons_kb.values import frozen

Z = 1.959964
"""The normal quantile of a 95 % interval."""
_POWER_Z = 0.841621
"""That of a power of 80 %."""
_SUPPOSED = 0.2
"""Difference to be found where nothing was seen yet."""
_FEW = 5
"""Lessons, by their weights, whose spread tells too little."""


@frozen
class Comparison:
    """How many pairs came out how, the second arm against the first."""

    both_right: int = 0
    repaired: int = 0
    """Wrong in the first arm, right in the second."""
    broken: int = 0
    """Right in the first arm, wrong in the second."""
    both_wrong: int = 0

    @property
    def pairs(self) -> int:
        """How many there are."""
        return self.both_right + self.repaired + self.broken + self.both_wrong

    @property
    def difference(self) -> float:
        """The share of right runs in the second arm minus that in the first, -1 to 1."""
        return (self.repaired - self.broken) / self.pairs if self.pairs else 0.0

    @property
    def p(self) -> float:
        """How likely so unequal a split of repaired and broken is by chance (exact McNemar)."""
        unequal, less = self.repaired + self.broken, min(self.repaired, self.broken)
        tail: float = sum(math.comb(unequal, k) for k in range(less + 1)) / 2**unequal
        return min(1.0, 2 * tail)

    @property
    def interval(self) -> tuple[float, float]:
        """The 95 % interval of the difference, of shares that go together in pairs."""
        a, b, c, d = self.both_right, self.repaired, self.broken, self.both_wrong
        product = (a + b) * (c + d) * (a + c) * (b + d)
        excess = float(a * d - b * c)
        excess = max(excess - self.pairs / 2, 0.0) if excess > 0 else excess
        phi = excess / math.sqrt(product) if product else 0.0
        return _newcombe((a + c, self.pairs), (a + b, self.pairs), phi)

    @property
    def settled(self) -> bool:
        """Whether the pairs tell which arm is better, at the usual 5 %."""
        return self.p < 0.05  # noqa: PLR2004

    @property
    def needed(self) -> int:
        """About how many pairs would tell, if the difference is what it seems (power 80 %).

        Where none is seen, a difference of 20 points is supposed.
        """
        share = (self.repaired + self.broken) / self.pairs if self.pairs else 0.0
        difference = abs(self.difference) or _SUPPOSED
        share = max(share, difference)
        spread = math.sqrt(max(share - difference**2, 0.0))
        return math.ceil(((Z * math.sqrt(share) + _POWER_Z * spread) / difference) ** 2)


def compare(pairs: Iterable[tuple[bool, bool]]) -> Comparison:
    """Count pairs of (right in the first arm, right in the second)."""
    counts = Counter(pairs)
    return Comparison(
        both_right=counts[True, True],
        repaired=counts[False, True],
        broken=counts[True, False],
        both_wrong=counts[False, False],
    )


def wilson(times: int, of: int) -> tuple[float, float]:
    """Return the 95 % interval of a share seen ``times`` out of ``of`` (Wilson's score)."""
    if not of:
        return 0.0, 1.0
    share, square = times / of, Z * Z
    middle = (share + square / (2 * of)) / (1 + square / of)
    reach = Z / (1 + square / of) * math.sqrt(share * (1 - share) / of + square / (4 * of * of))
    return max(0.0, middle - reach), min(1.0, middle + reach)


def _newcombe(
    first: tuple[int, int], second: tuple[int, int], phi: float = 0.0
) -> tuple[float, float]:
    """Return the 95 % interval of the second share minus the first, each (times, of).

    Newcombe's method 10 (Statistics in Medicine 17, 1998): for paired shares, with their
    correlation ``phi``, and for others.
    """
    if not (first[1] and second[1]):
        return -1.0, 1.0
    share_1, share_2 = first[0] / first[1], second[0] / second[1]
    (low_1, high_1), (low_2, high_2) = wilson(*first), wilson(*second)

    def reach(up: float, down: float) -> float:
        return math.sqrt(max(up * up - 2 * phi * up * down + down * down, 0.0))

    low = share_2 - share_1 - reach(share_2 - low_2, high_1 - share_1)
    high = share_2 - share_1 + reach(high_2 - share_2, share_1 - low_1)
    return max(low, -1.0), min(high, 1.0)


@dataclass(frozen=True, kw_only=True)
class RiskDifference:
    """How often a mistake was made in sessions with a lesson, and in others without it."""

    made: int = 0
    of: int = 0
    """With the lesson."""
    made_without: int = 0
    of_without: int = 0

    @property
    def known(self) -> bool:
        """Whether there were sessions of both kinds."""
        return min(self.of, self.of_without) > 0

    @property
    def value(self) -> float:
        """The share of sessions in which the lesson prevents the mistake; below 0 it does harm."""
        return self.made_without / self.of_without - self.made / self.of if self.known else 0.0

    @property
    def interval(self) -> tuple[float, float]:
        """The 95 % interval of the value."""
        return _newcombe((self.made, self.of), (self.made_without, self.of_without))

    @cached_property
    def prevents(self) -> float:
        """The probability that the mistake is rarer with the lesson, from uniform priors."""
        return _probability_less(
            (1 + self.made, 1 + self.of - self.made),
            (1 + self.made_without, 1 + self.of_without - self.made_without),
        )

    @property
    def variance(self) -> float:
        """That of the value, from shares with one session more of either outcome."""
        pairs = ((self.made, self.of), (self.made_without, self.of_without))
        shares = (((made + 1) / (of + 2), of) for made, of in pairs)
        return sum(share * (1 - share) / of for share, of in shares)

    @property
    def telling(self) -> bool:
        """Whether there are enough sessions for 20 points to show (power 80 %)."""
        return self.known and (Z + _POWER_Z) * math.sqrt(self.variance) <= _SUPPOSED

    @property
    def needed(self) -> int:
        """About how many sessions in all would tell, split as these are.

        They show the difference that is seen, or that there are no 20 points.
        """
        value = max(abs(self.value), _SUPPOSED)
        spread = self.variance * (self.of + self.of_without) if self.known else 1.0
        return math.ceil((Z + _POWER_Z) ** 2 * spread / value**2)


@lru_cache(maxsize=4096)
def _probability_less(first: tuple[int, int], second: tuple[int, int]) -> float:
    """Return the probability that the first of two beta-distributed shares is the smaller one.

    With whole parameters it is a finite sum (J. Cook, "Exact calculation of beta inequalities",
    2005).
    """
    (a, b), (c, d) = first, second

    def log_beta(x: float, y: float) -> float:
        return math.lgamma(x) + math.lgamma(y) - math.lgamma(x + y)

    total = sum(
        math.exp(log_beta(a + i, b + d) - math.log(d + i) - log_beta(1 + i, d) - log_beta(a, b))
        for i in range(c)
    )
    return min(max(total, 0.0), 1.0)


@frozen
class Pooled:
    """What many lessons prevent together, each with its own effect."""

    lessons: int = 0
    value: float = 0.0
    """Mean share of sessions in which a lesson prevents its mistake."""
    low: float = -1.0
    high: float = 1.0
    """The 95 % interval."""
    between: float = 0.0
    """Variance between the lessons, beyond that of few sessions."""

    def shrink(self, one: RiskDifference) -> float:
        """Return what is to be expected of a lesson: its own difference, drawn to the mean."""
        own = self.between + one.variance if one.known else 0.0
        return self.value + (one.value - self.value) * (self.between / own if own else 0.0)


def pool(differences: Iterable[RiskDifference]) -> Pooled:
    """Return what lessons prevent together (partial pooling).

    Lessons weigh by their sessions (Mantel and Haenszel), whatever came of those; the interval is
    from the spread between the lessons, as of clusters; of few lessons, from their sessions.
    """
    found = [one for one in differences if one.known]
    weights = [one.of * one.of_without / (one.of + one.of_without) for one in found]
    if not (total := sum(weights)):
        return Pooled()
    shares = [weight / total for weight in weights]
    value = sum(share * one.value for share, one in zip(shares, found, strict=True))
    off = [(one.value - value) ** 2 for one in found]
    within = sum(share * one.variance for share, one in zip(shares, found, strict=True))
    spread = sum(share * square for share, square in zip(shares, off, strict=True))
    clusters = 1 / sum(share * share for share in shares)
    if clusters < _FEW:
        variance = sum(s * s * one.variance for s, one in zip(shares, found, strict=True))
        reach = Z * math.sqrt(variance)
    else:
        variance = sum(s * s * square for s, square in zip(shares, off, strict=True))
        reach = _student(clusters - 1) * math.sqrt(variance * clusters / (clusters - 1))
    low, high = (value - reach, value + reach) if found[1:] else found[0].interval
    between = max(spread - within, 0.0)
    return Pooled(lessons=len(found), value=value, low=low, high=high, between=between)


def _student(freedom: float) -> float:
    """Return the 97.5 % quantile of Student's distribution (Cornish and Fisher's expansion)."""
    first, second = (Z**3 + Z) / 4, (5 * Z**5 + 16 * Z**3 + 3 * Z) / 96
    return Z + first / freedom + second / freedom**2

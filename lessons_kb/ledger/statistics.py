"""Compare two arms, with the difference, its confidence interval, and the required sample size.

A pair of a trial is one run of a task in each arm. The inference is about these tasks. Every run
counts, and the reader judges whether other tasks are similar.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from functools import lru_cache

from lessons_kb.values import frozen

Z = 1.959964
"""The normal quantile of a 95 % interval."""
_POWER_Z = 0.841621
"""The normal quantile of a power of 80 %."""
_SUPPOSED = 0.2
"""The difference that a sample should be able to show if none was observed yet."""
_FEW = 5
"""With fewer (effective) lessons, the spread between them is too uncertain to be used."""


@frozen
class Comparison:
    """The counts of the pairs by their results in the first and in the second arm."""

    both_right: int = 0
    repaired: int = 0
    """The number of pairs that are wrong in the first arm and right in the second."""
    broken: int = 0
    """The number of pairs that are right in the first arm and wrong in the second."""
    both_wrong: int = 0

    @property
    def pairs(self) -> int:
        """The number of pairs."""
        return self.both_right + self.repaired + self.broken + self.both_wrong

    @property
    def difference(self) -> float:
        """The share of right runs in the second arm minus the share in the first arm, from -1 to
        1.
        """
        return (self.repaired - self.broken) / self.pairs if self.pairs else 0.0

    @property
    def p(self) -> float:
        """The p-value of the exact McNemar test for repaired against broken."""
        unequal = self.repaired + self.broken
        less = min(self.repaired, self.broken)
        tail: float = sum(math.comb(unequal, k) for k in range(less + 1)) / 2**unequal
        return min(1.0, 2 * tail)

    @property
    def interval(self) -> tuple[float, float]:
        """The 95 % interval of the difference of the paired shares (Newcombe)."""
        a, b, c, d = self.both_right, self.repaired, self.broken, self.both_wrong
        product = (a + b) * (c + d) * (a + c) * (b + d)
        excess = float(a * d - b * c)
        excess = max(excess - self.pairs / 2, 0.0) if excess > 0 else excess
        phi = excess / math.sqrt(product) if product else 0.0
        return _newcombe((a + c, self.pairs), (a + b, self.pairs), phi)

    @property
    def settled(self) -> bool:
        """Whether the difference is significant at the 5 % level."""
        return self.p < 0.05  # noqa: PLR2004

    @property
    def needed(self) -> int:
        """The approximate number of pairs that would show the observed difference with a power of
        80 %.

        If no difference was observed, 20 points are assumed.
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
    """Return the 95 % interval of the share ``times`` / ``of`` (Wilson's score)."""
    if not of:
        return 0.0, 1.0
    share, square = times / of, Z * Z
    middle = (share + square / (2 * of)) / (1 + square / of)
    reach = Z / (1 + square / of) * math.sqrt(share * (1 - share) / of + square / (4 * of * of))
    return max(0.0, middle - reach), min(1.0, middle + reach)


def _newcombe(
    first: tuple[int, int], second: tuple[int, int], phi: float = 0.0
) -> tuple[float, float]:
    """Return the 95 % interval of the second share minus the first, each given as (times, of).

    This is Newcombe's method 10 (Statistics in Medicine 17, 1998). ``phi`` is the correlation of
    paired shares, and it is 0 for independent shares.
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


@frozen
class RiskDifference:
    """The numbers of sessions with a mistake, among sessions with a lesson and among sessions
    without it.
    """

    made: int = 0
    of: int = 0
    """The number of sessions with the lesson."""
    made_without: int = 0
    of_without: int = 0

    @property
    def known(self) -> bool:
        """Whether there are sessions with the lesson and sessions without it."""
        return min(self.of, self.of_without) > 0

    @property
    def value(self) -> float:
        """The share of sessions in which the lesson prevents the mistake. Below 0, the lesson does
        harm.
        """
        return self.made_without / self.of_without - self.made / self.of if self.known else 0.0

    @property
    def interval(self) -> tuple[float, float]:
        """The 95 % interval of the value."""
        return _newcombe((self.made, self.of), (self.made_without, self.of_without))

    @property
    def prevents(self) -> float:
        """The probability that the mistake is rarer with the lesson, from uniform priors."""
        return _probability_less(
            (1 + self.made, 1 + self.of - self.made),
            (1 + self.made_without, 1 + self.of_without - self.made_without),
        )

    @property
    def variance(self) -> float:
        """The variance of the value, from shares with one session of each outcome added."""
        pairs = ((self.made, self.of), (self.made_without, self.of_without))
        shares = (((made + 1) / (of + 2), of) for made, of in pairs)
        return sum(share * (1 - share) / of for share, of in shares)

    @property
    def telling(self) -> bool:
        """Whether there are enough sessions to show a difference of 20 points (power 80 %)."""
        return self.known and (Z + _POWER_Z) * math.sqrt(self.variance) <= _SUPPOSED

    @property
    def needed(self) -> int:
        """The approximate total number of sessions that are needed, if they are split like the
        present ones.

        This number of sessions is enough to show the observed difference, or that the difference is
        below 20 points.
        """
        value = max(abs(self.value), _SUPPOSED)
        spread = self.variance * (self.of + self.of_without) if self.known else 1.0
        return math.ceil((Z + _POWER_Z) ** 2 * spread / value**2)


@lru_cache(maxsize=4096)
def _probability_less(first: tuple[int, int], second: tuple[int, int]) -> float:
    """Return the probability that the first of two beta-distributed shares is smaller.

    For integer parameters it is a finite sum (J. Cook, "Exact calculation of beta inequalities",
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
    """The common effect of several lessons, each of which has its own effect."""

    lessons: int = 0
    value: float = 0.0
    """The mean share of sessions in which a lesson prevents its mistake."""
    low: float = -1.0
    high: float = 1.0
    """The 95 % interval."""
    between: float = 0.0
    """The variance between the lessons, without the variance within them."""

    def shrink(self, difference: RiskDifference) -> float:
        """Return the expected difference of a lesson: its own, shrunk towards the mean."""
        if not difference.known:
            return self.value
        total = self.between + difference.variance
        weight = self.between / total if total else 0.0
        return self.value + (difference.value - self.value) * weight


def pool(differences: Iterable[RiskDifference]) -> Pooled:
    """Return the common effect of lessons (partial pooling).

    Lessons are weighted by their numbers of sessions (Mantel and Haenszel). The interval comes from
    the spread between the lessons as clusters or, for few lessons, from their sessions.
    """
    lessons = [lesson for lesson in differences if lesson.known]
    weights = [
        lesson.of * lesson.of_without / (lesson.of + lesson.of_without) for lesson in lessons
    ]
    total = sum(weights)
    if not total:
        return Pooled()
    shares = [weight / total for weight in weights]
    squares = [share * share for share in shares]
    value = _dot(shares, [lesson.value for lesson in lessons])
    deviations = [(lesson.value - value) ** 2 for lesson in lessons]
    variances = [lesson.variance for lesson in lessons]
    clusters = 1 / sum(squares)
    if clusters < _FEW:
        reach = Z * math.sqrt(_dot(squares, variances))
    else:
        variance = _dot(squares, deviations) * clusters / (clusters - 1)
        reach = _student(clusters - 1) * math.sqrt(variance)
    low, high = (value - reach, value + reach) if len(lessons) > 1 else lessons[0].interval
    between = max(_dot(shares, deviations) - _dot(shares, variances), 0.0)
    return Pooled(lessons=len(lessons), value=value, low=low, high=high, between=between)


def _dot(weights: Iterable[float], values: Iterable[float]) -> float:
    return sum(weight * value for weight, value in zip(weights, values, strict=True))


def _student(freedom: float) -> float:
    """Return the 97.5 % quantile of Student's distribution (Cornish and Fisher's expansion)."""
    first, second = (Z**3 + Z) / 4, (5 * Z**5 + 16 * Z**3 + 3 * Z) / 96
    return Z + first / freedom + second / freedom**2

"""What paired runs say of two arms, how surely, and how many more would settle it.

A pair is one run of a task in each arm. What is inferred holds for these tasks: each run counts,
and that other tasks are like them is the reader's judgement.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

Z = 1.959964
"""The normal quantile of a 95 % interval."""
_POWER_Z = 0.841621
"""That of a power of 80 %."""
_SUPPOSED = 0.2
"""Difference to be found where nothing was seen yet."""


@dataclass(frozen=True, kw_only=True, slots=True)
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
        """The 95 % interval of the difference.

        Newcombe's for paired shares (Statistics in Medicine 17, 1998, method 10).
        """
        n = self.pairs
        if not n:
            return -1.0, 1.0
        a, b, c, d = self.both_right, self.repaired, self.broken, self.both_wrong
        first, second = (a + c) / n, (a + b) / n
        low_1, high_1 = wilson(a + c, n)
        low_2, high_2 = wilson(a + b, n)
        product = (a + b) * (c + d) * (a + c) * (b + d)
        excess = float(a * d - b * c)
        excess = max(excess - n / 2, 0.0) if excess > 0 else excess
        phi = excess / math.sqrt(product) if product else 0.0

        def reach(up: float, down: float) -> float:
            return math.sqrt(max(up * up - 2 * phi * up * down + down * down, 0.0))

        low = self.difference - reach(second - low_2, high_1 - first)
        high = self.difference + reach(high_2 - second, first - low_1)
        return max(low, -1.0), min(high, 1.0)

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
    counts = {(True, True): 0, (False, True): 0, (True, False): 0, (False, False): 0}
    for pair in pairs:
        counts[pair] += 1
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

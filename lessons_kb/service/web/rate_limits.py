"""How often a caller may ask."""

from __future__ import annotations

import time
from collections.abc import Callable

_BURST_SECONDS = 5
"""Seconds' worth of requests that a caller may send at once."""


class Buckets:
    """How many requests each caller may send: so many a second, and some seconds' worth at once."""

    def __init__(self, rate: float, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._rate = rate
        self._most = max(rate * _BURST_SECONDS, 1.0)
        self._clock = clock
        self._left: dict[str, tuple[float, float]] = {}

    def take(self, name: str) -> float:
        """Take one request out of a caller's bucket; return the seconds until there is one."""
        now = self._clock()
        left, at = self._left.get(name, (self._most, now))
        left = min(left + (now - at) * self._rate, self._most)
        allowed = left >= 1.0
        self._left[name] = (left - allowed, now)
        return 0.0 if allowed else (1.0 - left) / self._rate

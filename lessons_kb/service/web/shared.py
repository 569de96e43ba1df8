"""What all processes of a server know: how much each caller has sent, and whether it is open."""

from __future__ import annotations

import hashlib
import multiprocessing
import secrets
import time
from collections.abc import Callable
from functools import lru_cache

_SLOTS = 65_536
"""Callers whose requests are counted."""
_BURST_SECONDS = 5
"""Seconds' worth of requests that a caller may send at once."""
_ROUNDING = 1e-9
_spawn = multiprocessing.get_context("spawn")


class Shared:
    """What all processes of a server know; whatever they change the others see at once."""

    def __init__(self) -> None:
        self.secret = secrets.token_hex(32)
        """Signs the forms of whoever needs no token."""
        self.closed = _spawn.RawValue("b", 0)
        """Whether there was a token once: without one nobody may ask any more."""
        self.full_at = _spawn.RawArray("d", 2 * _SLOTS)
        """In pairs: the number of a caller, and when its bucket is full again."""


class Buckets:
    """How many requests each caller may send: so many a second, and some seconds' worth at once.

    Processes that count one caller's requests in the same microsecond may count one too few.
    """

    def __init__(
        self, rate: float, shared: Shared, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._each = 1 / rate
        self._most = max(_BURST_SECONDS, self._each)
        self._clock = clock
        self._table = shared.full_at

    def take(self, name: str) -> float:
        """Take one request out of a caller's bucket; return the seconds until there is one."""
        now, place = self._clock(), self._find(name)
        full_at = max(float(self._table[place]), now) + self._each
        wait = full_at - now - self._most
        if wait > _ROUNDING:
            return wait
        self._table[place] = full_at
        return 0.0

    def _find(self, name: str) -> int:
        """Return the place of a caller's bucket: the first free one, where it has none."""
        number = _number(name)
        for slot in range(int(number), int(number) + _SLOTS):
            place = slot % _SLOTS * 2
            if not self._table[place]:
                self._table[place] = number
            if self._table[place] == number:
                return place + 1
        return 1


@lru_cache(maxsize=_SLOTS)
def _number(name: str) -> float:
    return 1.0 + int.from_bytes(hashlib.blake2b(name.encode(), digest_size=6).digest(), "big")

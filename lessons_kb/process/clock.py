"""The date of today, and whether the system clock shows a time that Python can count."""

from __future__ import annotations

import time

from lessons_kb.errors import InputError

_LAST_YEAR = 2261
"""The last year that is accepted. Python counts nanoseconds in 64 bits, so ``time.time()`` fails
from April 2262 on.
"""


def check_clock() -> None:
    """Raise InputError if the system clock shows a time that Python cannot count."""
    year = time.localtime().tm_year
    if year > _LAST_YEAR:
        raise InputError(f"the system clock shows the year {year}; set it and try again")


def today() -> str:
    """Return today's ISO date in the local time zone."""
    return time.strftime("%Y-%m-%d")

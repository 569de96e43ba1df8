"""Times and dates as other programs write them; what is none of these counts as absent."""

from __future__ import annotations

import datetime as dt

_LATEST = 1e11
"""What is later than this, in the year 5138, is in milliseconds."""


def read_time(value: object) -> float:
    """Return seconds since the epoch from seconds, milliseconds or an ISO time; 0 for others.

    An ISO time without a zone is taken for UTC.
    """
    if isinstance(value, (int, float)):
        known = 0 < value < _LATEST * 1000
        return 0.0 if not known else value / 1000 if value > _LATEST else float(value)
    if not isinstance(value, str) or not value:
        return 0.0
    try:
        moment = dt.datetime.fromisoformat(value)
        return (moment if moment.tzinfo else moment.replace(tzinfo=dt.UTC)).timestamp()
    except (ValueError, OverflowError, OSError):
        return 0.0


def read_date(text: str) -> dt.date | None:
    """Return the date with which an ISO date or time begins."""
    try:
        return dt.date.fromisoformat(text[:10])
    except ValueError:
        return None


def age(date: str, today: dt.date) -> str:
    """Return how long before ``today`` an ISO date was: ``3d``, ``2w``, ``1y``; "" for no date."""
    try:
        days = (today - type(today).fromisoformat(date[:10])).days
    except ValueError:
        return ""
    for name, length in (("y", 365), ("w", 7)):
        if days >= length:
            return f"{days // length}{name}"
    return f"{max(days, 0)}d"

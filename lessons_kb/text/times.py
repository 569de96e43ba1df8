"""Read times and dates in the formats of other programs. Any other value counts as missing."""

from __future__ import annotations

import datetime as dt

_LATEST = 1e11
"""The number (the year 5138 in seconds) above which a time is in milliseconds."""


def read_time(value: object) -> float:
    """Return a time in seconds, in milliseconds or in ISO format as seconds since the epoch.

    Return 0 for other values. An ISO time without a time zone is in UTC.
    """
    if isinstance(value, (int, float)):
        if not 0 < value < _LATEST * 1000:
            return 0.0
        return value / 1000 if value > _LATEST else float(value)
    if not isinstance(value, str) or not value:
        return 0.0
    try:
        moment = dt.datetime.fromisoformat(value)
        return (moment if moment.tzinfo else moment.replace(tzinfo=dt.UTC)).timestamp()
    except (ValueError, OverflowError, OSError):
        return 0.0


def format_moment(at: float) -> str:
    """Return a moment in seconds since the epoch as an ISO time in UTC; "" for 0."""
    if not at:
        return ""
    return dt.datetime.fromtimestamp(at, tz=dt.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def read_date(text: str) -> dt.date | None:
    """Return the date at the start of an ISO date or time, or None."""
    try:
        return dt.date.fromisoformat(text[:10])
    except ValueError:
        return None


def age(date: str, today: dt.date) -> str:
    """Return the age of an ISO date in its largest unit, such as ``3d``, ``2w`` or ``1y``.

    Return "" if there is no valid date.
    """
    try:
        days = (today - type(today).fromisoformat(date[:10])).days
    except ValueError:
        return ""
    for name, length in (("y", 365), ("w", 7)):
        if days >= length:
            return f"{days // length}{name}"
    return f"{max(days, 0)}d"

"""Split off the date that people write at the start or the end of a log entry."""

from __future__ import annotations

import datetime as dt
import re
from typing import NamedTuple

_DATE = r"(?P<year>(?:19|20)\d\d)[-/.](?P<month>\d\d)[-/.](?P<day>\d\d)"
_TIME = r"(?:[T ]\d\d:\d\d(?::\d\d)?(?:Z|[+-]\d\d:?\d\d)?)?"
_LEADING = re.compile(
    rf"""
    (?P<bold>\*\*|__)? (?P<open>[\[(`]?) {_DATE} {_TIME} [\])`]? (?P<close>\*\*|__)?
    (?: [ \t]*[:\u2014\u2013|,] | [ \t]+-(?=[ \t]) | (?=[ \t]) | \Z )
    (?P<late_close>\*\*|__)? [ \t]*
    """,
    re.VERBOSE,
)
_TRAILING = re.compile(
    rf"[ \t]*(?:[\[(]{_DATE}[\])]|[\u2014\u2013|-][ \t]*{_DATE.replace('?P<', '?P<_')})\Z"
)
_IN_LAST_BRACKETS = re.compile(rf"\({_DATE}{_TIME}[ \t,:\u2013\u2014-]+(?P<rest>[^()]+)\)\Z")
"""Matches a date in the last brackets, as in ``Snapshot (2026-02-28 verbatim)``."""
_BRACKETED = re.compile(r"\(([^()]+)\)")


class DatedText(NamedTuple):
    """A text without its date, and the date."""

    date: str | None
    """The ISO date, or None if the text has no date."""
    text: str


def split_date(text: str) -> DatedText:
    """Return the date at the beginning or the end of a text, and the text without it.

    A date at the beginning of the last brackets counts as one at the end.
    """
    leading = _LEADING.match(text)
    if leading:
        date = _read_date(leading["year"], leading["month"], leading["day"])
        if date:
            is_closed = leading["close"] or leading["late_close"]
            bold = leading["bold"] or ""
            rest = ("" if is_closed else bold) + text[leading.end() :].lstrip()
            bracketed = _BRACKETED.fullmatch(rest)
            return DatedText(date, bracketed[1] if bracketed else rest)
    trailing = _TRAILING.search(text)
    if trailing:
        year, month, day = (
            trailing[name] or trailing[f"_{name}"] for name in ("year", "month", "day")
        )
        date = _read_date(year, month, day)
        if date:
            return DatedText(date, text[: trailing.start()])
    inside = _IN_LAST_BRACKETS.search(text)
    if inside:
        date = _read_date(inside["year"], inside["month"], inside["day"])
        if date:
            return DatedText(date, f"{text[: inside.start()]}({inside['rest']})")
    return DatedText(None, text)


def _read_date(year: str, month: str, day: str) -> str | None:
    try:
        return dt.date(int(year), int(month), int(day)).isoformat()
    except ValueError:
        return None

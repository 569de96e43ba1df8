"""How a value is written in a header, so that any YAML reader reads the same text back."""

from __future__ import annotations

import re
from collections.abc import Iterable

# Letters first, and nothing that YAML, or a hasty reader, gives a meaning to.
_PLAIN = re.compile(r"[^\W\d_](?:[^\W_]|[_ .,;/()+=@%^$&*!?<>'\"~|-])*(?<![ \t])")
_TYPED = re.compile(
    r"[0-9]{1,9}|[0-9]{4}-[0-9]{2}-[0-9]{2}(?:T[0-9:.]{5,15}(?:Z|[+-][0-9]{2}:[0-9]{2}))?", re.ASCII
)
_WORDS_WITH_MEANING = ("null", "true", "false", "yes", "no", "on", "off", "y", "n", "nan", "inf")
# The question mark is PyYAML's own addition.
_IN_FLOW = re.compile(r"[,?\[\]{}]")
_ESCAPES = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\t": "\\t", "\r": "\\r"}
# What YAML 1.1 does not count as printable, and its line breaks.
_UNPRINTABLE = re.compile('["\\\\\x00-\x1f\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]')


def format_scalar(
    value: str | int, *, style: str = "p", typed: bool = False, flow: bool = False
) -> str:
    r"""Return a value as YAML on one line.

    ``style`` is the letter of the scalar it replaces (see ``Entry.styles``): quotes are kept, a
    plain text stays plain where that is safe. ``typed`` marks a number or a date, which stands
    without quotes unless its predecessor had some; ``flow`` a place inside brackets.
    """
    text = str(value)
    if style == "'" and not _UNPRINTABLE.search(text.replace('"', "").replace("\\", "")):
        return "'" + text.replace("'", "''") + "'"
    if style != '"' and ((typed and _TYPED.fullmatch(text)) or _is_plain(text, flow=flow)):
        return text
    return '"' + _UNPRINTABLE.sub(_escaped, text) + '"'


def format_flow(values: Iterable[str]) -> str:
    """Return a list on one line: ``[telegram, "a, b"]``."""
    return "[" + ", ".join(format_scalar(value, flow=True) for value in values) + "]"


def _is_plain(text: str, *, flow: bool) -> bool:
    if not _PLAIN.fullmatch(text) or text.casefold() in _WORDS_WITH_MEANING:
        return False
    return not (flow and _IN_FLOW.search(text))


def _escaped(match: re.Match[str]) -> str:
    char = match[0]
    return _ESCAPES.get(char) or f"\\u{ord(char):04x}"

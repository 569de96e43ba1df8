"""Split a list that is written as one comma-separated text."""

from __future__ import annotations

_PAIRS = {"{": "}", "[": "]", '"': '"', "'": "'"}


def split_commas(text: str) -> list[str]:
    """Split a text at the commas outside of braces, brackets and quotes.

    Quotes around a whole part are removed. An opening sign without a closing sign is an ordinary
    character.
    """
    parts: list[str] = []
    start = place = 0
    while place < len(text):
        sign = text[place]
        if sign == ",":
            parts.append(text[start:place])
            start = place + 1
        elif sign in "{[" or (sign in "\"'" and not text[start:place].strip()):
            place = _find_closing(text, place)
        place += 1
    parts.append(text[start:])
    unquoted = [_without_quotes(part.strip()) for part in parts]
    return [part for part in unquoted if part]


def _find_closing(text: str, start: int) -> int:
    """Return the position of the closing sign for the sign at ``start``.

    Return ``start`` if there is none.
    """
    opening, closing = text[start], _PAIRS[text[start]]
    depth = 0
    for place in range(start, len(text)):
        if text[place] == closing and (opening != closing or place > start):
            depth -= 1
            if depth <= 0:
                return place
        elif text[place] == opening and opening != closing:
            depth += 1
    return start


def _without_quotes(part: str) -> str:
    is_quoted = len(part) > 1 and part[0] == part[-1] and part[0] in "\"'"
    return part[1:-1].strip() if is_quoted else part

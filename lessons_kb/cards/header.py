"""Where the header of a file begins and ends, and what stands in it, with places.

Lines end at CR LF, LF or a lone CR, here and in everything that counts lines. Inside a header
lines are counted from 0; ``Header.line`` is the number of the first one in the file.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

MAX_HEADER = 64_000
"""Characters. A header beyond it is refused before any parser sees it."""

_OPEN = re.compile(r"(\ufeff?)((?:[ \t]*(?:\r\n|\r|\n)){0,20})---[ \t]*(\r\n|\r|\n)")
_CLOSE = re.compile(r"---(?<=[\r\n]---)[ \t]*(?:\r\n|\r|\n|\Z)")
_EOL = re.compile(r"\r\n|\r|\n")
_KEY_FIRST = re.compile(
    r"(?:[ \t]*(?:#[^\r\n]*)?(?:\r\n|\r|\n))*[ \t]*[{\"']?[^\W\d_][\w .-]*[\"']?[ \t]*:"
)

Mapping = tuple[tuple[str, "str | tuple[str, ...] | None"], ...]
"""The keys of a nested mapping with their texts; None is YAML's null, or deeper still."""
Span = tuple[int, int, int, int]
"""First line and column, last line and column after the last character; from 0."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Entry:
    """One ``key: value`` of a header and where it stands."""

    key: str
    """As written, without quotes."""
    shape: str
    """``scalar``, ``list`` or ``nested`` (anything deeper)."""
    texts: tuple[str | None, ...]
    """The text of the scalar, or of each item; None is YAML's null or a nested item."""
    spans: tuple[Span, ...]
    """The place of each text, quotes included."""
    styles: str
    r"""One letter a text: ``p``\ lain, ``'``, ``"``, ``|``, ``>``, ``m`` a plain text that YAML
    takes for a mapping (``- Error: no such file``), ``n``\ ested, ``a``\ n alias."""
    line: int
    end: int
    """The entry's own lines are ``line`` up to but not including ``end``."""
    column: int
    """Of the key."""
    span: Span
    """The whole value."""
    flow: bool = False
    """The value stands in brackets."""
    mappings: tuple[Mapping | None, ...] = ()
    """Beside each text what a nested mapping holds; empty where nothing is nested."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Header:
    """The place of a header in its file."""

    lines: tuple[str, ...]
    """The lines between the fences, without their ends."""
    start: int
    """Offset of the first of them in the text."""
    end: int
    """Offset of the closing fence."""
    line: int
    """1-based number of the first of them."""
    eol: str
    """How the opening fence ends."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Split:
    """A file in its parts."""

    header: Header | None
    body: str
    body_line: int
    """1-based number of the body's first line."""
    problem: str = ""
    """``unclosed`` or ``too-large``: there is a header that cannot be taken apart."""


def split_header(text: str) -> Split:
    """Take a file apart at its ``---`` fences.

    A byte order mark and empty lines may stand before the first fence. A first line ``---`` after
    which no key follows is a thematic break of the body.
    """
    opening = _OPEN.match(text)
    if not opening:
        body = text.removeprefix("\ufeff")
        return Split(header=None, body=body, body_line=1)
    start = opening.end()
    above = 1 + len(_EOL.findall(opening[0]))
    closing = _CLOSE.search(text, start, start + MAX_HEADER)
    cut = closing is not None and closing.end() == start + MAX_HEADER < len(text)
    if closing is None or cut:
        plain = Split(header=None, body=text[opening.end(1) :], body_line=1)
        if not _KEY_FIRST.match(text, start):
            return plain
        closes = _CLOSE.search(text, start) is not None
        return replace(plain, problem="too-large" if closes else "unclosed")
    if opening[2] and not _KEY_FIRST.match(text, start):
        return Split(header=None, body=text[opening.end(1) :], body_line=1)
    inside = text[start : closing.start()]
    lines = tuple(_EOL.split(inside)[:-1]) if inside else ()
    header = Header(lines=lines, start=start, end=closing.start(), line=above, eol=opening[3])
    return Split(header=header, body=text[closing.end() :], body_line=above + len(lines) + 1)


def looks_like_keys(header: Header) -> bool:
    """Return whether a header begins with a key, or holds nothing at all."""
    inside = "\n".join((*header.lines, ""))
    return not inside.strip() or _KEY_FIRST.match(inside) is not None


def line_starts(text: str) -> list[int]:
    """Return the offset at which each line of a text begins."""
    return [0, *(match.end() for match in _EOL.finditer(text))]


def canonical(key: str) -> str:
    """Return the one spelling under which a key is known: ``Last_Seen`` → ``last-seen``."""
    return key.strip().casefold().replace("_", "-").replace(" ", "-")

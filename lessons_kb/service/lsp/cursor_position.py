"""Where in a card a position stands: at which key, in which value, in which link.

The header is read line by line and not parsed: while somebody types it is rarely valid.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from lsprotocol.types import Position

from lessons_kb.cards.header import canonical
from lessons_kb.service.lsp.text import Text

_KEY = re.compile(
    r"(?P<indent>[ \t]*)(?P<dash>-[ \t]+)?(?P<key>[^\W\d_][\w -]*?)[ \t]*:(?:[ \t]|$)"
)
_FIRST = re.compile(r"(?P<indent>[ \t]*)(?P<dash>-[ \t]+)?(?P<word>[\w-]*)$")
_ITEM = re.compile(r"(?P<indent>[ \t]*)-[ \t]*")
_WIKI = re.compile(r"\[\[(?P<target>[^\[\]|\n]*)$")
_LINK = re.compile(r"\]\((?P<target>[^()\s]*)$")
_HEADING = re.compile(r"##[ \t]+(?P<word>.*)$")
_LONGEST_HEADER = 2_000
"""Lines looked at for the end of a header."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Cursor:
    """A place in a card."""

    kind: str
    """``key``, ``value``, ``link``, ``wiki``, ``heading`` or ``text``."""
    key: str = ""
    """Canonical, of the header's key that the place belongs to; of a nested one its own."""
    parent: str = ""
    """The key above a nested one."""
    typed: str = ""
    """What stands between ``start`` and the place."""
    start: int = 0
    """Column, in characters, at which begins what would be completed."""


def find_cursor(text: Text, at: Position) -> Cursor:
    """Return what stands at a position."""
    column = text.column(at)
    before = text.line(at.line)[:column]
    first, end = find_header(text)
    if first <= at.line < end:
        return _in_header(text, at.line, first, before)
    for kind, form in (("wiki", _WIKI), ("link", _LINK)):
        if found := form.search(before):
            return Cursor(kind=kind, typed=found["target"], start=found.start("target"))
    if found := _HEADING.match(before):
        return Cursor(kind="heading", typed=found["word"], start=found.start("word"))
    return Cursor(kind="text")


def find_header(text: Text) -> tuple[int, int]:
    """Return the lines of a header, the fences left out, also of one that is not closed yet."""
    lines = min(len(text.lines), _LONGEST_HEADER)
    first = next((n for n in range(lines) if text.line(n).strip("\ufeff \t")), 0)
    if text.line(first).lstrip("\ufeff").rstrip() != "---":
        return 0, 0
    for number in range(first + 1, lines):
        line = text.line(number)
        if line.rstrip() == "---" or line.startswith("## "):
            return first + 1, number
    return first + 1, lines


def find_key(text: Text, line: int) -> tuple[str, int, int] | None:
    """Return the canonical key that stands on a line of the header, and its columns."""
    first, end = find_header(text)
    found = _KEY.match(text.line(line)) if first <= line < end else None
    return (canonical(found["key"]), found.start("key"), found.end("key")) if found else None


def _in_header(text: Text, line: int, first: int, before: str) -> Cursor:
    parent = _key_above(text, line, first)
    if found := _KEY.match(before):
        nested = bool(found["indent"] or found["dash"])
        return _value(
            before, found.end(), canonical(found["key"]), canonical(parent) if nested else ""
        )
    found = _FIRST.fullmatch(before)
    nested = found is not None and bool(found["indent"] or found["dash"])
    if found and not nested:
        return Cursor(kind="key", typed=found["word"], start=found.start("word"))
    if found and canonical(parent) == "detect":
        word, start = found["word"], found.start("word")
        return Cursor(kind="key", parent="detect", typed=word, start=start)
    item = _ITEM.match(before)
    return _value(before, item.end() if item else 0, canonical(parent), "")


def _key_above(text: Text, line: int, first: int) -> str:
    """Return the key at the margin that a line belongs to, "" without one."""
    for number in range(line, first - 1, -1):
        found = _KEY.match(text.line(number))
        if found and not found["indent"] and not found["dash"]:
            return found["key"]
    return ""


def _value(before: str, begin: int, key: str, parent: str) -> Cursor:
    start = max(begin, *(before.rfind(mark, begin) + 1 for mark in "[,"))
    while start < len(before) and before[start] in " \t'\"":
        start += 1
    return Cursor(kind="value", key=key, parent=parent, typed=before[start:], start=start)

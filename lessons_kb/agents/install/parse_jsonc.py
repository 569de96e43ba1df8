"""Read JSON with comments and trailing commas, with the place of every value.

The editors of agents' settings write such files; a parser that forgets where things stood could
only write them anew, without their comments.
"""

from __future__ import annotations

import functools
import json
import re
from dataclasses import dataclass
from typing import Any, NoReturn

from lessons_kb.errors import InputError

MAX_DEPTH = 200

_TRIVIA = re.compile(r"(?:[ \t\r\n]+|//[^\r\n]*|/\*(?:[^*]|\*(?!/))*\*/)*")
_COMMENT = re.compile(r'"(?:[^"\\\r\n]|\\.)*"|(?P<comment>//[^\r\n]*|/\*(?:[^*]|\*(?!/))*\*/)')
_STRING = re.compile(r'"(?:[^"\\\x00-\x1f]|\\.)*"')
_ATOM = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?(?![\w.])|[A-Za-z_]+")
_WORDS = {"true": True, "false": False, "null": None}
_CLOSING = {"{": "}", "[": "]"}


@dataclass(frozen=True, kw_only=True, slots=True)
class Node:
    """A value and where it stands: ``text[start:end]``."""

    start: int
    end: int
    data: Any
    """The value itself; of a key that stands twice the last counts."""
    parts: tuple[Part, ...] = ()
    """What an object or array holds, in order."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Part:
    """A member of an object or an element of an array."""

    key: str | int
    start: int
    """Where the key begins, of an element the value."""
    node: Node
    comma: int
    """Where the comma behind it stands, -1 without one."""


def read_data(text: str) -> Any:
    """Return the data of a text without the places; the same as ``parse(text).data``, sooner.

    Settings may have megabytes (agents keep histories in them), and most hold no comment.
    """
    try:
        return json.loads(text, parse_constant=_refuse)
    except (ValueError, RecursionError):
        return parse(text).data


def _refuse(word: str) -> NoReturn:
    raise ValueError(word)


@functools.lru_cache(maxsize=4)
def parse(text: str) -> Node:
    """Return the root of a text that holds one value, comments and trailing commas allowed.

    The data is shared between callers: nobody may change it. Raises InputError naming line and
    column.
    """
    reader = _Reader(text)
    root = reader.value(reader.skip(0), 0)
    end = reader.skip(root.end)
    if end != len(text):
        reader.fail(end, "unexpected text after the value")
    return root


def find_comments(text: str) -> list[str]:
    """List the comments of a text in order."""
    return [match["comment"] for match in _COMMENT.finditer(text) if match["comment"]]


def skip_trivia(text: str, position: int) -> int:
    """Return the next position that is neither space nor comment."""
    match = _TRIVIA.match(text, position)
    return match.end() if match else position


class _Reader:
    def __init__(self, text: str) -> None:
        self.text = text

    def fail(self, position: int, what: str) -> NoReturn:
        before = self.text[:position].splitlines(keepends=True) or [""]
        fresh = before[-1].endswith(("\n", "\r"))
        line = len(before) + fresh
        column = 1 if fresh else len(before[-1]) + 1
        raise InputError(f"line {line}, column {column}: {what}")

    def skip(self, position: int) -> int:
        position = skip_trivia(self.text, position)
        if self.text.startswith("/*", position):
            self.fail(position, "this comment is not closed")
        return position

    def value(self, position: int, depth: int) -> Node:
        if depth > MAX_DEPTH:
            self.fail(position, "nested too deeply")
        first = self.text[position : position + 1]
        if first in _CLOSING:
            return self.container(position, depth)
        if first == '"':
            end, data = self.string(position)
            return Node(start=position, end=end, data=data)
        match = _ATOM.match(self.text, position)
        if not match:
            what = f"a value is expected, not {first!r}" if first else "the file ends too early"
            self.fail(position, what)
        word = match[0]
        if word[0].isalpha() or word[0] == "_":
            if word not in _WORDS:
                self.fail(position, f"a value is expected, not {word!r}")
            return Node(start=position, end=match.end(), data=_WORDS[word])
        return Node(start=position, end=match.end(), data=json.loads(word))

    def string(self, position: int) -> tuple[int, str]:
        match = _STRING.match(self.text, position)
        if not match:
            self.fail(position, "this string is not closed on its line")
        try:
            return match.end(), json.loads(match[0])
        except ValueError:
            self.fail(position, "this string has an invalid escape")

    def container(self, start: int, depth: int) -> Node:
        closing = _CLOSING[self.text[start]]
        parts: list[Part] = []
        position = self.skip(start + 1)
        while not self.text.startswith(closing, position):
            if parts and parts[-1].comma < 0:
                self.fail(position, f"a comma or {closing!r} is expected")
            part = self.part(position, len(parts) if closing == "]" else None, depth)
            parts.append(part)
            position = self.skip(part.node.end if part.comma < 0 else part.comma + 1)
        data: Any = (
            [part.node.data for part in parts]
            if closing == "]"
            else {part.key: part.node.data for part in parts}
        )
        return Node(start=start, end=position + 1, data=data, parts=tuple(parts))

    def part(self, start: int, number: int | None, depth: int) -> Part:
        position = start
        key: str | int
        if number is None:
            if not self.text.startswith('"', position):
                self.fail(position, 'a key in "…" is expected')
            end, key = self.string(position)
            position = self.skip(end)
            if not self.text.startswith(":", position):
                self.fail(position, "a colon is expected")
            position = self.skip(position + 1)
        else:
            key = number
        node = self.value(position, depth + 1)
        comma = self.skip(node.end)
        if not self.text.startswith(",", comma):
            comma = -1
        return Part(key=key, start=start, node=node, comma=comma)

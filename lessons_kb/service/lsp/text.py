"""The text of an open document and its positions, which count UTF-16 code units."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cached_property

from lsprotocol.types import Position, Range

_EOL = re.compile(r"(\r\n|\r|\n)")
_ASTRAL = re.compile("[\U00010000-\U0010ffff]")
"""Characters of two UTF-16 code units."""


class Text:
    r"""Lines that end at ``\r\n``, ``\n`` or ``\r`` alone, as the protocol has it.

    A position behind the end of its line is that end, one inside a character the place before it,
    a line behind the last the end of the text. An edit makes a text of its own: threads may share
    one.
    """

    def __init__(self, text: str, *, lines: list[str] | None = None) -> None:
        """``lines``, if they are known, make ``text`` superfluous."""
        self._lines = _split(text) if lines is None else lines
        self._whole = text if lines is None else None

    @property
    def whole(self) -> str:
        """The text."""
        if self._whole is None:
            self._whole = "".join(self._lines)
        return self._whole

    @property
    def lines(self) -> Sequence[str]:
        """Every line with its end; the last has none and may be empty."""
        return self._lines

    @cached_property
    def ends_alike(self) -> bool:
        """Whether no line ends at a CR alone."""
        return "\r" not in self.whole.replace("\r\n", "\n")

    def line(self, number: int) -> str:
        """Return a line by its number, from 0, without its end; "" for one that is not there."""
        return self._lines[number].rstrip("\r\n") if 0 <= number < len(self._lines) else ""

    def replace(self, where: Range, text: str) -> Text:
        """Return the text with another in a range; of one that runs backwards the ends swap."""
        ends = sorted(map(self._place, (where.start, where.end)))
        (first, begin), (last, end) = ends
        piece = f"{self._lines[first][:begin]}{text}{self._lines[last][end:]}"
        # A CR and an LF that come together are one line end.
        if first and self._lines[first - 1].endswith("\r"):
            first -= 1
            piece = self._lines[first] + piece
        if piece.endswith("\r") and last + 1 < len(self._lines):
            last += 1
            piece += self._lines[last]
        lines = _split(piece)
        if last + 1 < len(self._lines) and not lines[-1]:
            lines.pop()
        return Text("", lines=[*self._lines[:first], *lines, *self._lines[last + 1 :]])

    def column(self, at: Position) -> int:
        """Return a position's place in its line, in characters."""
        return self._place(at)[1]

    def position(self, line: int, column: int) -> Position:
        """Return the position of a place in a line, both from 0 and in characters."""
        line = min(max(line, 0), len(self._lines) - 1)
        before = self.line(line)[: max(column, 0)]
        return Position(line=line, character=len(before) + len(_ASTRAL.findall(before)))

    def position_at(self, offset: int) -> Position:
        """Return the position of a place in the text, in characters."""
        left = max(offset, 0)
        for number, line in enumerate(self._lines):
            if left < len(line):
                return self.position(number, left)
            left -= len(line)
        return self.end

    def offset(self, at: Position) -> int:
        """Return a position's place in the text, in characters."""
        number, column = self._place(at)
        return sum(map(len, self._lines[:number])) + column

    def span(self, line: int) -> Range:
        """Return the range of a line without the white space around it."""
        text = self.line(line)
        start = len(text) - len(text.lstrip())
        return Range(
            start=self.position(line, start), end=self.position(line, len(text.rstrip()) or start)
        )

    @property
    def end(self) -> Position:
        """The end of the text."""
        return self.position(len(self._lines) - 1, len(self._lines[-1]))

    def _place(self, at: Position) -> tuple[int, int]:
        if at.line >= len(self._lines):
            return len(self._lines) - 1, len(self._lines[-1])
        text = self.line(at.line)
        return at.line, _characters(text, at.character)


def _characters(text: str, units: int) -> int:
    """Return how many characters lie whole within the first code units of a line."""
    extra = 0
    if not text.isascii():
        for one in _ASTRAL.finditer(text):
            begin = one.start() + extra
            if units <= begin:
                break
            if units == begin + 1:
                return one.start()
            extra += 1
    return min(units - extra, len(text))


def _split(text: str) -> list[str]:
    if "\r" not in text:
        *lines, last = text.split("\n")
        return [*(f"{line}\n" for line in lines), last]
    pieces = _EOL.split(text)
    lines = [line + eol for line, eol in zip(pieces[::2], pieces[1::2], strict=False)]
    return [*lines, pieces[-1]]

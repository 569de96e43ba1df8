"""Markdown as foreign tools and people write it, cut into headings, items, rows and paragraphs.

A reader by lines: it never fails, costs linear time, and knows the line of everything it found.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

HEADING, ITEM, ROW, TEXT = "heading", "item", "row", "text"

_HEADING = re.compile(r" {0,3}(#{1,6})[ \t]+(.*?)[ \t]*#*[ \t]*\Z")
_ITEM = re.compile(r"([ \t]*)(?:[-*+]|\d{1,3}[.)])[ \t]+(?:\[[ xX]\][ \t]+)?(\S.*)\Z")
_FENCE = re.compile(r"[ \t]*(`{3,}|~{3,})")
_UNDERLINE = re.compile(r" {0,3}(=+|-{3,})[ \t]*\Z")
_DELIMITER = re.compile(r"[\s|:-]*-[\s|:-]*\Z")
_TAB_WIDTH = 4
_FEWEST_PIPES = 2


@dataclass(frozen=True, kw_only=True, slots=True)
class Block:
    """One piece of a document."""

    kind: str
    line: int
    """1-based."""
    text: str
    """Without its mark; a row's cells joined by tabs."""
    level: int = 0
    """Of a heading 1 to 6, of an item or a paragraph its indentation."""
    cells: tuple[tuple[str, str], ...] = ()
    """A row's (column, cell); columns in lower case without markup."""


def read_blocks(text: str) -> list[Block]:
    r"""Return the blocks of a text whose lines end at ``\n``, in order; fenced code stays whole."""
    return _Reader(text.split("\n")).read()


class _Reader:
    def __init__(self, lines: Sequence[str]) -> None:
        self.lines = lines
        self.blocks: list[Block] = []
        self.open: list[str] = []
        """Lines of the item or paragraph that is being read."""
        self.begun = Block(kind=TEXT, line=0, text="")
        self.gap = False

    def read(self) -> list[Block]:
        number = 0
        while number < len(self.lines):
            line = self.lines[number]
            if fence := _FENCE.match(line):
                number = self.take_fence(number, fence[1])
            elif (end := self.table_end(number)) > number:
                self.close()
                self.take_table(number, end)
                number = end
            else:
                self.take_line(number, line)
                number += 1
        self.close()
        return self.blocks

    def take_line(self, number: int, line: str) -> None:
        if not line.strip():
            self.gap = True
            return
        if heading := _HEADING.match(line):
            self.close()
            self.add(HEADING, number, heading[2], level=len(heading[1]))
        elif _UNDERLINE.match(line) and self.begun.kind == TEXT and len(self.open) == 1:
            text, self.open = self.open[0], []
            self.add(HEADING, self.begun.line - 1, text.strip(), level=1 if "=" in line else 2)
        elif item := _ITEM.match(line):
            self.close()
            self.begin(ITEM, number, item[2], level=_indent(line))
        elif self.open and self.continues(line):
            self.open += [*([""] if self.gap else []), line]
        else:
            self.close()
            self.begin(TEXT, number, line, level=_indent(line))
        self.gap = False

    def continues(self, line: str) -> bool:
        if not self.gap:
            return True
        return self.begun.kind == ITEM and _indent(line) > self.begun.level

    def take_fence(self, number: int, mark: str) -> int:
        end = number + 1
        closing = re.compile(rf"[ \t]*{re.escape(mark[0])}{{{len(mark)},}}[ \t]*\Z")
        while end < len(self.lines) and not closing.match(self.lines[end]):
            end += 1
        code = self.lines[number : end + 1]
        if self.open and (not self.gap or self.continues(code[0])):
            self.open += [*([""] if self.gap else []), *code]
        else:
            self.close()
            self.begin(TEXT, number, code[0], level=_indent(code[0]))
            self.open += code[1:]
        self.gap = False
        return end + 1

    def table_end(self, number: int) -> int:
        """Return the line behind a table that begins here, ``number`` where none does."""
        if "|" not in self.lines[number]:
            return number
        ruled = number + 1 < len(self.lines) and _is_delimiter(self.lines[number + 1])
        fewest = 1 if ruled else _FEWEST_PIPES
        end = number
        while end < len(self.lines) and _pipes(self.lines[end]) >= fewest:
            end += 1
        return end if end - number > 1 else number

    def take_table(self, number: int, end: int) -> None:
        head = [_column(cell) for cell in split_row(self.lines[number])]
        for place in range(number + 1, end):
            if not _is_delimiter(self.lines[place]):
                cells = split_row(self.lines[place])
                pairs = tuple(zip(head, cells, strict=False))
                block = Block(kind=ROW, line=place + 1, text="\t".join(cells), cells=pairs)
                self.blocks.append(block)

    def begin(self, kind: str, number: int, text: str, *, level: int = 0) -> None:
        self.begun = Block(kind=kind, line=number + 1, text="", level=level)
        self.open = [text]

    def close(self) -> None:
        if self.open:
            self.blocks.append(replace(self.begun, text=_dedented(self.open)))
        self.open = []
        self.gap = False

    def add(self, kind: str, number: int, text: str, *, level: int) -> None:
        self.blocks.append(Block(kind=kind, line=number + 1, text=text, level=level))


def split_row(line: str) -> list[str]:
    r"""Return the cells of a row, trimmed; ``\|`` and pipes within code ticks are no borders."""
    cells, cell, ticks = [], "", ""
    for piece in re.findall(r"\\\||`+|\||[^\\|`]+|\\", line.strip()):
        if piece == "|" and not ticks:
            cells.append(cell.strip())
            cell = ""
            continue
        if piece[0] == "`":
            ticks = "" if ticks == piece else ticks or piece
        cell += "|" if piece == "\\|" else piece
    cells.append(cell.strip())
    if ticks and "|" in cells[-1]:  # a tick that nothing closes
        return split_row(line.replace("`", "\u02cb"))
    first = 1 if not cells[0] and len(cells) > 1 else 0
    return cells[first : len(cells) - (not cells[-1] and len(cells) > 1)]


def _pipes(line: str) -> int:
    return line.count("|") - line.count("\\|")


def _indent(line: str) -> int:
    line = line.expandtabs(_TAB_WIDTH)
    return len(line) - len(line.lstrip())


def _is_delimiter(line: str) -> bool:
    return "|" in line and _DELIMITER.match(line) is not None


def _column(cell: str) -> str:
    return " ".join(re.sub(r"[*_`]", "", cell).casefold().split())


def _dedented(lines: Sequence[str]) -> str:
    """Return the lines of an item as a text: continuation lines moved to the margin."""
    rest = [line for line in lines[1:] if line.strip()]
    indent = min((len(line) - len(line.lstrip()) for line in rest), default=0)
    return "\n".join([lines[0].strip(), *(line[indent:].rstrip() for line in lines[1:])]).strip()

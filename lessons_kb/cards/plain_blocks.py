"""Read paragraphs, flat lists and fences that are unambiguous line by line.

Nine of ten sections of real cards contain nothing else. Ambiguous text is left to markdown-it,
which takes twenty times as long.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from lessons_kb.values import NamedTuple

_PLAIN = re.compile(
    r"[^\W\d_] | [^\x00-\x7f\s] | [(\"'\[{/$@!?:;,.%&^|\\\]})] | `(?!``) | [*_]{1,3}(?=[^\W_])"
    r"| \d+(?![\d.)])",
    re.VERBOSE,
)
"""Matches the beginning of a line that neither begins a block nor ends a paragraph."""
_BULLET = re.compile(r"[-*+] {1,4}(?=\S)")
_ENDS_PARAGRAPH = re.compile(r"[-*+] {1,4}\S|```[^`]*$|#{1,6}[ \t]|>")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})(.*)")


class PlainBlock(NamedTuple):
    """A paragraph, or the only paragraph of a list item."""

    is_item: bool
    line: int
    """The line, counted from 0."""
    text: str


def read_plain_blocks(text: str) -> list[PlainBlock] | None:
    """Return the blocks of a text, or None if they need a Markdown parser."""
    blocks: list[PlainBlock] = []
    lines: list[str] = []
    is_open = False
    for number, line in enumerate(text.split("\n")):
        if not line.strip(" \t"):
            is_open = False
            continue
        bullet = _BULLET.match(line)
        content = line[bullet.end() :] if bullet else line
        if not _PLAIN.match(content):
            return None
        if bullet or not is_open:
            lines = []
            blocks.append(PlainBlock(bullet is not None, number, ""))
        is_open = True
        lines.append(content)
        blocks[-1] = blocks[-1]._replace(text="\n".join(lines).strip())
    return blocks


def read_first_paragraph(text: str) -> str | None:
    """Return the first paragraph of a text or its first list item, or None if ambiguous."""
    lines: list[str] = []
    for line in text.split("\n"):
        if not line.strip(" \t"):
            if lines:
                break
            continue
        bullet = None if lines else _BULLET.match(line)
        content = line[bullet.end() :] if bullet else line
        if _PLAIN.match(content):
            lines.append(content)
        elif lines and _ENDS_PARAGRAPH.match(line):
            break
        else:
            return None
    return "\n".join(lines).strip()


def find_fenced(lines: Sequence[str]) -> frozenset[int]:
    """Return the numbers of the lines inside fences and of the closing fences."""
    fenced = set()
    opened = ""
    for number, line in enumerate(lines):
        fence = _FENCE.match(line)
        if opened:
            fenced.add(number)
            if fence and fence[1].startswith(opened) and not fence[2].strip(" \t"):
                opened = ""
        elif fence and not (fence[1][0] == "`" and "`" in fence[2]):
            opened = fence[1]
    return frozenset(fenced)

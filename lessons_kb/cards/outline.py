"""The structure of a Markdown body: its headings, and the list items and paragraphs of a part.

markdown-it decides what is a heading, an item, a paragraph. It needs most of a millisecond for a
real card, so it is not shown lines that cannot matter to the question (see ``find_headings``).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from lessons_kb.cards.plain_text import plain_text

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

MAX_STRUCTURE = 100_000
"""Characters of a body whose structure is worth reading: the parser takes some microseconds each
in the worst case, and no card is this long."""

_MARK = re.compile(r"\n( {0,3})(?:#{1,2}(?=[ \t\n])|```|~~~|<|[=-]+(?=[ \t]*\n))[^\n]*")


@dataclass(frozen=True, kw_only=True, slots=True)
class Heading:
    """A heading of level 1 or 2 that stands at the top level of a body."""

    level: int
    text: str
    """Plain, one line."""
    line: int
    """From 0, in the body."""
    end: int
    """The line after it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Item:
    """A list item; items nested in it are items of their own."""

    text: str
    """Plain, one line, without its checkbox."""
    line: int
    """From 0, in the part that was given."""
    shown_by: str = ""
    """The pattern of its ``<!-- shown-by: … -->``, "" without one."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Fence:
    """A fenced block of code."""

    language: str
    """The first word behind the fence."""
    text: str
    line: int
    """From 0, in the body, of the opening fence."""
    labels: tuple[str, ...]
    """The paragraph right above it, if there is one, then the headings it stands under, the
    nearest first; plain, one line each."""


def normal_newlines(body: str) -> str:
    r"""Return a text whose lines end at ``\n``, with as many lines as before."""
    return body.replace("\r\n", "\n").replace("\r", "\n") if "\r" in body else body


def split_lines(text: str) -> list[str]:
    r"""Return the lines of a text with their ends, be these ``\n``, ``\r\n`` or ``\r``."""
    return re.split(r"(?<=\n)|(?<=\r)(?!\n)", text)


def find_headings(body: str) -> list[Heading]:
    r"""Return the headings of level 1 and 2 at the top level, in order. Lines end at ``\n``.

    Where every heading and every fence stands at the left margin, and no HTML block and no
    underlined heading is in sight, nothing but these lines decides what is a heading: a line at
    the margin ends every list and quote, and only a fence at the margin can swallow it. Of such
    bodies, 19 of 20 real ones, markdown-it is shown these lines alone. A doubtful line is no
    matter inside a fence; with one outside markdown-it reads the whole body.
    """
    lines: list[str] = []
    numbers: list[int] = []
    doubtful: list[int] = []
    seen, number = 0, 0
    framed = f"\n{body}\n"
    for mark in _MARK.finditer(framed):
        start = mark.start()
        underline = mark[0].lstrip()[0] in "=-"
        if underline and (start == 0 or framed[start - 1] == "\n"):
            continue
        if underline or mark[1] or mark[0][1] == "<":
            doubtful.append(len(lines))
        number += framed.count("\n", seen, start)
        seen = start
        lines.append(mark[0][1:])
        numbers.append(number)
    if not doubtful and not any(line[0] in "`~" for line in lines):
        return [_read_heading(*pair) for pair in zip(lines, numbers, strict=True)]
    tokens = _parser(("fence", "heading")).parse("\n".join(lines))
    fences = [token.map for token in tokens if token.type == "fence" and token.map]
    if {line for first, end in fences for line in range(first + 1, end)}.issuperset(doubtful):
        return _headings(tokens, numbers)
    return _headings(_parser(_ALL).parse(body), range(body.count("\n") + 1))


def find_fences(body: str) -> list[Fence]:
    """Return the fenced blocks of a body, in order, each with what announces it."""
    found: list[Fence] = []
    headings: list[tuple[int, str]] = []
    above: list[str] = []
    tokens = _parser(_ALL).parse(body[:MAX_STRUCTURE])
    for place, token in enumerate(tokens):
        if token.type == "heading_open":
            level = int(token.tag[1])
            headings = [one for one in headings if one[0] < level]
            headings.append((level, plain_text(tokens[place + 1].content)))
            above = []
        elif token.type == "paragraph_open":
            above = [plain_text(tokens[place + 1].content)]
        elif token.type == "fence" and token.map:
            labels = (*above, *(text for _level, text in reversed(headings)))
            words = token.info.split()
            found.append(
                Fence(
                    language=words[0] if words else "",
                    text=token.content,
                    line=token.map[0],
                    labels=labels,
                )
            )
            above = []
    return found


def find_code_lines(text: str) -> frozenset[int]:
    r"""Return the lines, from 0, of code blocks and HTML blocks. Lines end at ``\n``."""
    tokens = _parser(_ALL).parse(text[:MAX_STRUCTURE])
    kinds = ("fence", "code_block", "html_block")
    maps = [token.map for token in tokens if token.type in kinds and token.map]
    return frozenset(line for first, end in maps for line in range(first, end))


def find_items(part: str) -> list[Item]:
    """Return the list items of a part of a body, nested ones included, in order."""
    tokens = _parse(part)
    items = []
    for place, token in enumerate(tokens):
        if token.type == "list_item_open" and token.map:
            content = _content(tokens, place)
            text = plain_text(_CHECKBOX.sub("", content))
            if text:
                told = _SHOWN_BY.search(content)
                pattern = told[1] if told else ""
                items.append(Item(text=text, line=token.map[0], shown_by=pattern))
    return items


def first_paragraph(part: str) -> str:
    """Return the first paragraph or list item of a part as plain text on one line, or ""."""
    chunk = _CHUNK.match(part)
    if not chunk:
        return ""
    if _PROSE.fullmatch(chunk[0]):
        return plain_text(chunk[0])
    for text in (chunk[0], part):
        tokens = _parse(text)
        for place, token in enumerate(tokens):
            if token.type == "paragraph_open":
                found = plain_text(_CHECKBOX.sub("", tokens[place + 1].content))
                if found:
                    return found
    return ""


_SHOWN_BY = re.compile(r"<!--[ \t]*shown-by:[ \t]*([^\n]*?)[ \t]*-->")
_CHECKBOX = re.compile(r"\A\[[ xX]\](?:\s+|\Z)")
# Up to the first empty line after some text: nearly always the whole first paragraph.
_CHUNK = re.compile(r"(?:[ \t]*\n)*(?:[^\n]*[^\s][^\n]*(?:\n|\Z))+")

# Lines that begin with a letter begin nothing else.
_PROSE = re.compile(r"(?:[ \t]*\n)*(?:[^\W\d_][^\n]*(?:\n|\Z))+")


def _content(tokens: list[Token], place: int) -> str:
    """Return the Markdown of an item's own first paragraph or heading."""
    following = tokens[place + 1 : place + 3]
    if len(following) == 2 and following[1].type == "inline":  # noqa: PLR2004
        return following[1].content
    return ""


def _read_heading(line: str, number: int) -> Heading:
    """Return the heading that a line at the left margin is, as markdown-it reads it."""
    level = 1 + line.startswith("##")
    rest = line[level:].rstrip(" \t")
    open_end = rest.rstrip("#")  # a row of # behind a space closes it
    text = open_end if open_end.endswith((" ", "\t")) else rest
    return Heading(level=level, text=plain_text(text.strip()), line=number, end=number + 1)


def _headings(tokens: list[Token], numbers: Sequence[int]) -> list[Heading]:
    """Return the headings among tokens; ``numbers`` maps their lines to those of the body."""
    found = []
    for place, token in enumerate(tokens):
        if token.type == "heading_open" and token.level == 0 and token.tag in ("h1", "h2"):
            first, last = token.map or [0, 1]
            found.append(
                Heading(
                    level=int(token.tag[1]),
                    text=plain_text(tokens[place + 1].content),
                    line=numbers[first],
                    end=numbers[first] + last - first,
                )
            )
    return found


def _parse(part: str) -> list[Token]:
    """Parse a part of a body, by as few rules as its lines can have need of."""
    rules = ("code", "list") if _ONLY_LISTS.fullmatch(part) else _ALL
    return _parser(rules).parse(part)


# Every line is empty or begins, after list markers, with what begins no other kind of block.
_ONLY_LISTS = re.compile(
    r"(?:[ \t]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)*"
    r"(?:[^\W\d_]|[\[\"'(@$/|!{}\\&;:,.?%^)\]]|`(?!`)|[-*_]+(?=[^-*_\s]))[^\n]*(?:\n|\Z)"
    r"|[ \t]*\n)*[ \t]*"
)
_ALL = ("code", "fence", "blockquote", "hr", "list", "html_block", "heading", "lheading")


@cache
def _parser(rules: tuple[str, ...]) -> MarkdownIt:
    """Return a CommonMark parser of these blocks and of paragraphs; inline text is left alone."""
    from markdown_it import MarkdownIt

    parser = MarkdownIt("zero", {"html": True}).enable(list(rules))
    parser.core.ruler.enableOnly(["block"])
    return parser

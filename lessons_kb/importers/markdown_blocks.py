"""Markdown as foreign tools and people write it, cut into headings, items, rows and paragraphs.

A reader by lines: it never fails, costs linear time, and knows the line of everything it found.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from lessons_kb.text.sanitize import clean, clean_line
from lessons_kb.text.sentences import split_sentences

SITUATION, MISTAKE, CAUSE = "Situation", "Mistake / Risk", "Root Cause"
FIX, PREVENTION = "Fix", "Prevention Checklist"
SECTIONS = (SITUATION, MISTAKE, CAUSE, FIX, PREVENTION)
"""Headings in the order in which a card has them."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Incoming:
    """A lesson as another system tells it."""

    title: str
    where: str
    """File and line, or row, for messages."""
    origin: str = ""
    """``system:source#digest``: equal for the same lesson of the same system at any time."""
    kind: str = "lesson"
    sections: tuple[tuple[str, str], ...] = ()
    """(heading of SECTIONS, Markdown), in that order."""
    topics: tuple[str, ...] = ()
    project: str | None = None
    stages: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()
    symptoms: tuple[str, ...] = ()
    severity: str | None = None
    source: str | None = None
    status: str | None = None
    gate: str | None = None
    occurrences: int = 1
    last_seen: str | None = None
    """ISO date, as is ``created``."""
    created: str | None = None
    not_for: tuple[str, ...] = ()
    examples: tuple[str, ...] = ()
    evidence: str | None = None
    supported_by: tuple[str, ...] = ()
    reopen_when: str | None = None
    id: str = ""
    """The card's id in the brain that exported it, "" from elsewhere."""
    text: str = ""
    """The whole file as it was exported; then it is what is written."""


@dataclass(frozen=True, kw_only=True, slots=True)
class PassedOver:
    """Something in the source that becomes no card, and why."""

    title: str
    where: str
    reason: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Imported:
    """What was found in one source."""

    lessons: tuple[Incoming, ...]
    passed_over: tuple[PassedOver, ...] = ()
    notes: tuple[str, ...] = ()
    """One line each: what was not understood and left alone."""


def make_origin(system: str, source: str, *what: str) -> str:
    """Return the origin of a lesson that ``what`` tells apart within its system."""
    text = "\0".join(" ".join(part.split()).casefold() for part in what)
    source = " ".join(source.replace("#", " ").split())
    return f"{system}:{source}#{zlib.crc32(text.encode('utf-8', 'replace')):08x}"


def origin_key(origin: str) -> tuple[str, str]:
    """Return what must be equal in two origins of one lesson: a renamed source is the same."""
    return origin.partition(":")[0], origin.rpartition("#")[2]


MAX_TITLE = 110
"""Characters; longer ones are cut at a word."""
MAX_SECTION = 6_000
MAX_ITEM = 300

_LINK = re.compile(r"!?\[([^\[\]]{1,300})\]\([^()\s]{0,500}(?:\s[^()]{0,200})?\)")
_EMPHASIS = re.compile(r"(\*\*|__|~~)(?=\S)(.{1,400}?)(?<=\S)\1", re.DOTALL)
_LIGHT = re.compile(r"(?<![\w*])\*(?=[^\s*])([^*\n]{1,300}?)(?<=[^\s*])\*(?![\w*])")
_LEAD = re.compile(r"(?:\*\*|__)(.{1,300}?)(?:\*\*|__)[ \t]*[:.\u2014\u2013-]*[ \t]*", re.DOTALL)
_CLAUSE = re.compile(r" [\u2014\u2013-] |[:;] |, (?:so|because|which|but) ")
_DECORATION = re.compile(r"^[^\w`\"'(\[<@#$./*_-]+")
_SHORTEST_CLAUSE = 25


def unmarked(text: str) -> str:
    """Return a text on one line without links, bold and italics; code keeps its ticks."""
    text = _LINK.sub(r"\1", text)
    text = _EMPHASIS.sub(r"\2", text)
    return clean_line(_LIGHT.sub(r"\1", text))


def split_lead(text: str) -> tuple[str, str]:
    """Return the title that a paragraph begins with, and what is left to say.

    The title is the bold lead, else the first sentence; one that is too long is cut at a clause
    or a word, and then all of the text is left to say.
    """
    text = text.strip()
    lead = _LEAD.match(text)
    if lead and (rest := text[lead.end() :].strip()):
        # A sentence that goes on is told whole.
        return shorten(unmarked(lead[1]).rstrip(" :.")), text if rest[0].islower() else rest
    flat = unmarked(text)
    first = next(iter(split_sentences(flat)), flat)
    if len(first) <= MAX_TITLE:
        rest = flat[len(first) :].strip() if flat.startswith(first) else ""
        # The sentence itself is the lesson; formatting is kept only where more is said.
        return first.rstrip(" .:"), text if rest else ""
    return shorten(first), text


def shorten(text: str, limit: int = MAX_TITLE) -> str:
    """Return a title of at most ``limit`` characters, cut at a clause, else at a word."""
    text = _DECORATION.sub("", " ".join(text.split())) or " ".join(text.split())
    if len(text) <= limit:
        return text
    cuts = [found.start() for found in _CLAUSE.finditer(text, 0, limit)]
    good = [cut for cut in cuts if cut >= _SHORTEST_CLAUSE]
    if good:
        return text[: good[-1]].rstrip(" ,.;:")
    cut = text.rfind(" ", 0, limit - 1)
    return text[: cut if cut > limit // 2 else limit - 1].rstrip(" ,.;:") + "…"


def section(text: str) -> str:
    """Return Markdown that is safe as a part of a card: bounded, its headings below ours."""
    text = clean(text).strip()
    if len(text) > MAX_SECTION:
        cut = text.rfind("\n", 0, MAX_SECTION)
        text = text[: cut if cut > MAX_SECTION // 2 else MAX_SECTION].rstrip() + "\n…"
        if len(re.findall(r"(?m)^[ \t]*(?:```|~~~)", text)) % 2:
            text += "\n```"
    lines: list[str] = []
    fenced = ""
    for line in text.split("\n"):
        mark = re.match(r"[ \t]*(```|~~~)", line)
        if mark and fenced in ("", mark[1]):
            fenced = "" if fenced else mark[1]
        elif not fenced:
            if re.match(r" {0,3}(?:=+|-+)[ \t]*\Z", line) and lines and lines[-1].strip():
                lines.append("")  # else it would make a heading of the line above
            line = re.sub(r"^( {0,3})#{1,2}(?=[ \t]|\Z)", r"\1###", line)  # noqa: PLW2901
        lines.append(line)
    return "\n".join([*lines, fenced] if fenced else lines).strip()


def checklist(items: Iterable[str]) -> str:
    """Return texts as checklist items, one line each, without repetition."""
    found = dict.fromkeys(line for item in items if (line := unmarked(item).strip()))
    return "\n".join(f"- [ ] {shorten(line, MAX_ITEM)}" for line in found)


def fit_sections(parts: Iterable[tuple[str, str]]) -> tuple[tuple[str, str], ...]:
    """Return (heading, Markdown) in the order of a card, parts of one heading joined.

    What is empty is left out, and a text that an earlier part holds already is not said twice.
    """
    joined: dict[str, list[str]] = {}
    for heading, text in parts:
        kept = section(text)
        if kept and not any(kept in other for others in joined.values() for other in others):
            joined.setdefault(heading, []).append(kept)
    between = {heading: "\n" if heading == PREVENTION else "\n\n" for heading in joined}
    return tuple((h, between[h].join(joined[h])) for h in SECTIONS if h in joined)


HEADING, ITEM, ROW, TEXT = "heading", "item", "row", "text"

_HEADING = re.compile(r" {0,3}(#{1,6})[ \t]+(.*?)[ \t]*#*[ \t]*\Z")
_ITEM = re.compile(r"([ \t]*)(?:[-*+\u2022]|\d{1,3}[.)])[ \t]+(?:\[[ xX]\][ \t]+)?(\S.*)\Z")
_FENCE = re.compile(r"[ \t]*(`{3,}|~{3,})")
_UNDERLINE = re.compile(r" {0,3}(=+|-{3,})[ \t]*\Z")
_DELIMITER = re.compile(r"[\s|:-]*-[\s|:-]*\Z")
_TAB_WIDTH = 4
_BORDER = re.compile(r"(?<!\\)\|")
_FEWEST_PIPES = 2


@dataclass(frozen=True, kw_only=True, slots=True)
class Fragment:
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


def read_blocks(text: str) -> list[Fragment]:
    r"""Return the blocks of a text whose lines end at ``\n``, in order; fenced code stays whole."""
    lines = text.split("\n")
    blocks: list[Fragment] = []
    begun = Fragment(kind=TEXT, line=0, text="")
    opened: list[str] = []
    """Lines of the item or paragraph that is being read."""
    number, gap = 0, False

    def close() -> None:
        nonlocal opened, gap
        if opened:
            blocks.append(replace(begun, text=_dedented(opened)))
        opened, gap = [], False

    def begin(kind: str, text: str, level: int) -> None:
        nonlocal opened, begun
        close()
        begun, opened = Fragment(kind=kind, line=number + 1, text="", level=level), [text]

    while number < len(lines):
        line, end = lines[number], _table_end(lines, number)
        fence = _FENCE.match(line)
        if not fence and end > number:
            close()
            blocks += _read_rows(lines, number, end)
            number = end
            continue
        end = number + 1
        if fence:
            closing = re.compile(rf"[ \t]*{re.escape(fence[1][0])}{{{len(fence[1])},}}[ \t]*\Z")
            end = (
                next((n for n in range(end, len(lines)) if closing.match(lines[n])), len(lines)) + 1
            )
        if not line.strip():
            gap = True
        elif heading := _HEADING.match(line):
            begin(HEADING, heading[2], len(heading[1]))
            close()
        elif _UNDERLINE.match(line) and begun.kind == TEXT and len(opened) == 1:
            begun = replace(begun, kind=HEADING, level=1 if "=" in line else 2)
            close()
        elif item := _ITEM.match(line):
            begin(ITEM, item[2], _indent(line))
        else:  # it goes on with what is open, or begins a paragraph
            inside = begun.kind == ITEM and _indent(line) > begun.level
            if opened and (inside or not gap):
                opened += ["", *lines[number:end]] if gap else lines[number:end]
            else:
                begin(TEXT, line, _indent(line))
                opened += lines[number + 1 : end]
            gap = False
        number = end
    close()
    return blocks


def _read_rows(lines: Sequence[str], first: int, end: int) -> Iterator[Fragment]:
    """Yield the rows of a table below its line of heads."""
    heads = split_row(lines[first])
    head = [" ".join(re.sub(r"[*_`]", "", cell).casefold().split()) for cell in heads]
    for place in range(first + 1, end):
        if not _is_delimiter(lines[place]):
            cells = split_row(lines[place])
            pairs = tuple(zip(head, cells, strict=False))
            yield Fragment(kind=ROW, line=place + 1, text="\t".join(cells), cells=pairs)


def _table_end(lines: Sequence[str], number: int) -> int:
    """Return the line behind a table that begins here, ``number`` where none does."""
    if "|" not in lines[number]:
        return number
    ruled = number + 1 < len(lines) and _is_delimiter(lines[number + 1])
    end = number
    while end < len(lines) and len(_BORDER.findall(lines[end])) >= (1 if ruled else _FEWEST_PIPES):
        end += 1
    return end if end - number > 1 else number


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


def _indent(line: str) -> int:
    line = line.expandtabs(_TAB_WIDTH)
    return len(line) - len(line.lstrip())


def _is_delimiter(line: str) -> bool:
    return "|" in line and _DELIMITER.match(line) is not None


def _dedented(lines: Sequence[str]) -> str:
    """Return the lines of an item as a text: continuation lines moved to the margin."""
    rest = [line for line in lines[1:] if line.strip()]
    indent = min((len(line) - len(line.lstrip()) for line in rest), default=0)
    return "\n".join([lines[0].strip(), *(line[indent:].rstrip() for line in lines[1:])]).strip()

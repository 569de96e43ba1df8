"""The common part of all importers: the type of an imported lesson, and Markdown for cards."""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterable

from lessons_kb.model import Source
from lessons_kb.text.sanitize import clean, clean_line
from lessons_kb.text.sentences import split_sentences
from lessons_kb.values import frozen

SITUATION, MISTAKE, CAUSE = "Situation", "Mistake / Risk", "Root Cause"
FIX, PREVENTION = "Fix", "Prevention Checklist"
SECTIONS = (SITUATION, MISTAKE, CAUSE, FIX, PREVENTION)
"""The headings in the order of a card."""


@frozen
class Incoming:
    """A lesson from another system."""

    title: str
    where: str
    """The file and line, or the row, for messages."""
    origin: str = ""
    """The origin ``system:source#digest``, which is always the same for the same lesson of a
    system.
    """
    former: tuple[str, ...] = ()
    """Origins that earlier releases wrote for this lesson, or for a card that contained it."""
    kind: str = "lesson"
    sections: tuple[tuple[str, str], ...] = ()
    """Pairs (heading of SECTIONS, Markdown), in the order of SECTIONS."""
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
    """The ISO date of the last occurrence, in the same form as ``created``."""
    created: str | None = None
    not_for: tuple[str, ...] = ()
    examples: tuple[str, ...] = ()
    evidence: str | None = None
    supported_by: tuple[str, ...] = ()
    reopen_when: str | None = None
    id: str = ""
    """The card's id in the brain that exported it, or "" for other systems."""
    text: str = ""
    """The whole file, which is then written unchanged, or "" for a card that is made of its
    parts.
    """
    body: str = ""
    """The Markdown below the header, instead of ``sections``."""
    sources: tuple[Source, ...] = ()
    """The sources of the lesson, with its place in the imported file."""
    declared_paths: bool = False
    """Whether the source declares ``paths`` as paths, rather than naming them in its text."""


@frozen
class PassedOver:
    """A part of the source that does not become a card, and the reason."""

    title: str
    where: str
    reason: str


@frozen
class Imported:
    """The content of one source."""

    lessons: tuple[Incoming, ...]
    passed_over: tuple[PassedOver, ...] = ()
    notes: tuple[str, ...] = ()
    """Messages about ignored parts, one line each."""
    topics: int = 0
    """The number of lessons that are titled by a heading which names only a topic."""


def make_origin(system: str, source: str, *parts: str) -> str:
    """Return the origin of a lesson. ``parts`` identify the lesson within its system."""
    text = "\0".join(" ".join(part.split()).casefold() for part in parts)
    source = " ".join(source.replace("#", " ").split())
    return f"{system}:{source}#{zlib.crc32(text.encode('utf-8', 'replace')):08x}"


def origin_key(origin: str) -> tuple[str, str]:
    """Return the part that two origins of the same lesson share, even if the source is renamed."""
    return origin.partition(":")[0], origin.rpartition("#")[2]


def add_to_situation(
    sections: tuple[tuple[str, str], ...], text: str
) -> tuple[tuple[str, str], ...]:
    """Return the sections with one paragraph added under Situation."""
    texts = dict(sections)
    texts[SITUATION] = "\n\n".join(filter(None, (texts.get(SITUATION, ""), text)))
    return tuple((name, texts[name]) for name in SECTIONS if name in texts)


MAX_TITLE = 110
"""The maximum number of characters of a title. Longer titles are cut at a word."""
MAX_SECTION = 6_000
MAX_ITEM = 300

_LINK = re.compile(r"!?\[([^\[\]]{1,300})\]\([^()\s]{0,500}(?:\s[^()]{0,200})?\)")
_EMPHASIS = re.compile(r"(\*\*|__|~~)(?=\S)(.{1,400}?)(?<=\S)\1", re.DOTALL)
_LIGHT = re.compile(r"(?<![\w*])\*(?=[^\s*])([^*\n]{1,300}?)(?<=[^\s*])\*(?![\w*])")
_LEAD = re.compile(r"(?:\*\*|__)(.{1,300}?)(?:\*\*|__)[ \t]*[:.\u2014\u2013-]*[ \t]*", re.DOTALL)
_CODE = re.compile(r"`[^`\n]+`")
_HOLD = "\0"
_HELD = re.compile(rf"{_HOLD}(\d+){_HOLD}")
_CLAUSE = re.compile(r" [\u2014\u2013-] |[:;] |, (?:so|because|which|but) ")
_DECORATION = re.compile(r"^[^\w`\"'(\[<@#$./*_-]+")
_SHORTEST_CLAUSE = 25


def unmarked(text: str) -> str:
    """Return a text on one line without links, bold and italics. Code keeps every character."""
    spans: list[str] = []

    def hold(code: re.Match[str]) -> str:
        spans.append(code[0])
        return f"{_HOLD}{len(spans) - 1}{_HOLD}"

    text = _CODE.sub(hold, text.replace(_HOLD, ""))
    text = _LINK.sub(r"\1", text)
    text = _EMPHASIS.sub(r"\2", text)
    text = _LIGHT.sub(r"\1", text)
    return clean_line(_HELD.sub(lambda held: spans[int(held[1])], text))


def split_lead(text: str) -> tuple[str, str]:
    """Return the title at the start of a paragraph, and the remaining text.

    The title is the bold lead, or else the first sentence. If the title is too long, it is cut at a
    clause or a word, and the remaining text is the whole paragraph.
    """
    text = text.strip()
    lead = _LEAD.match(text)
    after_lead = text[lead.end() :].strip() if lead else ""
    if lead and after_lead:
        # If the sentence continues after the lead, the whole sentence remains.
        rest = text if after_lead[0].islower() else after_lead
        return shorten(unmarked(lead[1]).rstrip(" :.")), rest
    flat = unmarked(text)
    first = next(iter(split_sentences(flat)), flat)
    if len(first) <= MAX_TITLE:
        # A single sentence is the whole lesson. Otherwise the text keeps its formatting.
        has_more = flat.startswith(first) and bool(flat[len(first) :].strip())
        return first.rstrip(" .:"), text if has_more else ""
    return shorten(first), text


def shorten(text: str, limit: int = MAX_TITLE) -> str:
    """Return a title of at most ``limit`` characters, cut at a clause or else at a word."""
    line = " ".join(text.split())
    line = _DECORATION.sub("", line) or line
    if len(line) <= limit:
        return line
    ends = [clause.start() for clause in _CLAUSE.finditer(line, 0, limit)]
    clause_ends = [end for end in ends if line.count("`", 0, end) % 2 == 0]
    if clause_ends and clause_ends[-1] >= _SHORTEST_CLAUSE:
        return line[: clause_ends[-1]].rstrip(" ,.;:")
    cut = line.rfind(" ", 0, limit - 1)
    return line[: cut if cut > limit // 2 else limit - 1].rstrip(" ,.;:") + "…"


def section(text: str) -> str:
    """Return Markdown of limited length for a part of a card, with headings of level 3 or more."""
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
                lines.append("")  # otherwise this line makes a heading of the line above
            line = re.sub(r"^( {0,3})#{1,2}(?=[ \t]|\Z)", r"\1###", line)  # noqa: PLW2901
        lines.append(line)
    return "\n".join([*lines, fenced] if fenced else lines).strip()


def checklist(items: Iterable[str]) -> str:
    """Return texts as checklist items without duplicates, one line each."""
    lines = [unmarked(item).strip() for item in items]
    unique = dict.fromkeys(filter(None, lines))
    return "\n".join(f"- [ ] {shorten(line, MAX_ITEM)}" for line in unique)


def fit_sections(parts: Iterable[tuple[str, str]]) -> tuple[tuple[str, str], ...]:
    """Return pairs (heading, Markdown) in the order of a card. The parts of a heading are joined.

    Empty texts are left out. Texts that an earlier part contains are left out as well.
    """
    texts_by_heading: dict[str, list[str]] = {}
    earlier: list[str] = []
    for heading, text in parts:
        markdown = section(text)
        if markdown and not any(markdown in other for other in earlier):
            texts_by_heading.setdefault(heading, []).append(markdown)
            earlier.append(markdown)
    sections = []
    for heading in SECTIONS:
        if heading in texts_by_heading:
            separator = "\n" if heading == PREVENTION else "\n\n"
            sections.append((heading, separator.join(texts_by_heading[heading])))
    return tuple(sections)

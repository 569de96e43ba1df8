"""What all importers have in common: lessons as others tell them, and Markdown fit for a card."""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterable

from lessons_kb.text.sanitize import clean, clean_line
from lessons_kb.text.sentences import split_sentences
from lessons_kb.values import frozen

SITUATION, MISTAKE, CAUSE = "Situation", "Mistake / Risk", "Root Cause"
FIX, PREVENTION = "Fix", "Prevention Checklist"
SECTIONS = (SITUATION, MISTAKE, CAUSE, FIX, PREVENTION)
"""Headings in the order in which a card has them."""


@frozen
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


@frozen
class PassedOver:
    """Something in the source that becomes no card, and why."""

    title: str
    where: str
    reason: str


@frozen
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

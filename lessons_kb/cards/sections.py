"""What the sections of a card mean, whatever their authors called them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from lessons_kb.cards.outline import MAX_STRUCTURE, Item, find_headings, find_items, first_paragraph
from lessons_kb.text.sentences import first_sentence

SITUATION = "situation"
MISTAKE = "mistake"
CAUSE = "root cause"
FIX = "fix"
PREVENTION = "prevention checklist"
APPLIES = "applies to"

HEADINGS: Mapping[str, tuple[tuple[str, ...], ...]] = {
    SITUATION: (
        ("situation", "problem", "symptoms", "symptom", "context", "what happened"),
        ("상황", "문제", "증상", "맥락", "배경"),
    ),
    MISTAKE: (
        ("mistake/risk", "mistake", "risk", "실수/위험", "실수", "위험"),
        ("what didn't work", "what did not work"),
    ),
    CAUSE: (
        ("root cause", "root causes", "cause", "근본 원인", "원인"),
        ("why this works",),
    ),
    FIX: (
        ("fix", "solution", "what fixed it", "guidance"),
        ("수정", "해결", "해결 방법", "해결책"),
    ),
    PREVENTION: (
        ("prevention checklist", "prevention", "reusable rule", "takeaways", "gotchas"),
        ("checklist", "예방 체크리스트", "체크리스트", "예방", "재발 방지"),
        ("when to apply",),
    ),
    APPLIES: (("applies to", "적용 대상"),),
}
"""Meaning → headings in tiers. A lower tier speaks only where the tiers above it say nothing:
"When to Apply" is no check while a "Prevention" section holds some."""

CONDITIONS = (PREVENTION, 2)
"""The tier of "When to Apply"."""

_TIERS = {
    heading: (role, tier)
    for role, tiers in HEADINGS.items()
    for tier, headings in enumerate(tiers)
    for heading in headings
}
MAX_TOPIC_WORDS = 5
_LONGEST_TEMPLATE = 20_000
"""Characters; comments beyond them are no guidance for an author."""
_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)


@dataclass(frozen=True, kw_only=True, slots=True)
class Section:
    """A part of a body under a level-2 heading that means something."""

    role: str
    tier: int
    line: int
    """First line of its text, from 0, in the body."""
    text: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Sections:
    """The structure of a card's body."""

    title: str = ""
    """The first level-1 heading."""
    title_line: int = 0
    parts: tuple[Section, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Checklist:
    """What has to be verified, and where that comes from."""

    items: tuple[Item, ...]
    """Lines count from 0 in the body."""
    origin: str
    """``prevention``, ``fix``, ``sentence``, or ``""`` where nothing was found."""
    conditional: bool = False
    """The items say when the card applies, not what to verify."""


def read_sections(body: str) -> Sections:
    r"""Return the title and the meaningful sections of a body whose lines end at ``\n``.

    What lies beyond MAX_STRUCTURE characters is text without structure.
    """
    body = body[:MAX_STRUCTURE]
    headings = find_headings(body)
    lines = body.split("\n")
    title = next((heading for heading in headings if heading.level == 1 and heading.text), None)
    starts = [*(heading.line for heading in headings), len(lines)]
    parts = []
    for heading, end in zip(headings, starts[1:], strict=True):
        role = _TIERS.get(_normal_heading(heading.text)) if heading.level == 2 else None  # noqa: PLR2004
        if role:
            text = "\n".join(lines[heading.end : end])
            parts.append(Section(role=role[0], tier=role[1], line=heading.end, text=text))
    if title is None:
        return Sections(parts=tuple(parts))
    return Sections(title=title.text, title_line=title.line, parts=tuple(parts))


def read_checklist(sections: Sections) -> Checklist:
    """Return the items of Prevention, else of Fix, else the first sentence of Prevention."""
    for role, origin in ((PREVENTION, "prevention"), (FIX, "fix")):
        for tier in _tiers(sections, role):
            items = [item for section in tier for item in _items(section)]
            if items:
                conditional = (tier[0].role, tier[0].tier) == CONDITIONS
                return Checklist(items=tuple(items), origin=origin, conditional=conditional)
    for section in _in_order(sections, PREVENTION):
        if sentence := first_sentence(first_paragraph(section.text)):
            line = section.line + _first_line(section.text)
            return Checklist(items=(Item(text=sentence, line=line),), origin="sentence")
    return Checklist(items=(), origin="")


def read_why(sections: Sections) -> str:
    """Return the first sentence of Root Cause, else of Mistake / Risk, else ""."""
    for role in (CAUSE, MISTAKE):
        for section in _in_order(sections, role):
            paragraph = first_paragraph(section.text)
            sentence = first_sentence(paragraph)
            if sentence.endswith(":") and sentence == paragraph:
                items = find_items(section.text)
                sentence = f"{sentence} {items[0].text}" if items else sentence
            if sentence:
                return sentence
    return ""


def read_topics(sections: Sections) -> tuple[str, ...]:
    """Return the short list items under Applies To; prose there names no topics."""
    return tuple(
        item.text
        for section in _in_order(sections, APPLIES)
        for item in _items(section)
        if len(item.text.split()) <= MAX_TOPIC_WORDS
    )


def text_of(sections: Sections, roles: Iterable[str]) -> str:
    """Return the Markdown under all headings of these meanings."""
    wanted = tuple(roles)
    return "\n\n".join(part.text.strip() for part in sections.parts if part.role in wanted)


def is_unfilled(body: str) -> bool:
    """Return whether a body holds only headings and comments, at least one of these: a template."""
    if "<!--" not in body or len(body) > _LONGEST_TEMPLATE:
        return False
    lines = _COMMENT.sub("", body).split("\n")
    return not any(line.strip() and not line.startswith("#") for line in lines)


def _items(section: Section) -> list[Item]:
    return [replace(item, line=section.line + item.line) for item in find_items(section.text)]


def _tiers(sections: Sections, role: str) -> list[list[Section]]:
    tiers = range(len(HEADINGS[role]))
    found = ([s for s in sections.parts if (s.role, s.tier) == (role, tier)] for tier in tiers)
    return [tier for tier in found if tier]


def _in_order(sections: Sections, role: str) -> list[Section]:
    return [section for tier in _tiers(sections, role) for section in tier]


def _first_line(text: str) -> int:
    return len(text[: len(text) - len(text.lstrip())].split("\n")) - 1


_DECORATION = re.compile(r"^[\W\d_]+|[\W_]+$")


def _normal_heading(text: str) -> str:
    text = " ".join(text.casefold().replace("\u2019", "'").split())
    return re.sub(r"\s*/\s*", "/", _DECORATION.sub("", text))

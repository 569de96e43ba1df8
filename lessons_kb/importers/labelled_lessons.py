"""Read lessons below headings whose parts have bold labels: ``**Problem**: …``, ``**Rule**: …``."""

from __future__ import annotations

from typing import NamedTuple

from lessons_kb.cards import sections as parts
from lessons_kb.cards.keys import split_header
from lessons_kb.importers.entry_dates import split_date
from lessons_kb.importers.incoming import (
    CAUSE,
    FIX,
    MISTAKE,
    PREVENTION,
    SECTIONS,
    SITUATION,
    Incoming,
    make_origin,
    shorten,
)
from lessons_kb.values import replace

SECTION_OF_ROLE = {
    parts.SITUATION: SITUATION,
    parts.MISTAKE: MISTAKE,
    parts.CAUSE: CAUSE,
    parts.FIX: FIX,
    parts.PREVENTION: PREVENTION,
}
"""Mapping from the role of a part to the heading of the card's section."""
LONGEST_HEADING = 160
"""The maximum length, in characters, of a heading that becomes a title unchanged."""
_LEAST_LABELS = 2
"""The minimum number of different labels in a lesson. A single label may be a remark."""


class LabelledLesson(NamedTuple):
    """A lesson and the lines (1-based) of its file that belong to it."""

    lesson: Incoming
    first: int
    end: int


def read_labelled_lessons(text: str, *, name: str) -> list[LabelledLesson]:
    """Return the labelled lessons of a file, one for each heading."""
    split = split_header(text)
    body = parts.normal_newlines(split.body)[: parts.MAX_STRUCTURE * _LARGEST]
    lines = body.split("\n")
    headings = parts.find_headings(body, deepest=3)
    title = next((heading.text for heading in headings if heading.level == 1), "")
    ends = [*(heading.line for heading in headings[1:]), len(lines)]
    found = []
    for heading, end in zip(headings, ends, strict=False):
        below = "\n".join(lines[heading.end : end])
        said = parts.read_sections(below)
        roles = {part.role for part in said.parts if part.is_lead_in}
        if heading.level == 1 or not heading.text or len(roles) < _LEAST_LABELS:
            continue
        first = split.body_line + heading.line
        above = f"{title} > {heading.text}" if title else heading.text
        dated = split_date(heading.text)
        lesson = _make_lesson(said, below, heading.text, above=above, where=(name, first))
        lesson = replace(lesson, title=dated.text or lesson.title, created=dated.date)
        found.append(LabelledLesson(lesson, first, split.body_line + end))
    return found


_LARGEST = 20
"""The maximum size of a file, as a multiple of the maximum size of a card, because a file contains
many lessons.
"""


def _make_lesson(
    said: parts.Sections, below: str, title: str, *, above: str, where: tuple[str, int]
) -> Incoming:
    name, line = where
    base = name.replace("\\", "/").rpartition("/")[2]
    texts: dict[str, list[str]] = {SITUATION: [f"From {base} under “{above}”."]}
    before = "\n".join(below.split("\n")[: said.parts[0].head]).strip()
    if before:
        texts[SITUATION].append(before)
    for part in said.parts:
        told = part.text.strip()
        if part.role == parts.APPLIES:
            texts[SITUATION].append(f"Applies to {told}")
        elif told:
            whole = as_item(told) if part.role == parts.PREVENTION else told
            texts.setdefault(SECTION_OF_ROLE[part.role], []).append(whole)
    return Incoming(
        title=title if len(title) <= LONGEST_HEADING else shorten(title, LONGEST_HEADING),
        where=f"{name}:{line}",
        origin=make_origin("rules", base, title, below),
        sections=tuple((name, "\n\n".join(texts[name])) for name in SECTIONS if name in texts),
        paths=parts.read_paths(said),
    )


def as_item(text: str) -> str:
    """Return a rule as a list item with the same words. A list is returned unchanged."""
    if text.startswith(("- ", "* ", "+ ", "1. ")):
        return text
    return "- " + text.replace("\n", "\n  ").replace("\n  \n", "\n\n")

"""Read the rules that ``lessons export rules`` wrote. Each rule is the lesson of one card."""

from __future__ import annotations

import re
from typing import NamedTuple

from lessons_kb.importers.incoming import (
    CAUSE,
    PREVENTION,
    SITUATION,
    Imported,
    Incoming,
    PassedOver,
    checklist,
    fit_sections,
    make_origin,
)

BEGINS, ENDS = "<!-- lessons: begin -->", "<!-- lessons: end -->"
BLOCK = re.compile(rf"{re.escape(BEGINS)}.*?{re.escape(ENDS)}\n?", re.DOTALL)
CAUSE_LEAD, CARD_LEAD, FILES_LEAD = "Why: ", "More: ", "When you change "
_ITEM = "- "
_TITLE = re.compile(r"^## (.+)$", re.MULTILINE)
_QUOTED = re.compile(r"`([^`\n]+)`")


class Exported(NamedTuple):
    """The lessons in the marked blocks of a file, and the remaining text of the file."""

    imported: Imported
    rest: str
    """The text of other authors. The blocks are empty lines, so that line numbers stay the same."""


def read_exported_rules(text: str, *, name: str, globs: tuple[str, ...] = ()) -> Exported:
    """Return the lessons in the marked blocks of a file. ``globs`` are those of the file's header.

    A block without a title is the index of a skill, which has no lesson of its own.
    """
    lessons: list[Incoming] = []
    passed_over: list[PassedOver] = []
    for block in BLOCK.finditer(text):
        line = text.count("\n", 0, block.start()) + 1
        titles = list(_TITLE.finditer(block[0]))
        ends = [*(title.start() for title in titles[1:]), len(block[0])]
        for title, end in zip(titles, ends, strict=False):
            below = block[0][title.end() : end]
            place = line + block[0].count("\n", 0, title.start())
            lessons.append(_read_rule(title[1], below, where=f"{name}:{place}", globs=globs))
        if not titles:
            reason = "an index of cards; import the cards themselves"
            passed_over.append(PassedOver(title="lessons", where=f"{name}:{line}", reason=reason))
    rest = BLOCK.sub(lambda block: "\n" * block[0].count("\n"), text)
    return Exported(Imported(lessons=tuple(lessons), passed_over=tuple(passed_over)), rest)


def _read_rule(title: str, below: str, *, where: str, globs: tuple[str, ...]) -> Incoming:
    causes: list[str] = []
    items: list[str] = []
    card = ""
    for line in below.splitlines():
        if line.startswith(CAUSE_LEAD):
            causes.append(line.removeprefix(CAUSE_LEAD))
        elif line.startswith(CARD_LEAD):
            card = line.removeprefix(CARD_LEAD)
        elif line.startswith(FILES_LEAD):
            globs = tuple(_QUOTED.findall(line))
        elif line.startswith(_ITEM):
            items.append(line.removeprefix(_ITEM))
    parts = [(SITUATION, f"From a rule that `lessons export rules` made of {card or 'a card'}.")]
    parts += [(CAUSE, cause) for cause in causes]
    parts.append((PREVENTION, checklist(items)))
    return Incoming(
        title=title,
        where=where,
        origin=make_origin("exported", card, title),
        sections=fit_sections(parts),
        paths=globs,
        declared_paths=bool(globs),
    )

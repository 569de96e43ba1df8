"""Find and mark the statements of a completed draft that its evidence does not support."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from lessons_kb.cards.sketch import Sketch
from lessons_kb.mining.draft_text import NOT_SHOWN
from lessons_kb.text.sanitize import clean_line, shorten
from lessons_kb.text.sentences import split_sentences
from lessons_kb.values import replace

_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
_ITEM = "- [ ] "
_STATED = ("Root Cause", "Fix", "Prevention Checklist")
"""The sections whose lines state something about the mistake."""
_MAX_SHOWN, _MAX_WHY = 80, 300


def list_statements(sketch: Sketch) -> list[str]:
    """Return the title, the sentences of the cause and the fix, and the checklist items, each once.

    Each paragraph and each item of these sections has to be one line.
    """
    sections = [_COMMENT.sub("", sketch.sections.get(name, "")) for name in _STATED]
    lines = "\n".join(sections).splitlines()
    return list(dict.fromkeys([sketch.title, *(text for line in lines for text in _split(line))]))


def _split(line: str) -> list[str]:
    """Return the statements of a line: one for an item, or one for each sentence."""
    return [line.removeprefix(_ITEM)] if line.startswith(_ITEM) else split_sentences(line)


def read_unsupported(answer: Mapping[str, Any], statements: Sequence[str]) -> dict[str, str]:
    """Return the statements that an answer calls unsupported, each with its reason."""
    found = answer.get("unsupported")
    unsupported: dict[str, str] = {}
    for entry in found if isinstance(found, list) else []:
        number = entry.get("number") if isinstance(entry, Mapping) else None
        if type(number) is int and 1 <= number <= len(statements):
            why = clean_line(str(entry.get("why", "")))
            unsupported[statements[number - 1]] = shorten(why, _MAX_WHY)
    return unsupported


def mark_unsupported(sketch: Sketch, unsupported: Mapping[str, str]) -> tuple[Sketch, list[str]]:
    """Return a sketch whose unsupported statements are marked, and a problem for each of them."""
    sections = dict(sketch.sections)
    for name in filter(sections.get, _STATED):
        lines = sections[name].splitlines()
        sections[name] = "\n".join(_mark(line, unsupported) for line in lines)
    if sketch.title in unsupported and sections:
        first = next(iter(sections))
        sections[first] = f"<!-- {NOT_SHOWN}: the title -->\n\n{sections[first]}"
    problems = [
        f"the evidence does not support {shorten(statement, _MAX_SHOWN)!r}: {why}"
        for statement, why in unsupported.items()
    ]
    return replace(sketch, sections=sections), problems


def _mark(line: str, unsupported: Collection[str]) -> str:
    if _COMMENT.search(line) or not any(text in unsupported for text in _split(line)):
        return line
    mark = f" <!-- {NOT_SHOWN} -->"
    marked = " ".join(f"{text}{mark if text in unsupported else ''}" for text in _split(line))
    return f"{_ITEM}{marked}" if line.startswith(_ITEM) else marked

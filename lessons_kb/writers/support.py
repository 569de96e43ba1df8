"""Find and mark the statements of a completed draft that its evidence does not support."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from lessons_kb.cards.sketch import Sketch
from lessons_kb.mining.draft_text import NOT_SHOWN
from lessons_kb.text.sanitize import clean_line, shorten
from lessons_kb.values import replace

_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
_ITEM = re.compile(r"(?m)^- \[ \] (.+)$")
_ABOUT_TITLE = f"<!-- {NOT_SHOWN}: the title -->"
_MAX_SHOWN = 80


def list_statements(sketch: Sketch) -> list[str]:
    """Return the title, the cause, the fix and the checklist items of a sketch of a card."""
    cause, fix = (
        _COMMENT.sub("", sketch.sections.get(name, "")).strip() for name in ("Root Cause", "Fix")
    )
    items = _ITEM.findall(sketch.sections.get("Prevention Checklist", ""))
    return [text for text in (sketch.title, cause, fix, *items) if text]


def read_unsupported(answer: Mapping[str, Any], statements: Sequence[str]) -> dict[str, str]:
    """Return the statements that an answer calls unsupported, each with its reason."""
    found = answer.get("unsupported")
    unsupported: dict[str, str] = {}
    for entry in found if isinstance(found, list) else []:
        number = entry.get("number") if isinstance(entry, Mapping) else None
        if type(number) is int and 1 <= number <= len(statements):
            unsupported[statements[number - 1]] = clean_line(str(entry.get("why", "")))
    return unsupported


def _replace_quote(found: re.Match[str]) -> str:
    return f"{found['text']}{found['space'] or ' '}<!-- {NOT_SHOWN} -->"


def mark_unsupported(sketch: Sketch, unsupported: Mapping[str, str]) -> tuple[Sketch, list[str]]:
    """Return a sketch whose unsupported statements are marked, and a problem for each of them.

    The mark replaces the quote after a statement.
    """
    sections = dict(sketch.sections)
    for statement in unsupported:
        end = r"(?:(?P<space>\s*)<!--.*?-->|[ \t]*$)"
        found = re.compile(rf"(?P<text>{re.escape(statement)}){end}", re.DOTALL | re.MULTILINE)
        for name, text in sections.items():
            sections[name] = found.sub(_replace_quote, text, count=1)
    if sketch.title in unsupported and sections:
        first = next(iter(sections))
        sections[first] = f"{_ABOUT_TITLE}\n\n{sections[first]}"
    problems = [
        f"the evidence does not support {shorten(statement, _MAX_SHOWN)!r}: {why}"
        for statement, why in unsupported.items()
    ]
    return replace(sketch, sections=sections), problems

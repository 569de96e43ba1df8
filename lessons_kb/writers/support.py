"""Find and mark the statements of a completed draft that its evidence does not support."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from lessons_kb.cards.sketch import Sketch
from lessons_kb.mining.draft_text import NOT_SHOWN, TITLE_NOT_SHOWN
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


def read_unsupported(answer: Mapping[str, Any], statements: Sequence[str]) -> dict[str, str] | None:
    """Return the statements that an answer calls unsupported, each with its reason.

    The result is None if the answer does not say which statements they are.
    """
    found = answer.get("unsupported")
    if not isinstance(found, list):
        return None
    unsupported: dict[str, str] = {}
    for entry in found:
        parts = entry if isinstance(entry, Mapping) else {"number": entry}
        number = str(parts.get("number", ""))
        if not re.fullmatch(r"[1-9]\d{0,3}", number) or int(number) > len(statements):
            return None
        why = parts.get("why")
        reason = clean_line(why) if isinstance(why, str) else ""
        unsupported[statements[int(number) - 1]] = shorten(reason, _MAX_WHY)
    return unsupported


def mark_unsupported(sketch: Sketch, unsupported: Mapping[str, str]) -> tuple[Sketch, list[str]]:
    """Return a sketch whose unsupported statements are marked, and a problem for each of them.

    Statements that the sketch does not contain are ignored.
    """
    own = {text: unsupported[text] for text in list_statements(sketch) if text in unsupported}
    sections = dict(sketch.sections)
    for name in filter(sections.get, _STATED):
        sections[name] = "\n".join(_mark(line, own) for line in sections[name].splitlines())
    if sketch.title in own and sections:
        first = next(iter(sections))
        sections[first] = (
            f"{_comment(f'{TITLE_NOT_SHOWN}: {own[sketch.title]}')}\n\n{sections[first]}"
        )
    problems = [
        f"the evidence does not support {shorten(text, _MAX_SHOWN)!r}{f': {why}' if why else ''}"
        for text, why in own.items()
    ]
    return replace(sketch, sections=sections), problems


def _comment(reason: str) -> str:
    """Return a mark with a reason, as a comment. A comment must not contain its own end."""
    plain = re.sub(r"<!--|-->|-{2,}", "-", reason).strip()
    return f"<!-- {NOT_SHOWN}{f': {plain}' if plain else ''} -->"


def _mark(line: str, unsupported: Mapping[str, str]) -> str:
    texts = _split(line)
    if _COMMENT.search(line) or not any(text in unsupported for text in texts):
        return line
    marked = " ".join(
        f"{text} {_comment(unsupported[text])}" if text in unsupported else text for text in texts
    )
    return f"{_ITEM}{marked}" if line.startswith(_ITEM) else marked

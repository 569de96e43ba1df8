"""Find and mark the statements of a completed draft that its evidence does not support."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from lessons_kb.cards.sketch import Sketch
from lessons_kb.mining.draft_text import NOT_SHOWN, TITLE_NOT_SHOWN
from lessons_kb.text.sanitize import clean_line, shorten
from lessons_kb.text.sentences import split_sentences
from lessons_kb.values import field, frozen, replace

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
    if line.startswith(_ITEM):
        return [line.removeprefix(_ITEM)]
    return split_sentences(line) or [*filter(None, [line.strip()])]


@frozen
class Support:
    """The result of the comparisons of a draft's statements with its evidence."""

    compared: frozenset[str] = frozenset()
    """The statements that were compared."""
    unsupported: Mapping[str, str] = field(default_factory=dict)
    """Maps each statement that the evidence does not support to the reason."""

    def covers(self, statements: Sequence[str]) -> bool:
        """Return whether all of these statements were compared."""
        return self.compared.issuperset(statements)


def read_support(
    answer: Mapping[str, Any], statements: Sequence[str], *, before: Support | None = None
) -> Support:
    """Return the statements that an answer calls unsupported, each with its reason.

    If a part of the answer names no statement, the statements do not count as compared. What
    ``before`` says of other statements, and of all of them in this case, is kept.
    """
    before = before or Support()
    found = answer.get("unsupported")
    entries = found if isinstance(found, list) else []
    unsupported: dict[str, str] = {}
    is_whole = isinstance(found, list)
    for entry in entries:
        parts = entry if isinstance(entry, Mapping) else {"number": entry}
        number = _read_number(parts.get("number"))
        if not 1 <= number <= len(statements):
            is_whole = False
            continue
        why = parts.get("why")
        reason = clean_line(why) if isinstance(why, str) else ""
        unsupported[statements[number - 1]] = shorten(reason, _MAX_WHY)
    kept = {
        text: why
        for text, why in before.unsupported.items()
        if not (is_whole and text in statements)
    }
    return Support(
        compared=before.compared.union(statements if is_whole else ()),
        unsupported={**kept, **unsupported},
    )


def _read_number(value: object) -> int:
    """Return the number of a statement, or 0."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    digits = str(value)
    return int(digits) if re.fullmatch(r"\d{1,4}", digits) else 0


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
        mark = _comment(own[sketch.title], TITLE_NOT_SHOWN)
        sections[first] = f"{mark}\n\n{sections[first]}"
    problems = [
        f"the evidence does not support {shorten(text, _MAX_SHOWN)!r}{f': {why}' if why else ''}"
        for text, why in own.items()
    ]
    return replace(sketch, sections=sections), problems


def _comment(reason: str, remark: str = NOT_SHOWN) -> str:
    """Return a mark with a reason, as a comment. A comment must not contain its own end."""
    plain = re.sub(r"<!--|-->|-{2,}", "-", reason).strip()
    return f"<!-- {remark}{f': {plain}' if plain else ''} -->"


def _mark(line: str, unsupported: Mapping[str, str]) -> str:
    texts = _split(line)
    if _COMMENT.fullmatch(line.strip()) or not any(text in unsupported for text in texts):
        return line
    marked = " ".join(
        f"{text} {_comment(unsupported[text])}" if text in unsupported else text for text in texts
    )
    return f"{_ITEM}{marked}" if line.startswith(_ITEM) else marked

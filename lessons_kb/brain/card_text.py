"""From what is known to the text of a card, and from a text to what it still lacks."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from lessons_kb.cards.edit import edit_header
from lessons_kb.cards.header import split_header
from lessons_kb.cards.lint import is_vague
from lessons_kb.cards.outline import normal_newlines
from lessons_kb.cards.parse import parse_card
from lessons_kb.cards.read_header import read_header
from lessons_kb.cards.sections import CAUSE, read_checklist, read_sections, text_of
from lessons_kb.cards.template import new_card
from lessons_kb.errors import EditRefused, InputError
from lessons_kb.importers.imported_lesson import SECTIONS
from lessons_kb.learn.draft_text import Sketch, fill, format_patterns
from lessons_kb.learn.quality_gate import find_missing
from lessons_kb.model import Document, Pattern
from lessons_kb.store.templates import read_template
from lessons_kb.text.redact import redact

_KEY_ORDER = ("type", "title", "applies-to", "project", "stage", "paths", "symptoms", "severity")


def compose(
    sketch: Sketch,
    *,
    kind: str,
    created: str,
    topics: tuple[str, ...] = (),
    project: str | None = None,
    severity: str | None = None,
    header: Mapping[str, Any] | None = None,
    detect: Sequence[Pattern] = (),
) -> str:
    """Return the text of a card: the template of its kind, filled with a sketch."""
    text = new_card(
        read_template(f"{kind}.md"),
        kind=kind,
        title=sketch.title,
        topics=topics,
        project=project,
        stage=sketch.stage,
        severity=severity,
        paths=sketch.paths,
        created=created,
    )
    changes = {name: value for name, value in (header or {}).items() if value is not None}
    if sketch.example:
        changes["examples"] = (sketch.example,)
    return _with_patterns(fill(edit_header(text, changes), sketch.sections), detect)


def compose_whole(
    sketch: Sketch, *, header: Mapping[str, Any], detect: Sequence[Pattern] = ()
) -> str:
    """Return the text of a card that says what it is given and nothing else: no guidance."""
    parts = [
        f"## {name}\n\n{sketch.sections[name]}\n" for name in SECTIONS if name in sketch.sections
    ]
    given = {"title": sketch.title, "paths": sketch.paths, "stage": sketch.stage, **header}
    kept = {name: value for name, value in given.items() if value not in (None, "", ())}
    order = {name: kept[name] for name in _KEY_ORDER if name in kept}
    return _with_patterns(edit_header("\n" + "\n".join(parts), {**order, **kept}), detect)


def _with_patterns(text: str, patterns: Sequence[Pattern]) -> str:
    """Return a card's text with ``detect`` at the end of its header, which has none yet."""
    if "\0" in text:
        raise InputError("the text contains a NUL character; leave it out")
    if not patterns:
        return text
    end = text.rindex("---", 0, len(text) - len(split_header(text).body))
    made = f"{text[:end]}{format_patterns(patterns)}\n{text[end:]}"
    card = parse_card(made, path="lessons/new.md", folders={}).card
    if card is None or card.detect != tuple(patterns):
        raise EditRefused("the pattern cannot be written; add it to the card by hand")
    return made


def redact_card(text: str) -> str:
    """Return a card's text without secrets, its header as readable as before.

    What stands for a secret may close a list or a quote too early, and a key that is not closed
    hides all that follows: then each value is written anew. Raises EditRefused where not even
    that leaves a header.
    """
    split = split_header(text)
    head, body = text[: len(text) - len(split.body)], redact(split.body)
    hidden = redact(head)
    if hidden != head and _shape(hidden) != _shape(head):
        values = {
            entry.key: redact(entry.texts[0] or "")
            if entry.shape == "scalar"
            else tuple(redact(item) for item in entry.texts if item)
            for entry in read_header(split).entries
            if any(item and redact(item) != item for item in entry.texts)
        }
        head = edit_header(head, values)
        hidden = redact(head)
        if _shape(hidden) != _shape(head):
            raise EditRefused("the header contains a secret; remove it by hand")
    return hidden + body


def _shape(text: str) -> tuple[str, list[tuple[str, str, int]]]:
    """Return what a header is made of, whatever its values."""
    reading = read_header(split_header(text))
    return reading.reader, [(one.key, one.shape, len(one.texts)) for one in reading.entries]


def find_lacks(document: Document) -> tuple[str, ...]:
    """Return what a draft lacks before it may become a card, one line each."""
    card = document.card
    if card is None:
        return tuple(f"{finding.message}: {finding.fix}" for finding in document.findings[:1])
    sections = read_sections(normal_newlines(document.body))
    checklist = read_checklist(sections)
    items = checklist.items if checklist.origin == "prevention" else ()
    return find_missing(
        title=card.title,
        cause=_without_comments(text_of(sections, (CAUSE,))),
        items=[item.text for item in items],
        symptoms=card.symptoms,
        is_vague=is_vague,
    )


def _without_comments(text: str) -> str:

    return re.sub(r"<!--.*?(?:-->|\Z)", " ", text, flags=re.DOTALL).strip()

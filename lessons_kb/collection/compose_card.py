"""Compose the text of a new card, and remove secrets from a card's text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypedDict

from lessons_kb.cards.edit import Change, edit_header
from lessons_kb.cards.edit_sources import add_sources
from lessons_kb.cards.keys import split_header
from lessons_kb.cards.links import slug
from lessons_kb.cards.parse import parse_card
from lessons_kb.cards.read_header import read_header
from lessons_kb.cards.sections import one_line
from lessons_kb.cards.sketch import Sketch, fill, format_patterns, remove_guidance
from lessons_kb.collection.card_edits import check_choice
from lessons_kb.errors import EditRefused, InputError
from lessons_kb.importers.incoming import SECTIONS
from lessons_kb.model import GATES, KINDS, NO_GATE, SEVERITIES, Pattern
from lessons_kb.store.card_files import read_template
from lessons_kb.text.redact import redact
from lessons_kb.text.sanitize import clean_line


class NewCard(TypedDict, total=False):
    """The optional parts of a new card. See ``Sketch``."""

    kind: str
    topics: Sequence[str]
    project: str | None
    stage: str | None
    severity: str | None
    paths: Sequence[str]
    symptoms: Sequence[str]
    gate: str | None
    not_for: Sequence[str]
    sections: Mapping[str, str]
    """Maps headings to Markdown."""


def compose(
    sketch: Sketch,
    *,
    created: str,
    source: str | None = None,
    whole: bool = False,
    guidance: bool = True,
) -> str:
    """Return the text of a card: the template of its kind, filled with a sketch.

    A ``whole`` card has only the parts of the sketch. Without ``guidance``, it has all parts of the
    template, and the parts that the sketch does not fill are empty. Raises InputError for an
    invalid part and EditRefused for a pattern that a header cannot express.
    """
    slug(sketch.title)  # raises InputError for an invisible title
    check_choice("kind", sketch.kind, KINDS)
    check_choice("severity", sketch.severity or SEVERITIES[1], SEVERITIES)
    check_choice("gate", sketch.gate or NO_GATE, GATES)
    header: dict[str, Change] = {
        "type": sketch.kind,
        "title": one_line(sketch.title),
        "applies-to": tuple(map(clean_line, sketch.topics)),
        "project": clean_line(sketch.project or ""),
        "stage": clean_line(sketch.stage or ""),
        "paths": tuple(map(clean_line, sketch.paths)),
        "symptoms": tuple(map(clean_line, sketch.symptoms)),
        "not-for": tuple(map(clean_line, sketch.not_for)),
        "severity": sketch.severity or SEVERITIES[1],
        "gate": sketch.gate,
        "source": source,
        "examples": (sketch.example,) if sketch.example else (),
        "created": created,
    }
    values = {name: value for name, value in header.items() if value}
    if whole:
        headings = [name for name in SECTIONS if name in sketch.sections]
        body = "\n".join(f"## {name}\n\n{sketch.sections[name]}\n" for name in headings)
        text = edit_header(f"\n{body}", values)
    else:
        template = read_template(f"{sketch.kind}.md")
        text = edit_header(template if guidance else remove_guidance(template), values)
        text = fill(text, sketch.sections)
    if "\0" in text:
        raise InputError("the text contains a NUL character; leave it out")
    text = add_sources(text, sketch.sources)
    return insert_patterns(text, sketch.detect) if sketch.detect else text


def insert_patterns(text: str, patterns: Sequence[Pattern]) -> str:
    """Return the text of a card that has no patterns, with patterns at the end of its header."""
    header = split_header(text).header
    if header is None:
        raise EditRefused("the card has no header; add the pattern by hand")
    lines = format_patterns(patterns).split("\n")
    written = "".join(line + header.eol for line in lines)
    complete = f"{text[: header.end]}{written}{text[header.end :]}"
    card = parse_card(complete, path="lessons/new.md", folders={"lessons": "lesson"}).card
    if card is None or card.detect != tuple(patterns):
        raise EditRefused("the pattern cannot be written; add it to the card by hand")
    return complete


def redact_card(text: str) -> str:
    """Return the text of a card without secrets, with a header that is as readable as before.

    The replacement of a secret may end a list or a quote too early, and an unclosed value hides the
    keys after it. In this case, each value with a secret is written anew. Raises EditRefused if the
    header is still not readable.
    """
    split = split_header(text)
    header = text[: len(text) - len(split.body)]
    body = redact(split.body)
    redacted = redact(header)
    if redacted == header or _read_structure(redacted) == _read_structure(header):
        return redacted + body
    values: dict[str, Change] = {}
    for entry in read_header(split).entries:
        if any(item and redact(item) != item for item in entry.texts):
            if entry.shape == "scalar":
                values[entry.key] = redact(entry.texts[0] or "")
            else:
                values[entry.key] = tuple(redact(item) for item in entry.texts if item)
    header = edit_header(header, values)
    redacted = redact(header)
    if _read_structure(redacted) != _read_structure(header):
        raise EditRefused("the header contains a secret; remove it by hand")
    return redacted + body


def _read_structure(text: str) -> tuple[str, list[tuple[str, str, int]]]:
    """Return the keys of a header with the shapes of their values, but not the values."""
    reading = read_header(split_header(text))
    return reading.reader, [(entry.key, entry.shape, len(entry.texts)) for entry in reading.entries]

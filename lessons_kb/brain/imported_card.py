"""The text of an imported card, and what an import adds to a card that is there."""

from __future__ import annotations

import re
from collections.abc import Mapping

from lessons_kb.brain.composing import redact_card
from lessons_kb.cards import edit_header
from lessons_kb.cards.header import canonical, split_header
from lessons_kb.cards.reading import read_header
from lessons_kb.cards.slugs import is_reserved
from lessons_kb.errors import EditRefused
from lessons_kb.importers.incoming import Incoming, origin_key
from lessons_kb.model import Document
from lessons_kb.text.redact import redact

Change = str | int | tuple[str, ...] | None


ORIGIN_KEY = "imported-from"
"""Key of a header that says where a card, or a count on it, came from."""
MAX_EXAMPLES = 5
MAX_OCCURRENCES = 1_000_000

_SAFE_PART = re.compile(
    r"[^._\-\s/\\:*?\"<>|\x00-\x1f](?:[^/\\:*?\"<>|\x00-\x1f]{0,119}[^. /\\:*?\"<>|\x00-\x1f])?"
)
_NO_FOLDER = ("node_modules",)


def card_text(lesson: Incoming, *, created: str) -> str:
    """Return the file of a card: as it was exported, else made from what is known of it.

    Secrets are taken out. ``created`` is the date for a lesson that has none.
    """
    if lesson.text:
        return redact_card(lesson.text)
    parts = [f"## {heading}\n\n{text}\n" for heading, text in lesson.sections]
    header: dict[str, Change] = {
        "type": lesson.kind,
        "title": lesson.title,
        "applies-to": lesson.topics,
        "project": lesson.project,
        "stage": lesson.stages[0] if len(lesson.stages) == 1 else lesson.stages,
        "paths": lesson.paths,
        "symptoms": lesson.symptoms,
        "severity": lesson.severity or "medium",
        "source": lesson.source or "curated",
        "status": lesson.status or "active",
        "occurrences": lesson.occurrences,
        "last-seen": lesson.last_seen,
        "created": lesson.created or created,
        "examples": lesson.examples[-MAX_EXAMPLES:],
        "gate": lesson.gate,
        "evidence": lesson.evidence,
        "supported-by": lesson.supported_by,
        "reopen-when": lesson.reopen_when,
        ORIGIN_KEY: lesson.origin or None,
    }
    given = {
        name: tuple(map(redact, value))
        if isinstance(value, tuple)
        else redact(value)
        if isinstance(value, str) and name != ORIGIN_KEY
        else value
        for name, value in header.items()
        if value not in (None, ())
    }
    return edit_header("\n" + redact("\n".join(parts)), given)


def add_origin(text: str, origin: str) -> str:
    """Return a card's text that says it came from there too."""
    return edit_header(text, {ORIGIN_KEY: (*read_origins(text), origin)})


def count_in(document: Document, text: str, lesson: Incoming, date: str) -> Mapping[str, Change]:
    """Return the changes by which a card takes in what an import has seen.

    A lesson that came from there before brings its new total, any other one what it has seen.
    """
    card = document.card
    if card is None:
        raise EditRefused(f"{document.findings[0].message}; `lessons lint` says how to mend it")
    origins = read_origins(text)
    known = origin_key(lesson.origin) in map(origin_key, origins)
    total = max(card.occurrences, lesson.occurrences)
    if not known and not (lesson.id == card.id and lesson.text):
        total = card.occurrences + lesson.occurrences
        origins = (*origins, lesson.origin)
    seen = max(filter(None, (card.last_seen, lesson.last_seen or date)))
    changes: dict[str, Change] = {
        "occurrences": min(total, MAX_OCCURRENCES),
        "last-seen": seen,
    }
    fresh = [example for example in lesson.examples if example not in card.examples]
    if fresh:
        examples = (*card.examples, *fresh)[-MAX_EXAMPLES:]
        changes["examples"] = tuple(redact(example) for example in examples)
    if origins != read_origins(text):
        changes[ORIGIN_KEY] = origins
    return changes


def read_origins(text: str) -> tuple[str, ...]:
    """Return what the header of a card says about where it came from."""
    for entry in read_header(split_header(text)).entries:
        if canonical(entry.key) == ORIGIN_KEY:
            return tuple(item for item in entry.texts if item)
    return ()


def is_safe_id(card_id: str) -> bool:
    """Return whether an id from outside may name a file here that a scan would find."""
    parts = card_id.split("/")
    return (
        card_id.endswith((".md", ".markdown"))
        and all(_SAFE_PART.fullmatch(part) and part not in _NO_FOLDER for part in parts)
        and not any(is_reserved(part) for part in parts)
        and card_id.isprintable()
    )

"""Read lessons from JSON lines. Our own export is restored unchanged, and other formats are read by
the names of their keys.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from lessons_kb.cards.keys import KEYS, MAX_EXAMPLES, MAX_OCCURRENCES
from lessons_kb.data import read_mapping
from lessons_kb.errors import InputError
from lessons_kb.importers.incoming import (
    PREVENTION,
    SECTIONS,
    Imported,
    Incoming,
    checklist,
    fit_sections,
    make_origin,
    shorten,
    unmarked,
)
from lessons_kb.text.comma_list import split_commas
from lessons_kb.text.sanitize import clean_line
from lessons_kb.text.times import read_date

FORMAT = "lessons-kb/1"
"""The format of an exported line, which ``read_lines`` restores unchanged."""

NAMES = read_mapping("import_json_keys.toml")["keys"]
"""Mapping from a key of a line, in lower case with underscores, to a field of ``Incoming`` or a
section.
"""

_LISTS = ("topics", "stages", "paths", "symptoms", "not_for", "examples", "supported_by")
_CHOICES = {key.field: key.choices for key in KEYS.values() if key.choices}
_TAGS = ("topics", "stages", "paths")
"""The lists that may also be one text with commas between the items."""
_SYNONYMS = {"critical": "high", "qa_finding": "qa-finding", "finding": "qa-finding"}
_IGNORED = ("format", "id", "text")


def read_lines(lines: Iterable[tuple[int, str]], *, name: str) -> Imported:
    """Return the lessons in pairs (line number, line). ``name`` is the name of the file, for
    messages.

    Empty lines are skipped. Raises InputError, which names file and line, for a line that is not a
    JSON object, has no title, or has a value that cannot be used.
    """
    lessons: list[Incoming] = []
    unknown: dict[str, str] = {}
    lines = iter(lines)
    for number, line in lines:
        if not line.strip():
            continue
        where = f"{name}:{number}"
        if line.strip() == "{" and not lessons:
            rest = [more for _number, more in lines]
            card_lines = _split_document("\n".join((line, *rest)), where)
            return read_lines(enumerate(card_lines, 1), name=name)
        data = _object(line, where)
        if data.get("format") == FORMAT and isinstance(data.get("text"), str):
            lessons.append(_exported(data, where))
            continue
        for key in data:
            if _key(key) not in (*NAMES, *_IGNORED):
                unknown.setdefault(key, where)
        lessons.append(_foreign(data, where))
    notes = [f"{at}: unknown key {key[:40]!r}; ignored" for key, at in unknown.items()]
    return Imported(lessons=tuple(lessons), notes=tuple(notes))


def _split_document(text: str, where: str) -> list[str]:
    """Return a line for each card of a JSON document that `export json` wrote."""
    document = _object(text, where)
    cards = document.get("cards")
    if not isinstance(cards, list):
        cards = [document]
    lines = []
    for card in cards:
        data = _object(json.dumps(card), where)
        lines.append(json.dumps({"format": document.get("format"), **data}))
    return lines


def _object(line: str, where: str) -> Mapping[str, Any]:
    """Parse a JSON object. Raises InputError."""
    try:
        data = json.loads(line.removeprefix("\ufeff"))
    except RecursionError:
        raise InputError(f"{where}: nested too deeply; write one flat object per line") from None
    except ValueError as error:
        detail = getattr(error, "msg", "no JSON")
        raise InputError(f"{where}: not JSON ({detail}); write one object per line") from None
    if not isinstance(data, dict):
        raise InputError(f'{where}: not an object; write {{"title": "…", …}} on each line')
    return data


def _exported(data: Mapping[str, Any], where: str) -> Incoming:
    """Return the lesson in a line of our own export, with its whole text."""
    title = clean_line(str(data.get("title") or ""))
    if not title:
        raise InputError(f"{where}: no title; export the cards again or add one")
    card_id = str(data.get("id") or "")
    fields = {}
    for name in ("kind", "occurrences", "last_seen", "examples"):  # merging needs these fields
        if data.get(name) is not None:
            fields[name] = _value(name, data[name], where)
    return Incoming(
        title=title,
        where=where,
        origin=make_origin("jsonl", card_id, card_id, title),
        id=card_id,
        text=str(data["text"]),
        **fields,
    )


def _foreign(data: Mapping[str, Any], where: str) -> Incoming:
    """Return the lesson in a line of another system. Raises InputError."""
    fields: dict[str, Any] = {}
    parts: list[tuple[str, str]] = []
    for key, value in data.items():
        name = NAMES.get(_key(key))
        if name is None or value in (None, "", []):
            continue
        if name in SECTIONS:
            parts.append((name, _section(name, value, f"{where}: {key}")))
        elif name in _LISTS:
            texts = _value(name, value, f"{where}: {key}")
            fields[name] = tuple(dict.fromkeys((*fields.get(name, ()), *texts)))
        else:
            fields.setdefault(name, _value(name, value, f"{where}: {key}"))
    title = unmarked(fields.pop("title", ""))
    if not title:
        raise InputError(f'{where}: no title; add "title": "what goes wrong"')
    if "examples" in fields:
        fields["examples"] = fields["examples"][-MAX_EXAMPLES:]
    return Incoming(
        title=shorten(title, 300),
        where=where,
        origin=make_origin("jsonl", "", title),
        sections=fit_sections(parts),
        **fields,
    )


def _key(key: str) -> str:
    """Return a key as ``NAMES`` spells it."""
    return key.strip().casefold().replace("-", "_").replace(" ", "_")


def _section(name: str, value: object, where: str) -> str:
    """Return a value as the Markdown of a section. Raises InputError."""
    values = value if isinstance(value, list) else [value]
    items = [item for item in values if isinstance(item, str)]
    if len(items) < len(values):
        raise InputError(f"{where} must be text or a list of texts")
    if name == PREVENTION:
        lines = "\n".join(items).split("\n")
        return checklist(line.strip().lstrip("-*").strip() for line in lines)
    if len(items) == 1:
        return items[0]
    return "\n".join(f"- {' '.join(item.split())}" for item in items)


def _texts(name: str, value: object, where: str) -> tuple[str, ...]:
    """Return a value as a list of texts. Raises InputError."""
    if isinstance(value, str):
        value = split_commas(value) if name in _TAGS else [value]
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise InputError(f"{where}: {name} must be a list of texts")
    return tuple(filter(None, map(clean_line, value)))


def _value(name: str, value: object, where: str) -> Any:
    """Return a value for a field of ``Incoming``. Raises InputError."""
    if name in _LISTS:
        return _texts(name, value, where)
    if name == "occurrences":
        if type(value) is not int or not 1 <= value <= MAX_OCCURRENCES:
            raise InputError(f"{where}: {name} must be a whole number from 1 to 1,000,000")
        return value
    if not isinstance(value, str):
        raise InputError(f"{where}: {name} must be text")
    text = clean_line(value)
    if name in ("last_seen", "created"):
        day = read_date(text)
        if not day:
            raise InputError(f"{where}: {name} must be a date such as 2026-01-31")
        return day.isoformat()
    if name in _CHOICES:
        text = _SYNONYMS.get(text.casefold(), text.casefold())
        if text not in _CHOICES[name]:
            choices = ", ".join(_CHOICES[name])
            raise InputError(f"{where}: {name} must be one of {choices}, not {text[:40]!r}")
    return text

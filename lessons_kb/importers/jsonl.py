"""Lessons as JSON lines: our own export restored as it was, other people's read by their keys."""

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
"""Marks a line of an export, which ``read_lines`` restores as it was."""

NAMES = read_mapping("import_json_keys.toml")["keys"]
"""Key of a line, in lower case with underscores → field of Incoming, or section."""

_LISTS = ("topics", "stages", "paths", "symptoms", "not_for", "examples", "supported_by")
_CHOICES = {key.field: key.choices for key in KEYS.values() if key.choices}
_TAGS = ("topics", "stages", "paths")
"""Lists that may be written as one text with commas."""
_SYNONYMS = {"critical": "high", "qa_finding": "qa-finding", "finding": "qa-finding"}
_IGNORED = ("format", "id", "text")


def read_lines(lines: Iterable[tuple[int, str]], *, name: str) -> Imported:
    """Return the lessons of (line number, line); ``name`` is the file's, for messages.

    Empty lines are passed over. Raises InputError, naming file and line, for a line that is no
    JSON object or has no title, or whose value cannot be used.
    """
    lessons: list[Incoming] = []
    unknown: dict[str, str] = {}
    lines = iter(lines)
    for number, line in lines:
        if not line.strip():
            continue
        where = f"{name}:{number}"
        if line.strip() == "{" and not lessons:  # one document, as `export json` writes it
            whole = _object("\n".join((line, *(more for _number, more in lines))), where)
            form: dict[str, Any] = {"format": whole.get("format")}
            known = cards if isinstance(cards := whole.get("cards"), list) else [whole]
            some = [{**form, **_object(json.dumps(one), where)} for one in known]
            return read_lines(enumerate(map(json.dumps, some), 1), name=name)
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


def _object(line: str, where: str) -> Mapping[str, Any]:
    try:
        data = json.loads(line.removeprefix("\ufeff"))
    except RecursionError:
        raise InputError(f"{where}: nested too deeply; write one flat object per line") from None
    except ValueError as error:
        what = getattr(error, "msg", "no JSON")
        raise InputError(f"{where}: not JSON ({what}); write one object per line") from None
    if not isinstance(data, dict):
        raise InputError(f'{where}: not an object; write {{"title": "…", …}} on each line')
    return data


def _exported(data: Mapping[str, Any], where: str) -> Incoming:
    title = clean_line(str(data.get("title") or ""))
    if not title:
        raise InputError(f"{where}: no title; export the cards again or add one")
    card_id = str(data.get("id") or "")
    # Beside its text, what a merge looks at.
    kept = ("kind", "occurrences", "last_seen", "examples")
    given = {name: _value(name, data[name], where) for name in kept if data.get(name) is not None}
    return Incoming(
        title=title,
        where=where,
        origin=make_origin("jsonl", card_id, card_id, title),
        id=card_id,
        text=str(data["text"]),
        **given,
    )


def _foreign(data: Mapping[str, Any], where: str) -> Incoming:
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
    return key.strip().casefold().replace("-", "_").replace(" ", "_")


def _section(name: str, value: object, where: str) -> str:
    given = value if isinstance(value, list) else [value]
    items = [item for item in given if isinstance(item, str)]
    if len(items) < len(given):
        raise InputError(f"{where} must be text or a list of texts")
    if name == PREVENTION:
        pieces = [line for item in items for line in item.split("\n")]
        return checklist(piece.strip().lstrip("-*").strip() for piece in pieces)
    return "\n".join(f"- {' '.join(i.split())}" for i in items) if len(items) > 1 else items[0]


def _value(name: str, value: object, where: str) -> Any:
    if name in _LISTS:
        items = split_commas(value) if isinstance(value, str) and name in _TAGS else value
        items = [items] if isinstance(items, str) else items
        if not isinstance(items, list) or not all(isinstance(item, str) for item in items):
            raise InputError(f"{where}: {name} must be a list of texts")
        return tuple(line for item in items if (line := clean_line(item)))
    if name == "occurrences":
        if type(value) is not int or not 1 <= value <= MAX_OCCURRENCES:
            raise InputError(f"{where}: {name} must be a whole number from 1 to 1,000,000")
        return value
    if not isinstance(value, str):
        raise InputError(f"{where}: {name} must be text")
    text = clean_line(value)
    if name in ("last_seen", "created"):
        if day := read_date(text):
            return day.isoformat()
        raise InputError(f"{where}: {name} must be a date such as 2026-01-31")
    if name in _CHOICES:
        text = _SYNONYMS.get(text.casefold(), text.casefold())
        if text not in _CHOICES[name]:
            choices = ", ".join(_CHOICES[name])
            raise InputError(f"{where}: {name} must be one of {choices}, not {text[:40]!r}")
    return text

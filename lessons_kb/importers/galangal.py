"""Read lessons from the rows of galangal's ``mistakes.db``."""

from __future__ import annotations

import datetime as dt
import json
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from lessons_kb.cards.keys import MAX_EXAMPLES, MAX_OCCURRENCES
from lessons_kb.errors import InputError
from lessons_kb.importers.incoming import (
    FIX,
    PREVENTION,
    SITUATION,
    Imported,
    Incoming,
    PassedOver,
    checklist,
    fit_sections,
    make_origin,
    shorten,
    unmarked,
)
from lessons_kb.text.sanitize import clean_line
from lessons_kb.text.sentences import split_sentences
from lessons_kb.text.times import read_time

TABLE = "mistakes"
COLUMNS = (
    *("id", "description", "feedback", "stage", "file_patterns", "occurrence_count"),
    *("last_task", "last_timestamp", "example_tasks"),
)
"""Columns of the table that are read."""
IGNORED = ("embedding",)

_MAX_ITEMS = 5
_MAX_RULE = 300
"""The maximum length, in characters, of feedback whose sentences become a checklist. Longer
feedback is a report.
"""
_BULLET = re.compile(r"(?m)^[ \t]*(?:[-*+]|\d{1,2}[.)])[ \t]+(?:\[[ xX]\][ \t]+)?(\S.*)$")


def read_mistakes(
    rows: Iterable[Mapping[str, Any]], *, name: str, columns: Iterable[str] = COLUMNS
) -> Imported:
    """Return the lessons in rows of the table.

    ``name`` is the name of the file for messages, ``columns`` are all columns of its table. Raises
    InputError if the column ``description`` is missing.
    """
    present = list(columns)
    if "description" not in present:
        raise InputError(
            f"{name}: the table {TABLE} has no column description "
            f"(columns: {', '.join(present) or 'none'}); check that it is galangal's mistakes.db"
        )
    unknown = [column for column in present if column not in (*COLUMNS, *IGNORED)]
    notes = [f"{name}: unknown column {column}; ignored" for column in unknown]
    lessons: list[Incoming] = []
    passed: list[PassedOver] = []
    for number, row in enumerate(rows, 1):
        where = f"{name} row {row.get('id') or number}"
        texts = {column: str(row.get(column) or "") for column in COLUMNS}
        if not clean_line(texts["description"]):
            passed.append(PassedOver(title="", where=where, reason="no description"))
            continue
        values = {}
        for column, reader in _READERS.items():
            try:
                values[column] = reader.read(row.get(column))
            except (ValueError, TypeError, OverflowError, RecursionError):
                values[column] = reader.default
                notes.append(f"{where}: {column} {reader.problem}")
        lessons.append(_lesson(texts, values, where))
    return Imported(lessons=tuple(lessons), passed_over=tuple(passed), notes=tuple(notes))


def _lesson(texts: Mapping[str, str], values: Mapping[str, Any], where: str) -> Incoming:
    """Return the lesson of a row. ``texts`` contains all columns, and ``values`` contains the
    columns of ``_READERS``.
    """
    description, stage = clean_line(texts["description"]), clean_line(texts["stage"])
    feedback = texts["feedback"].strip()
    tasks = [*values["example_tasks"]]
    last_task = clean_line(texts["last_task"])
    if last_task and last_task not in tasks:
        tasks.append(last_task)
    in_stage = f" in stage {stage}" if stage else ""
    in_task = f", last in the task “{shorten(tasks[-1])}”" if tasks else ""
    flat = unmarked(feedback)
    rules = _find_rules(feedback)
    is_rule = len(rules) == 1 and "\n" not in feedback
    repeated = is_rule or flat.rstrip(".") == description.rstrip(".")
    parts = [
        (SITUATION, f"Seen{in_stage}{in_task}." if in_stage or in_task else ""),
        (FIX, "" if repeated else feedback),
        (PREVENTION, checklist(rules)),
    ]
    globs = [_to_glob(pattern) for pattern in values["file_patterns"]]
    return Incoming(
        title=shorten(description),
        where=where,
        origin=make_origin("galangal", texts["id"], description),
        sections=fit_sections(parts),
        stages=(stage,) if stage else (),
        paths=tuple(dict.fromkeys(globs)),
        occurrences=values["occurrence_count"],
        last_seen=values["last_timestamp"],
        examples=tuple(tasks[-MAX_EXAMPLES:]),
    )


def _find_rules(feedback: str) -> list[str]:
    """Return the first items of a list in feedback, or the sentences of short feedback."""
    rules: list[str] = _BULLET.findall(feedback)
    flat = unmarked(feedback)
    if not rules and len(flat) <= _MAX_RULE:
        rules = split_sentences(flat)
    return rules[:_MAX_ITEMS]


def _to_glob(pattern: str) -> str:
    """Return a pattern of fnmatch as a glob. A leading ``!`` or ``#`` is a plain character in the
    pattern.
    """
    glob = pattern.replace("\\", "/").removeprefix("./")
    return f"\\{glob}" if glob[:1] in ("!", "#") else glob


def _read_texts(value: Any) -> list[str]:
    """Return the texts of a JSON list without duplicates."""
    data = json.loads(value or "[]")
    if not isinstance(data, list):
        raise TypeError
    lines = (clean_line(item) for item in data if isinstance(item, str))
    return list(dict.fromkeys(filter(None, lines)))


def _read_count(value: Any) -> int:
    return min(max(int(1 if value is None else value), 1), MAX_OCCURRENCES)


def _read_date(value: Any) -> str | None:
    """Return the UTC date of a time in seconds since the epoch, or None if there is no value."""
    if not value:
        return None
    seconds = read_time(float(value))
    if not seconds:
        raise ValueError
    return dt.datetime.fromtimestamp(seconds, dt.UTC).date().isoformat()


class _Reader(NamedTuple):
    """The way to read the value of a column."""

    read: Callable[[Any], Any]
    default: Any
    """The value that replaces an unreadable value."""
    problem: str
    """The end of the message about a value that cannot be read."""


_READERS: Mapping[str, _Reader] = {
    "example_tasks": _Reader(_read_texts, [], "is not a JSON list; ignored"),
    "file_patterns": _Reader(_read_texts, [], "is not a JSON list; ignored"),
    "occurrence_count": _Reader(_read_count, 1, "is not a number; 1 is used"),
    "last_timestamp": _Reader(_read_date, None, "is not a time; ignored"),
}

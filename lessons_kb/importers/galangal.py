"""Rows of galangal's ``mistakes.db`` as lessons."""

from __future__ import annotations

import datetime as dt
import json
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

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
"""What is read of it."""
IGNORED = ("embedding",)

_MAX_ITEMS = 5
_MAX_RULE = 300
"""Longer feedback is a report, not a rule: its sentences make no checklist."""
_BULLET = re.compile(r"(?m)^[ \t]*(?:[-*+]|\d{1,2}[.)])[ \t]+(?:\[[ xX]\][ \t]+)?(\S.*)$")


def read_mistakes(
    rows: Iterable[Mapping[str, Any]], *, name: str, columns: Iterable[str] = COLUMNS
) -> Imported:
    """Return the lessons that rows of the table tell.

    ``name`` is what messages call the file, ``columns`` are all that its table has. Raises
    InputError where those that are needed are not among them.
    """
    present = list(columns)
    if "description" not in present:
        raise InputError(
            f"{name}: its table {TABLE} has no column description "
            f"but {', '.join(present) or 'none'}; is it galangal's mistakes.db?"
        )
    unknown = [column for column in present if column not in (*COLUMNS, *IGNORED)]
    notes = [f"{name}: unknown column {column}; ignored" for column in unknown]
    lessons: list[Incoming] = []
    passed: list[PassedOver] = []
    for number, row in enumerate(rows, 1):
        where = f"{name} row {row.get('id') or number}"
        told = {column: str(row.get(column) or "") for column in COLUMNS}
        if not clean_line(told["description"]):
            passed.append(PassedOver(title="", where=where, reason="no description"))
            continue
        values = {}
        for column, (read, usual, complaint) in _READERS.items():
            try:
                values[column] = read(row.get(column))
            except (ValueError, TypeError, OverflowError, RecursionError):
                values[column] = usual
                notes.append(f"{where}: {column} {complaint}")
        lessons.append(_lesson(told, values, where))
    return Imported(lessons=tuple(lessons), passed_over=tuple(passed), notes=tuple(notes))


def _lesson(told: Mapping[str, str], values: Mapping[str, Any], where: str) -> Incoming:
    """Return the lesson of a row: its columns as texts, and those that are more than that."""
    description, stage = clean_line(told["description"]), clean_line(told["stage"])
    feedback, tasks = told["feedback"].strip(), [*values["example_tasks"]]
    last_task = clean_line(told["last_task"])
    tasks += [last_task] if last_task and last_task not in tasks else []
    at = f" in stage {stage}" if stage else ""
    last = f", last in the task “{shorten(tasks[-1])}”" if tasks else ""
    flat = unmarked(feedback)
    rules = _BULLET.findall(feedback) or (split_sentences(flat) if len(flat) <= _MAX_RULE else [])
    rules = rules[:_MAX_ITEMS]
    is_rule = len(rules) == 1 and "\n" not in feedback
    repeated = is_rule or flat.rstrip(".") == description.rstrip(".")
    parts = [
        (SITUATION, f"Seen{at}{last}." if at or last else ""),
        (FIX, "" if repeated else feedback),
        (PREVENTION, checklist(rules)),
    ]
    globs = (one.replace("\\", "/").removeprefix("./") for one in values["file_patterns"])
    # What negates or comments in a glob is a letter in a pattern of fnmatch.
    globs = (f"\\{one}" if one[:1] in ("!", "#") else one for one in globs)
    return Incoming(
        title=shorten(description),
        where=where,
        origin=make_origin("galangal", told["id"], description),
        sections=fit_sections(parts),
        stages=(stage,) if stage else (),
        paths=tuple(dict.fromkeys(globs)),
        occurrences=values["occurrence_count"],
        last_seen=values["last_timestamp"],
        examples=tuple(tasks[-MAX_EXAMPLES:]),
    )


def _read_texts(value: Any) -> list[str]:
    data = json.loads(value or "[]")
    if not isinstance(data, list):
        raise TypeError
    lines = (clean_line(item) for item in data if isinstance(item, str))
    return list(dict.fromkeys(filter(None, lines)))


def _read_count(value: Any) -> int:
    return min(max(int(1 if value is None else value), 1), MAX_OCCURRENCES)


def _read_date(value: Any) -> str | None:
    """Return the UTC date of seconds since the epoch."""
    if not value:
        return None
    if not (seconds := read_time(float(value))):
        raise ValueError
    return dt.datetime.fromtimestamp(seconds, dt.UTC).date().isoformat()


_READERS: Mapping[str, tuple[Callable[[Any], Any], Any, str]] = {
    "example_tasks": (_read_texts, [], "is not a JSON list; ignored"),
    "file_patterns": (_read_texts, [], "is not a JSON list; ignored"),
    "occurrence_count": (_read_count, 1, "is not a number; 1 is used"),
    "last_timestamp": (_read_date, None, "is not a time; ignored"),
}
"""Column → how its value is read, what takes the place of one that cannot be, and what is said."""

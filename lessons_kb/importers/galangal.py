"""Rows of galangal's ``mistakes.db`` as lessons."""

from __future__ import annotations

import datetime as dt
import json
import re
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Any

from lessons_kb.cards.keys import MAX_EXAMPLES
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
NEEDED = ("description",)

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
    if missing := [column for column in NEEDED if column not in present]:
        raise InputError(
            f"{name}: its table {TABLE} has no column {', '.join(missing)} "
            f"but {', '.join(present) or 'none'}; is it galangal's mistakes.db?"
        )
    unknown = [column for column in present if column not in (*COLUMNS, *IGNORED)]
    notes = [f"{name}: unknown column {column}; ignored" for column in unknown]
    lessons: list[Incoming] = []
    passed: list[PassedOver] = []
    for number, row in enumerate(rows, 1):
        where = f"{name} row {row.get('id') or number}"
        if description := clean_line(_text(row.get("description"))):
            strange: list[str] = []
            lessons.append(_lesson(row, description, where, strange))
            notes += [f"{where}: {what}" for what in strange]
        else:
            passed.append(PassedOver(title="", where=where, reason="no description"))
    return Imported(lessons=tuple(lessons), passed_over=tuple(passed), notes=tuple(notes))


def _lesson(row: Mapping[str, Any], description: str, where: str, strange: list[str]) -> Incoming:
    """Return the lesson of a row; what cannot be read of it is added to ``strange``."""
    feedback, stage = _text(row.get("feedback")).strip(), clean_line(_text(row.get("stage")))
    tasks = _texts(row, "example_tasks", strange)
    last_task = clean_line(_text(row.get("last_task")))
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
    patterns = _texts(row, "file_patterns", strange)
    globs = (one.replace("\\", "/").removeprefix("./") for one in patterns)
    # What negates or comments in a glob is a letter in a pattern of fnmatch.
    globs = (f"\\{one}" if one[:1] in ("!", "#") else one for one in globs)
    return Incoming(
        title=shorten(description),
        where=where,
        origin=make_origin("galangal", _text(row.get("id")), description),
        sections=fit_sections(parts),
        stages=(stage,) if stage else (),
        paths=tuple(dict.fromkeys(globs)),
        occurrences=_count(row.get("occurrence_count"), strange),
        last_seen=_date(row.get("last_timestamp"), strange),
        examples=tuple(tasks[-MAX_EXAMPLES:]),
    )


def _texts(row: Mapping[str, Any], column: str, strange: list[str]) -> list[str]:
    value = row.get(column)
    if value in (None, ""):
        return []
    data = None
    with suppress(ValueError, RecursionError):
        data = json.loads(_text(value))
    if not isinstance(data, list):
        strange.append(f"{column} is not a JSON list; ignored")
        return []
    lines = (clean_line(item) for item in data if isinstance(item, str))
    return list(dict.fromkeys(filter(None, lines)))


def _count(value: object, strange: list[str]) -> int:
    try:
        return min(max(int(_text(1 if value is None else value)), 1), 1_000_000)
    except ValueError:
        strange.append("occurrence_count is not a number; 1 is used")
        return 1


def _date(value: object, strange: list[str]) -> str | None:
    """Return the UTC date of seconds since the epoch, or of an ISO date or time."""
    if value in (None, "", 0):
        return None
    text = _text(value).strip()
    try:
        seconds = read_time(float(text))
    except ValueError:
        seconds = read_time(text)
    if seconds <= 0:
        strange.append("last_timestamp is not a time; ignored")
        return None
    return dt.datetime.fromtimestamp(seconds, dt.UTC).date().isoformat()


def _text(value: object) -> str:
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    return "" if value is None else str(value)

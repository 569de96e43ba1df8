"""Rows of galangal's ``mistakes.db`` as lessons."""

from __future__ import annotations

import datetime as dt
import json
import re
from collections.abc import Iterable, Mapping
from typing import Any

from lessons_kb.errors import InputError
from lessons_kb.importers.markdown_blocks import (
    FIX,
    PREVENTION,
    SECTIONS,
    SITUATION,
    Incoming,
    PassedOver,
    Reading,
    checklist,
    fit_sections,
    make_origin,
    shorten,
    unmarked,
)
from lessons_kb.text.sanitize import clean_line
from lessons_kb.text.sentences import split_sentences

TABLE = "mistakes"
COLUMNS = (
    *("id", "description", "feedback", "stage", "file_patterns", "occurrence_count"),
    *("last_task", "last_timestamp", "example_tasks"),
)
"""What is read of it."""
IGNORED = ("embedding",)
NEEDED = ("description",)

_MAX_ITEMS = 5
_MAX_EXAMPLES = 5
_MAX_RULE = 300
"""Longer feedback is a report, not a rule: its sentences make no checklist."""
_BULLET = re.compile(r"(?m)^[ \t]*(?:[-*+]|\d{1,2}[.)])[ \t]+(?:\[[ xX]\][ \t]+)?(\S.*)$")
_LARGEST_TIME = 253_402_300_799


def read_mistakes(
    rows: Iterable[Mapping[str, Any]], *, name: str, columns: Iterable[str] = COLUMNS
) -> Reading:
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
        description = clean_line(_text(row.get("description")))
        if not description:
            passed.append(PassedOver(title="", where=where, reason="no description"))
            continue
        lesson, strange = _lesson(row, description, where)
        lessons.append(lesson)
        notes += [f"{where}: {what}" for what in strange]
    return Reading(lessons=tuple(lessons), passed_over=tuple(passed), notes=tuple(notes))


def _lesson(row: Mapping[str, Any], description: str, where: str) -> tuple[Incoming, list[str]]:
    strange: list[str] = []
    feedback = _text(row.get("feedback")).strip()
    patterns = _texts(row, "file_patterns", strange)
    tasks = _texts(row, "example_tasks", strange)
    last_task = clean_line(_text(row.get("last_task")))
    if last_task and last_task not in tasks:
        tasks.append(last_task)
    stage = clean_line(_text(row.get("stage")))
    rules = _rules(feedback)
    same = unmarked(feedback).rstrip(".") == description.rstrip(".")
    parts = [
        (SITUATION, _situation(stage, tasks)),
        (FIX, "" if same else feedback),
        (PREVENTION, checklist(rules)),
    ]
    return (
        Incoming(
            title=_title(description, feedback),
            where=where,
            origin=make_origin("galangal", _text(row.get("id")), description),
            sections=tuple(_unlike(fit_sections(parts, SECTIONS), rules)),
            stages=(stage,) if stage else (),
            paths=tuple(dict.fromkeys(_glob(pattern) for pattern in patterns)),
            occurrences=_count(row.get("occurrence_count"), strange),
            last_seen=_date(row.get("last_timestamp"), strange),
            examples=tuple(tasks[-_MAX_EXAMPLES:]),
        ),
        strange,
    )


def _title(description: str, feedback: str) -> str:
    """Return the description; one that was cut off is told anew from the feedback it began."""
    cut = description.removesuffix("...")
    if cut == description:
        return shorten(description)
    flat = unmarked(feedback)
    whole = next(iter(split_sentences(flat)), "")
    if flat.startswith(cut.rstrip()) and len(whole) >= len(cut.rstrip()):
        return shorten(whole.rstrip(".")) or description
    return cut[: cut.rfind(" ")].rstrip(" ,;:") + "…" if " " in cut else description


def _rules(feedback: str) -> list[str]:
    if bullets := _BULLET.findall(feedback):
        return list(bullets[:_MAX_ITEMS])
    flat = unmarked(feedback)
    return split_sentences(flat)[:_MAX_ITEMS] if flat and len(flat) <= _MAX_RULE else []


def _unlike(sections: list[tuple[str, str]], rules: list[str]) -> list[tuple[str, str]]:
    """Leave out a Fix of one sentence that the checklist repeats."""
    single = len(rules) == 1
    return [(h, text) for h, text in sections if not (single and h == FIX and "\n" not in text)]


def _situation(stage: str, tasks: list[str]) -> str:
    at = f" in stage {stage}" if stage else ""
    last = f", last in the task “{shorten(tasks[-1])}”" if tasks else ""
    return f"Seen{at}{last}." if at or last else ""


def _glob(pattern: str) -> str:
    """Return a pattern of fnmatch as a glob: what negates or comments there is a letter here."""
    pattern = clean_line(pattern).replace("\\", "/").removeprefix("./")
    return f"\\{pattern}" if pattern[:1] in ("!", "#") else pattern


def _texts(row: Mapping[str, Any], column: str, strange: list[str]) -> list[str]:
    value = row.get(column)
    if value in (None, ""):
        return []
    try:
        data = json.loads(_text(value))
    except (ValueError, RecursionError):
        data = None
    if not isinstance(data, list):
        strange.append(f"{column} is not a JSON list; ignored")
        return []
    lines = (clean_line(item) for item in data if isinstance(item, str))
    return list(dict.fromkeys(line for line in lines if line))


def _count(value: object, strange: list[str]) -> int:
    if value is None:
        return 1
    try:
        count = int(_text(value))
    except ValueError:
        strange.append("occurrence_count is not a number; 1 is used")
        return 1
    return min(max(count, 1), 1_000_000)


def _date(value: object, strange: list[str]) -> str | None:
    """Return the UTC date of seconds since the epoch, or of an ISO date or time."""
    if value in (None, "", 0):
        return None
    text = _text(value).strip()
    try:
        seconds = float(text)
    except ValueError:
        try:
            moment = dt.datetime.fromisoformat(text)
            seconds = (moment if moment.tzinfo else moment.replace(tzinfo=dt.UTC)).timestamp()
        except (ValueError, OverflowError):
            seconds = 0.0
    if not 0 < seconds <= _LARGEST_TIME:
        strange.append("last_timestamp is not a time; ignored")
        return None
    return dt.datetime.fromtimestamp(seconds, dt.UTC).date().isoformat()


def _text(value: object) -> str:
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    return "" if value is None else str(value)

"""The events of a journal: one row each, secrets taken out before anything is written."""

from __future__ import annotations

import json
import time

from lessons_kb.model import Event
from lessons_kb.text.redact import excerpt, redact

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection
    from typing import Any

    from lessons_kb.storage.database import Database

MAX_TEXT_CHARS = 8_000
MAX_OUTPUT_CHARS = 8_000
MAX_TARGETS = 100
MAX_TARGET_CHARS = 500
MAX_RECORD_CHARS = 16_000
_MAX_NAME_CHARS = 300

_COLUMNS = (
    *("at", "session", "id", "kind", "agent", "scope", "stage", "tool", "targets"),
    *("arguments", "outcome", "text", "output", "record"),
)
_SAME = ("session", "kind", "agent", "scope", "tool", "targets", "arguments", "outcome", "text")
"""Equal in two reports of one observation that has no id."""


class Events:
    """The table of events."""

    def __init__(self, db: Database) -> None:
        self._db = db

    def append(self, event: Event, *, within: float = 0.0) -> bool:
        """Write an event; False when it is there already.

        The same (session, id, kind) is there once. An event without an id is taken for one that
        was seen up to ``within`` seconds ago if all it says is equal. ``at`` 0 becomes now. Text
        is redacted and bounded first.
        """
        row = _row(event if event.at else event.replace(at=time.time()))
        names = ", ".join(_COLUMNS)
        marks = ", ".join(f":{name}" for name in _COLUMNS)
        sql = f"INSERT INTO events ({names}) SELECT {marks} WHERE "
        if not event.id and within > 0:
            same = " AND ".join(f"{name} = :{name}" for name in _SAME)
            sql += (
                f"NOT EXISTS (SELECT 1 FROM events WHERE {same}"  # noqa: S608 our own names
                " AND at BETWEEN :at - :within AND :at + :within)"
            )
            row["within"] = within
        else:
            sql += "true"
        sql += " ON CONFLICT (session, id, kind) WHERE id != '' DO NOTHING"
        return self._db.change(sql, row) > 0

    def find(
        self,
        *,
        session: str | None = None,
        kinds: Collection[str] = (),
        tools: Collection[str] = (),
        since: float | None = None,
        limit: int | None = None,
    ) -> list[Event]:
        """Return the newest ``limit`` events that fit, oldest first.

        ``since`` in seconds since the epoch; an empty collection lets everything through.
        """
        tests, values = _tests(session, kinds, tools)
        if since is not None:
            tests.append("at >= ?")
            values.append(since)
        where = f" WHERE {' AND '.join(tests)}" if tests else ""
        rows = self._db.run(
            f"SELECT {', '.join(_COLUMNS)} FROM events{where}"  # noqa: S608 values are bound
            " ORDER BY at DESC, number DESC LIMIT ?",
            [*values, -1 if limit is None else max(limit, 0)],
        )
        return [_event(row) for row in reversed(rows)]

    def after(
        self,
        number: int,
        *,
        session: str | None = None,
        kinds: Collection[str] = (),
        tools: Collection[str] = (),
    ) -> list[tuple[int, Event]]:
        """Return (number, event) of what was written after ``number``, in order."""
        tests, values = _tests(session, kinds, tools)
        where = " AND ".join(["number > ?", *tests])
        rows = self._db.run(
            f"SELECT number, {', '.join(_COLUMNS)} FROM events"  # noqa: S608 values are bound
            f" WHERE {where} ORDER BY number",
            [number, *values],
        )
        return [(int(row[0]), _event(row[1:])) for row in rows]

    def last_number(self) -> int:
        """Return the number of the event written last, 0 when there is none."""
        ((number,),) = self._db.run("SELECT max(number) FROM events")
        return int(number or 0)


def prepare(event: Event) -> Event:
    """Return an event as it is written: without secrets, bounded in size."""
    targets = tuple(redact(target)[:MAX_TARGET_CHARS] for target in event.targets[:MAX_TARGETS])
    return event.replace(
        session=event.session[:_MAX_NAME_CHARS],
        id=event.id[:_MAX_NAME_CHARS],
        agent=event.agent[:_MAX_NAME_CHARS],
        stage=event.stage[:_MAX_NAME_CHARS] if event.stage else event.stage,
        tool=event.tool[:_MAX_NAME_CHARS],
        targets=targets,
        arguments=event.arguments[:_MAX_NAME_CHARS],
        text=excerpt(event.text, MAX_TEXT_CHARS),
        output=excerpt(event.output, MAX_OUTPUT_CHARS),
        record=_redacted(event.record) if event.record else {},
    )


def _redacted(value: Any) -> Any:
    if isinstance(value, str):
        return excerpt(value, MAX_OUTPUT_CHARS)
    if isinstance(value, dict):
        return {str(key): _redacted(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_redacted(item) for item in value]
    return value


def _row(event: Event) -> dict[str, Any]:
    clean = prepare(event)
    row: dict[str, Any] = {name: _storable(getattr(clean, name)) for name in _COLUMNS}
    if len(row["record"]) > MAX_RECORD_CHARS:
        row["record"] = '{"left_out": "too large"}'
    return row


def _storable(value: Any) -> Any:
    if isinstance(value, (tuple, dict)):
        value = json.dumps(value, ensure_ascii=False, default=str)
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode("utf-8")  # no lone surrogates in SQLite
    return value


def _event(row: tuple[Any, ...]) -> Event:
    fields = dict(zip(_COLUMNS, row, strict=True))
    fields["targets"] = tuple(json.loads(fields["targets"]))
    fields["record"] = json.loads(fields["record"])
    return Event(**fields)


def _tests(
    session: str | None, kinds: Collection[str], tools: Collection[str]
) -> tuple[list[str], list[Any]]:
    tests: list[str] = []
    values: list[Any] = []
    if session is not None:
        tests.append("session = ?")
        values.append(session)
    for column, wanted in (("kind", kinds), ("tool", tools)):
        if wanted:
            tests.append(f"{column} IN ({', '.join('?' * len(wanted))})")
            values.extend(wanted)
    return tests, values

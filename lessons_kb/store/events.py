"""The events of a journal: one row each, secrets taken out before anything is written."""

from __future__ import annotations

import json
import time
import zlib
from collections.abc import Collection
from dataclasses import replace
from typing import Any

from lessons_kb.model import Event
from lessons_kb.store.database import Database
from lessons_kb.text.redact import excerpt, redact_short

MAX_TEXT_CHARS = 8_000
MAX_OUTPUT_CHARS = 8_000
MAX_TARGETS = 100
MAX_TARGET_CHARS = 500
MAX_RECORD_CHARS = 16_000
_MAX_NAME_CHARS = 300
ASKED = ("prompt", "preflight")
"""Kinds of event for which lessons are looked up."""

_COLUMNS = (
    *("at", "session", "id", "kind", "agent", "scope", "stage", "tool", "targets"),
    *("arguments", "outcome", "text", "output", "record"),
)
_SAME = ("session", "kind", "agent", "scope", "tool", "targets", "arguments", "outcome", "text")
"""Equal in two reports of one observation that has no id."""
_KNOWN = " ".join(
    (
        "CASE WHEN :id != '' THEN EXISTS (SELECT 1 FROM events",
        "WHERE session = :session AND id = :id AND kind = :kind AND id != '')",
        "WHEN :within > 0 THEN EXISTS (SELECT 1 FROM events WHERE",
        *(f"{name} = :{name} AND" for name in _SAME),
        "at BETWEEN :at - :within AND :at + :within) ELSE false END",
    )
)

_OTHER_PROMPT = (
    "SELECT 1 FROM events WHERE session = :session AND id = :id AND kind = :kind AND text != :text"
)
"""What a user says in the middle of a turn comes with the id of that turn."""


class Events:
    """The table of events."""

    def __init__(self, db: Database) -> None:
        self._db = db

    def append(self, event: Event, *, within: float = 0.0) -> bool:
        """Write an event; False when it is there already.

        The same (session, id, kind) is there once; another prompt with the id of a turn gets an id
        of its own. An event without an id is taken for one that was seen up to ``within`` seconds
        ago if all it says is equal. ``at`` 0 becomes now. Text is redacted and bounded first.
        """
        return self.write(prepare(event), within=within)

    def write(self, prepared: Event, *, within: float = 0.0) -> bool:
        """Write what ``prepare`` returned: looking for secrets takes no other writer's time."""
        event = prepared if prepared.at else replace(prepared, at=time.time())
        row = _row(event)
        if event.id and event.kind == "prompt" and self._db.run(_OTHER_PROMPT, row):
            row["id"] += f"+{zlib.crc32(row['text'].encode()):08x}"
        names = ", ".join(_COLUMNS)
        marks = ", ".join(f":{name}" for name in _COLUMNS)
        sql = f"INSERT INTO events ({names}) SELECT {marks} WHERE NOT {_KNOWN}"
        return self._db.change(sql, {**row, "within": within}) > 0

    def tell(self, event: Event, what: str, told: Any) -> None:
        """Let the record of an event that was appended say ``what``, and nothing else.

        It is found by its session, kind and time; ``told`` is plain JSON data.
        """
        clean = json.dumps(prepare_record({what: told}), ensure_ascii=False)
        self._db.run(
            "UPDATE events SET record = ? WHERE session = ? AND at = ? AND kind = ?",
            (_storable(clean), event.session[:_MAX_NAME_CHARS], event.at, event.kind),
        )

    def find(
        self,
        *,
        session: str | None = None,
        kinds: Collection[str] = (),
        tools: Collection[str] = (),
        outcomes: Collection[str] = (),
        since: float | None = None,
        limit: int | None = None,
    ) -> list[Event]:
        """Return the newest ``limit`` events that fit, oldest first; see ``numbered``."""
        found = self.numbered(
            session=session, kinds=kinds, tools=tools, outcomes=outcomes, since=since, limit=limit
        )
        return [event for _number, event in found]

    def numbered(
        self,
        *,
        session: str | None = None,
        kinds: Collection[str] = (),
        tools: Collection[str] = (),
        outcomes: Collection[str] = (),
        since: float | None = None,
        after: int | None = None,
        limit: int | None = None,
    ) -> list[tuple[int, Event]]:
        """Return (number, event) of the newest ``limit`` events that fit, oldest first.

        ``since`` in seconds since the epoch; ``after`` a number: what was written later; an
        empty collection lets everything through.
        """
        tests = {"session = ?": session, "at >= ?": since, "number > ?": after}
        asked = [test for test, value in tests.items() if value is not None]
        values: list[Any] = [value for value in tests.values() if value is not None]
        for column, allowed in (("kind", kinds), ("tool", tools), ("outcome", outcomes)):
            if allowed:
                asked.append(f"{column} IN ({', '.join('?' * len(allowed))})")
                values.extend(allowed)
        where = f" WHERE {' AND '.join(asked)}" if asked else ""
        rows = self._db.run(
            f"SELECT number, {', '.join(_COLUMNS)} FROM events{where}"  # noqa: S608 values are bound
            " ORDER BY at DESC, number DESC LIMIT ?",
            [*values, -1 if limit is None else max(limit, 0)],
        )
        return [(int(row[0]), _event(row[1:])) for row in reversed(rows)]

    def asked(self, *, until: float) -> list[tuple[str, float]]:
        """Return (session, when it was first asked something) of those before, oldest first."""
        rows = self._db.run(
            "SELECT session, min(at) AS first FROM events WHERE kind IN (?, ?) AND session != ''"
            " GROUP BY session HAVING first < ? ORDER BY first, session",
            (*ASKED, until),
        )
        return [(str(session), float(at)) for session, at in rows]

    def last_number(self) -> int:
        """Return the number of the event written last, 0 when there is none."""
        ((number,),) = self._db.run("SELECT max(number) FROM events")
        return int(number or 0)


def prepare(event: Event) -> Event:
    """Return an event as it is written: without secrets, bounded in size."""
    targets = tuple(
        redact_short(target)[:MAX_TARGET_CHARS] for target in event.targets[:MAX_TARGETS]
    )
    return replace(
        event,
        session=event.session[:_MAX_NAME_CHARS],
        id=event.id[:_MAX_NAME_CHARS],
        agent=event.agent[:_MAX_NAME_CHARS],
        scope=redact_short(event.scope),
        stage=event.stage[:_MAX_NAME_CHARS] if event.stage else event.stage,
        tool=redact_short(event.tool)[:_MAX_NAME_CHARS],
        targets=targets,
        arguments=event.arguments[:_MAX_NAME_CHARS],
        text=excerpt(event.text, MAX_TEXT_CHARS),
        output=excerpt(event.output, MAX_OUTPUT_CHARS),
        record=prepare_record(event.record) if event.record else {},
    )


def prepare_record(record: dict[str, Any]) -> dict[str, Any]:
    """Return a record as it is written."""
    clean: dict[str, Any] = _redacted(record)
    return clean


def _redacted(value: Any) -> Any:
    if isinstance(value, str):
        return excerpt(value, MAX_OUTPUT_CHARS)
    if isinstance(value, dict):
        return {redact_short(str(key)): _redacted(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_redacted(item) for item in value]
    return value


def _row(prepared: Event) -> dict[str, Any]:
    row: dict[str, Any] = {name: _storable(getattr(prepared, name)) for name in _COLUMNS}
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

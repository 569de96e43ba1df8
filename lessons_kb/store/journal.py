"""The journal: the observed events, in one SQLite file per brain in the user's state folder.

For trials, this module also records the arm of a process and the result of each run. An environment
variable names the arm. It is used only if it matches the record in the trial's own state home.
"""

from __future__ import annotations

import contextlib
import json
import os
import time
import zlib
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from math import inf
from typing import Any, TypedDict, Unpack

from lessons_kb.errors import StorageError
from lessons_kb.model import BLOCK_TOLD, CAME_BACK, OPENED, Event, Occasion, as_data
from lessons_kb.on_demand import FIND_FILES, load
from lessons_kb.store.database import Database
from lessons_kb.store.files import on_failure, read_regular, storage_errors, write_unsynced
from lessons_kb.store.locations import state_home
from lessons_kb.store.locks import take_lock
from lessons_kb.store.private_files import read_private, write_private
from lessons_kb.text.redact import excerpt, redact_data, redact_short
from lessons_kb.values import frozen, list_fields, replace

MAX_TEXT_CHARS = 8_000
MAX_OUTPUT_CHARS = 8_000
MAX_TARGETS = 100
MAX_TARGET_CHARS = 500
MAX_RECORD_CHARS = 16_000
_MAX_NAME_CHARS = 300
ASKED = ("prompt", "preflight")
"""The kinds of events for which lessons are searched."""

_COLUMNS = (
    *("at", "session", "id", "kind", "agent", "scope", "stage", "tool", "targets"),
    *("arguments", "outcome", "text", "output", "record"),
)
_NAMES = ("session", "id", "agent", "arguments")
_SAME = ("session", "kind", "agent", "scope", "tool", "targets", "arguments", "outcome", "text")
"""The columns that are equal in two reports of one observation without an id."""
_INSERT = f"""
INSERT INTO events ({", ".join(_COLUMNS)}) SELECT {", ".join(f":{name}" for name in _COLUMNS)}
WHERE NOT CASE
  WHEN :id != '' THEN EXISTS (SELECT 1 FROM events
    WHERE session = :session AND id = :id AND kind = :kind AND id != '')
  WHEN :within > 0 THEN EXISTS (SELECT 1 FROM events
    WHERE {" AND ".join(f"{name} = :{name}" for name in _SAME)}
    AND at BETWEEN :at - :within AND :at + :within)
  ELSE false END
"""  # noqa: S608 names of our own
_OTHER_PROMPT = (
    "SELECT 1 FROM events WHERE session = :session AND id = :id AND kind = :kind AND text != :text"
)
"""The query for another event with the same id. A prompt in the middle of a turn has the id of that
turn."""


_CONDITIONS = {
    "session": "session = :session",
    "since": "at >= :since",
    "after": "number > :after",
    "kinds": "kind IN (SELECT value FROM json_each(:kinds))",
    "tools": "tool IN (SELECT value FROM json_each(:tools))",
    "outcomes": "outcome IN (SELECT value FROM json_each(:outcomes))",
}


class EventFilters(TypedDict, total=False):
    """The filters of a search for events. An empty collection does not restrict the search."""

    session: str | None
    kinds: Collection[str]
    tools: Collection[str]
    outcomes: Collection[str]
    since: float | None
    """Seconds since the epoch."""
    after: int | None
    """The number of an event. Only events that were written later match."""
    limit: int | None


class _Table:
    """Base class for the tables of a journal."""

    def __init__(self, db: Database) -> None:
        self._db = db


class Events(_Table):
    """The table of events."""

    def append(self, event: Event, *, within: float = 0.0) -> bool:
        """Redact, shorten and write an event. Return False if the journal has it already.

        There is one event for each session, id and kind, but another prompt with the id of the same
        turn gets a new id. An event without an id is a duplicate of an equal event up to ``within``
        seconds ago. If ``at`` is 0, the current time is used.
        """
        return self.write(redact_event(event), within=within)

    def write(self, prepared: Event, *, within: float = 0.0) -> bool:
        """Write an event that ``redact_event`` returned; see ``append``.

        Call ``redact_event`` before a transaction begins, so that other writers need not wait for
        the search for secrets.
        """
        event = prepared if prepared.at else replace(prepared, at=time.time())
        row: dict[str, Any] = {"within": within}
        for name in _COLUMNS:
            value = getattr(event, name)
            if isinstance(value, (tuple, dict)):
                value = json.dumps(value, ensure_ascii=False, default=str)
            if isinstance(value, str):  # SQLite cannot store lone surrogates
                value = value.encode("utf-8", "replace").decode()
            row[name] = value
        if len(row["record"]) > MAX_RECORD_CHARS:
            row["record"] = '{"left_out": "too large"}'
        if event.id and event.kind == "prompt" and self._db.run(_OTHER_PROMPT, row):
            row["id"] += f"+{zlib.crc32(row['text'].encode()):08x}"
        return self._db.change(_INSERT, row) > 0

    def set_record(self, event: Event, key: str, value: Any) -> None:
        """Set the record of an appended event to ``{key: value}``, which is plain JSON data.

        The event is identified by its session, kind and time.
        """
        clean = json.dumps(redact_record({key: value}), ensure_ascii=False)
        clean = clean.encode("utf-8", "replace").decode()
        self._db.run(
            "UPDATE events SET record = ? WHERE session = ? AND at = ? AND kind = ?",
            (clean, event.session[:_MAX_NAME_CHARS], event.at, event.kind),
        )

    def find(self, **filters: Unpack[EventFilters]) -> list[Event]:
        """Return the newest ``limit`` events that match, oldest first."""
        return [event for _number, event in self.numbered(**filters)]

    def numbered(self, **filters: Unpack[EventFilters]) -> list[tuple[int, Event]]:
        """Return the newest ``limit`` events that match, oldest first, each after its number."""
        values: dict[str, Any] = {}
        conditions = ["true"]
        for name, value in filters.items():
            if not value and value not in (0, ""):
                continue
            values[name] = value
            if name != "limit":
                conditions.append(_CONDITIONS[name])
        where = " AND ".join(conditions)
        for name in {"kinds", "tools", "outcomes"} & values.keys():
            values[name] = json.dumps([*values[name]])
        rows = self._db.run(
            f"SELECT number, {', '.join(_COLUMNS)} FROM events WHERE {where}"  # noqa: S608
            " ORDER BY at DESC, number DESC LIMIT :limit",
            {"limit": -1, **values},
        )
        events = []
        for number, *cells in reversed(rows):
            row: dict[str, Any] = dict(zip(_COLUMNS, cells, strict=True))
            row |= {"targets": (*json.loads(row["targets"]),), "record": json.loads(row["record"])}
            events.append((int(number), Event(**row)))
        return events

    def latest_targets(self, kinds: Collection[str], *, limit: int, among: int) -> list[str]:
        """Return the targets of the latest ``limit`` events of some kinds, the latest first.

        Only the ``among`` events that were written last are searched, because an old journal has
        very many.
        """
        rows = self._db.run(
            "SELECT targets FROM"
            " (SELECT kind, targets FROM events ORDER BY number DESC LIMIT :among)"
            " WHERE kind IN (SELECT value FROM json_each(:kinds)) LIMIT :limit",
            {"kinds": json.dumps([*kinds]), "limit": limit, "among": among},
        )
        return [target for (targets,) in rows for target in json.loads(targets)]

    def last_calls(self) -> dict[str, float]:
        """Return a mapping from each agent to the time of its last event.

        Times are in seconds since the epoch.
        """
        return dict(
            self._db.run("SELECT agent, max(at) FROM events WHERE agent != '' GROUP BY agent")
        )

    def last_number(self) -> int:
        """Return the number of the event that was written last, or 0 if there is none."""
        return int(self._db.value("SELECT max(number) FROM events") or 0)


def redact_event(event: Event) -> Event:
    """Return an event as the journal stores it: without secrets, and limited in size."""
    targets = tuple(
        redact_short(target)[:MAX_TARGET_CHARS] for target in event.targets[:MAX_TARGETS]
    )
    return replace(
        event,
        **{name: getattr(event, name)[:_MAX_NAME_CHARS] for name in _NAMES},
        scope=redact_short(event.scope),
        stage=event.stage and event.stage[:_MAX_NAME_CHARS],
        tool=redact_short(event.tool)[:_MAX_NAME_CHARS],
        targets=targets,
        text=excerpt(event.text, MAX_TEXT_CHARS),
        output=excerpt(event.output, MAX_OUTPUT_CHARS),
        record=redact_record(event.record) if event.record else {},
    )


def redact_record(record: dict[str, Any]) -> dict[str, Any]:
    """Return a record as the journal stores it: without secrets, and limited in size."""
    clean: dict[str, Any] = redact_data(record, MAX_OUTPUT_CHARS)
    return clean


INJECTED = "injected"
"""The counter that the journal itself increments; callers increment the others."""
BUMPED = "bumped"
_EXAMPLES = "examples before "
"""The beginning of the name of a fact: the examples of a card before its last counts."""
_MAX_NOTED = 20
"""The maximum number of counts of a card whose examples are recorded."""
TOKENS, SESSIONS = "tokens", "sessions"
_COUNT = """
INSERT INTO counts VALUES (?, ?, ?, ?)
ON CONFLICT (card, what, day) DO UPDATE SET times = times + excluded.times
"""
ALL = ""
"""The id that represents all cards in the count of sessions that were given any card."""


def _of_cards(cards: Iterable[str] | None) -> tuple[str, dict[str, str]]:
    """Return an SQL condition for the rows of these cards, and its parameters.

    None means all cards.
    """
    if cards is None:
        return "true", {}
    return "card IN (SELECT value FROM json_each(:cards))", {"cards": json.dumps([*cards])}


class Outcomes(_Table):
    """The outcomes of sessions, each stored once, and the daily counters of cards."""

    def count(self, card: str, counter: str, *, at: float, times: int = 1) -> None:
        """Increase a counter of a card for the local day of ``at``.

        Counters are stored longer than events.
        """
        self._db.run(_COUNT, (card, counter, day_of(at), times))

    def last_days(self, card: str, counter: str) -> list[str]:
        """Return the days of the last two increases of a counter of a card, newest first."""
        sql = (
            "SELECT day, times FROM counts WHERE card = ? AND what = ? AND times > 0"
            " ORDER BY day DESC LIMIT 2"
        )
        days: list[str] = []
        for day, times in self._db.run(sql, (card, counter)):
            days += [day] * times
        return days[:2]

    def note_examples(self, card: str, count: int, examples: Sequence[str]) -> None:
        """Record the examples that a card had before its mistake was counted for the nth time."""
        noted = {**self._read_examples(card), str(count): list(examples)}
        newest = sorted(noted, key=int)[-_MAX_NOTED:]
        value = json.dumps({name: noted[name] for name in newest})
        self._db.run("INSERT OR REPLACE INTO facts VALUES (?, ?)", (_EXAMPLES + card, value))

    def find_examples(self, card: str, count: int) -> tuple[str, ...] | None:
        """Return the examples that `note_examples` recorded for a count, or None."""
        examples = self._read_examples(card).get(str(count))
        return None if examples is None else tuple(examples)

    def _read_examples(self, card: str) -> dict[str, list[str]]:
        value = self._db.value("SELECT value FROM facts WHERE name = ?", (_EXAMPLES + card,))
        noted: dict[str, list[str]] = json.loads(value) if value else {}
        return noted

    def uncount(self, card: str, counter: str, *, day: str) -> None:
        """Decrease a counter of a card for a day by one."""
        self._db.run(_COUNT, (card, counter, day, -1))

    def note(self, session: str, card: str, counter: str, *, at: float) -> bool:
        """Increase a counter of a card once per session. Return False if that was done before.

        If there is no session, every call counts.
        """
        with self._db.transaction():
            if session:
                inserted = self._db.change(
                    "INSERT OR IGNORE INTO outcomes VALUES (?, ?, ?, ?)",
                    (session, card, counter, at),
                )
                if not inserted:
                    return False
            self.count(card, counter, at=at)
        return True

    def is_noted(self, session: str, card: str, counter: str) -> bool:
        """Return whether ``note`` has increased a counter of a card in a session."""
        sql = "SELECT 1 FROM outcomes WHERE session = ? AND card = ? AND what = ?"
        return self._db.value(sql, (session, card, counter)) is not None

    def given(self, session: str) -> dict[str, float]:
        """Return a mapping from each card to the time at which the session first received it.

        Times are in whole seconds since the epoch.
        """
        rows = self._db.run(
            "SELECT card, min(at) FROM injections WHERE session = ? GROUP BY card", (session,)
        )
        return {str(card): float(at) for card, at in rows}

    def last_session(self, card: str, *, since: float) -> str:
        """Return the last session that was given a card after ``since``; "" if there is none."""
        sql = (
            "SELECT session FROM injections WHERE at >= ? AND card = ? AND session != ''"
            " ORDER BY at DESC, id DESC LIMIT 1"
        )
        return str(self._db.value(sql, (since, card), default=""))

    def totals(self, cards: Sequence[str] | None = None) -> dict[str, dict[str, int]]:
        """Return a mapping from card and counter to its total, for these cards or for all."""
        where, values = _of_cards(cards)
        sql = f"SELECT card, what, sum(times) FROM counts WHERE {where} GROUP BY card, what"  # noqa: S608
        totals: dict[str, dict[str, int]] = {}
        for card, what, times in self._db.run(sql, values):
            totals.setdefault(card, {})[what] = times
        return totals

    def span(self) -> dict[str, tuple[str, str]]:
        """Return a mapping from each card to the first and the last day of its injections (ISO)."""
        sql = "SELECT card, min(day), max(day) FROM counts WHERE what = ? GROUP BY card"
        rows = self._db.run(sql, (INJECTED,))
        return {str(card): (str(first), str(last)) for card, first, last in rows}

    def days(
        self, whats: Sequence[str], cards: Iterable[str] | None = None
    ) -> list[tuple[str, str, int]]:
        """Return rows of ISO day, counter and number, for these cards or for all.

        A day may have many rows.
        """
        where, values = _of_cards(cards)
        return self._db.run(
            "SELECT day, what, times FROM counts WHERE card != '' AND"  # noqa: S608
            f" what IN (SELECT value FROM json_each(:whats)) AND {where}",
            {"whats": json.dumps([*whats]), **values},
        )

    def first_day(self) -> str | None:
        """Return the first day (ISO) with any count, or None if there is none."""
        day: str | None = self._db.value("SELECT min(day) FROM counts")
        return day

    def sessions(self, cards: Iterable[str]) -> int:
        """Return the number of sessions in the journal that were given any of these cards."""
        where, values = _of_cards(cards)
        sql = f"SELECT count(DISTINCT session) FROM injections WHERE session != '' AND {where}"  # noqa: S608
        return int(self._db.value(sql, values))


_OCCASION = [*list_fields(Occasion)]
_SAME_SESSION = "(session = :session OR (session > :session || '/' AND session < :session || '0'))"
"""A session and its subagents."""


class Ledger(_Table):
    """The table of occasions: the sessions for which a lesson was due, with their outcomes.

    There is one occasion per session and card, so that sessions can be compared. Occasions are
    stored longer than events.
    """

    def note(self, **attributes: Any) -> None:
        """Store an occasion, given by its fields, unless the card has one in this session."""
        occasion = Occasion(**attributes)
        row = [getattr(occasion, name) for name in _OCCASION]
        self._db.run("INSERT OR IGNORE INTO ledger VALUES (?, ?, ?, ?, ?, ?, ?, 0)", row)

    def settle(self, occasion: Occasion, outcome: str, fact: str) -> None:
        """Store the outcome of an occasion, and its evidence."""
        self._db.run(
            "UPDATE ledger SET outcome = ?, fact = ? WHERE session = ? AND card = ?",
            (outcome, fact, occasion.session, occasion.card),
        )

    def find(
        self, *, session: str | None = None, cards: Iterable[str] | None = None
    ) -> list[Occasion]:
        """Return occasions in the order of time.

        They are the occasions of a session and its subagents, or else of these cards, or else all.
        """
        where, values = _of_cards(cards)
        if session is not None:
            where, values = _SAME_SESSION, {"session": session}
        rows = self._db.run(
            f"SELECT {', '.join(_OCCASION[:5])},"  # noqa: S608 names of our own
            f" CASE WHEN bumped THEN '{CAME_BACK}' ELSE outcome END,"
            " CASE WHEN bumped THEN 'bump' ELSE fact END"
            f" FROM ledger WHERE {where} ORDER BY at, session",
            values,
        )
        return [Occasion(**dict(zip(_OCCASION, row, strict=True))) for row in rows]

    def bump(self, session: str, card: str, *, at: float, before: float = inf) -> None:
        """Store that a mistake came back in a session although the session had the lesson.

        ``before`` is the time before which the session must have had it.
        """
        self._db.run(
            "UPDATE ledger SET bumped = :at"  # noqa: S608
            f" WHERE {_SAME_SESSION} AND card = :card AND at < :before AND NOT bumped",
            {"session": session, "at": at, "card": card, "before": before},
        )

    def take_back_last(self, card: str, *, day: str) -> None:
        """Undo the last call of ``bump`` for a card if it was on this day."""
        latest = self._db.value("SELECT max(bumped) FROM ledger WHERE card = ?", (card,))
        if latest and day_of(latest) == day:
            self.take_back(card, at=latest)

    def take_back(self, card: str, *, at: float) -> None:
        """Undo the call of ``bump`` with this ``at``."""
        self._db.run("UPDATE ledger SET bumped = 0 WHERE card = ? AND bumped = ?", (card, at))


_FOLDER = "runs"
"""The folder beside the journal with one file per run, which the process of the run locks. A killed
process releases its lock. A process id would not be enough, because it may belong to a new process
or to a process in another container."""


class Runs:
    """The table of running commands."""

    def __init__(self, db: Database, events: Events) -> None:
        self._db = db
        self._events = events
        self._locks: dict[str, AbstractContextManager[object]] = {}

    def begin(self, event: Event) -> str:
        """Record that a command is running, and return the id for ``end``.

        ``event`` is the event of the command, without its outcome. If this process is killed, the
        next process writes the event with the outcome ``cancelled``.
        """
        run_id = os.urandom(8).hex()
        self._locks[run_id] = take_lock(self._find_lock(run_id), run_id, seconds=0)
        data = json.dumps(as_data(redact_event(replace(event, id=run_id))), default=str)
        with on_failure(self._release, run_id):
            self._db.run("INSERT INTO runs VALUES (?, ?, ?)", (run_id, event.at, data))
        return run_id

    def end(self, run_id: str, event: Event) -> bool:
        """Write the event of a command that ended. If it has ended before, only return False."""
        ended = redact_event(replace(event, id=run_id))
        try:
            with self._db.transaction():
                first = self._db.change("DELETE FROM runs WHERE id = ?", (run_id,)) > 0
                if first:
                    self._events.write(ended)
        finally:
            self._release(run_id)
        return first

    def end_abandoned(self) -> int:
        """End each command whose process no longer exists as ``cancelled``. Return their number."""
        ended = 0
        for run_id, data in self._db.run("SELECT id, event FROM runs"):
            if run_id in self._locks:
                continue
            path = self._find_lock(run_id)
            try:
                if os.path.exists(path):
                    self._locks[run_id] = take_lock(path, run_id, seconds=0)
            except StorageError:
                continue  # its process is running
            event = json.loads(data)
            run = {**event["record"].get("run", {}), "state": "cancelled", "abandoned": True}
            event |= {"targets": (*event["targets"],), "outcome": "cancelled"}
            event["record"]["run"] = run
            ended += self.end(run_id, Event(**event))
        return ended

    def _find_lock(self, run_id: str) -> str:
        return os.path.join(os.path.dirname(self._db.path), _FOLDER, f"{run_id}.lock")

    def _release(self, run_id: str) -> None:
        lock = self._locks.pop(run_id, None)
        if lock:
            with lock, contextlib.suppress(OSError):
                os.unlink(self._find_lock(run_id))


JOURNAL_NAME = "journal.db"
OFFER = "offer"
"""The counter of offers by title, which are counted once per context."""
GIVEN = "given"
"""The source of a card that a session received in a block. The other source is OPENED."""
SESSION_STATE = "hook"
"""The ``part`` in the table of guard states that contains a session's memory, as JSON."""
TITLE, TITLES = "title", "titles"
"""The prefixes of keys for titles that a session was shown before a change. TITLE is followed by
brain, card and file, for the title of a card. TITLES is followed by a file, for all its titles."""
_DAY_SECONDS = 86_400
_PRUNED_AT_ONCE = 5_000
"""The number of rows that are deleted in one transaction, which takes a few milliseconds. Other
processes can write between transactions."""

_MIGRATIONS = (
    """
    CREATE TABLE injections (
      id INTEGER PRIMARY KEY, session TEXT NOT NULL, turn INTEGER NOT NULL, at INTEGER NOT NULL,
      card TEXT NOT NULL, digest TEXT NOT NULL, rank INTEGER NOT NULL, tokens INTEGER NOT NULL,
      in_context INTEGER NOT NULL DEFAULT 1
    );
    CREATE INDEX injections_by_session ON injections (session, card);
    CREATE TABLE turns (session TEXT PRIMARY KEY, turn INTEGER NOT NULL) WITHOUT ROWID;
    """,
    """
    ALTER TABLE turns ADD COLUMN at REAL NOT NULL DEFAULT 0;
    CREATE INDEX injections_by_time ON injections (at);
    CREATE TABLE events (
      number INTEGER PRIMARY KEY, at REAL NOT NULL, session TEXT NOT NULL, id TEXT NOT NULL,
      kind TEXT NOT NULL, agent TEXT NOT NULL, scope TEXT NOT NULL, stage TEXT, tool TEXT NOT NULL,
      targets TEXT NOT NULL, arguments TEXT NOT NULL, outcome TEXT NOT NULL, text TEXT NOT NULL,
      output TEXT NOT NULL, record TEXT NOT NULL
    );
    CREATE UNIQUE INDEX events_once ON events (session, id, kind) WHERE id != '';
    CREATE INDEX events_by_session ON events (session, at);
    CREATE INDEX events_by_time ON events (at);
    CREATE TABLE guards (
      session TEXT NOT NULL, part TEXT NOT NULL, at REAL NOT NULL, state TEXT NOT NULL,
      PRIMARY KEY (session, part)
    );
    CREATE TABLE runs (id TEXT PRIMARY KEY, at REAL NOT NULL, event TEXT NOT NULL);
    CREATE TABLE counts (
      card TEXT NOT NULL, what TEXT NOT NULL, day TEXT NOT NULL, times INTEGER NOT NULL,
      PRIMARY KEY (card, what, day)
    ) WITHOUT ROWID;
    CREATE TABLE facts (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
    """,
    """
    CREATE TABLE outcomes (
      session TEXT NOT NULL, card TEXT NOT NULL, what TEXT NOT NULL, at REAL NOT NULL,
      PRIMARY KEY (session, card, what)
    ) WITHOUT ROWID;
    CREATE INDEX outcomes_by_time ON outcomes (at);
    INSERT INTO counts
      SELECT card, 'tokens', date(at, 'unixepoch', 'localtime') AS day, sum(tokens)
      FROM injections WHERE tokens > 0 GROUP BY card, day;
    INSERT INTO counts
      SELECT card, 'sessions', date(first, 'unixepoch', 'localtime') AS day, count(*) FROM
      (SELECT card, min(at) AS first FROM injections WHERE session != '' GROUP BY card, session)
      GROUP BY card, day;
    INSERT INTO counts
      SELECT '', 'sessions', date(first, 'unixepoch', 'localtime') AS day, count(*)
      FROM (SELECT min(at) AS first FROM injections WHERE session != '' GROUP BY session)
      GROUP BY day
    """,
    "ALTER TABLE injections ADD COLUMN source TEXT NOT NULL DEFAULT 'given'",
    """
    CREATE TABLE ledger (
      session TEXT NOT NULL, card TEXT NOT NULL, at REAL NOT NULL, occasion TEXT NOT NULL,
      told TEXT NOT NULL, outcome TEXT NOT NULL, fact TEXT NOT NULL, bumped REAL NOT NULL DEFAULT 0,
      PRIMARY KEY (session, card)
    ) WITHOUT ROWID;
    CREATE INDEX ledger_by_card ON ledger (card);
    INSERT INTO ledger SELECT session, card, min(at), 'prompt', 'block', 'unknown', '', 0
      FROM injections WHERE session != '' GROUP BY session, card;
    DELETE FROM counts WHERE what IN ('recurred', 'before', 'before recurred');
    DELETE FROM outcomes WHERE what = 'recurred'
    """,
    "DELETE FROM ledger WHERE told = 'before'; DELETE FROM counts WHERE what = 'before'",
    """
    CREATE TABLE sent (
      number INTEGER PRIMARY KEY, session TEXT NOT NULL, at REAL NOT NULL, channel TEXT NOT NULL,
      tokens INTEGER NOT NULL
    );
    CREATE INDEX sent_by_time ON sent (at)
    """,
)
"""The statements that bring the file from version n to n + 1. No statement is changed after its
release."""


_MAX_ROWS = 1_000


@frozen
class Injection:
    """One card that was given to a session."""

    session: str
    turn: int
    """The number of the prompt in its session; 0 for a preflight without a session."""
    at: int
    """Seconds since the epoch."""
    card: str
    """Id in its brain."""
    digest: str
    """A digest of the card at that time; see ``ledger.given.card_digest``."""
    rank: int
    """The number of the card in the block; 0 for a card that was opened."""
    tokens: int
    source: str
    """GIVEN (in a block) or OPENED."""
    in_context: bool
    """Whether the card is still in the session's context. This is false after a compaction, or if
    the card never arrived."""


class Injections(_Table):
    """Read access to the table of injections."""

    def of(self, session: str) -> list[Injection]:
        """Return the newest thousand injections of a session, oldest first.

        Within a block, they are in the order of their ranks.
        """
        names = [*list_fields(Injection)]
        rows = self._db.run(
            f"SELECT {', '.join(names)} FROM injections"  # noqa: S608 names of our own
            " WHERE session = ? ORDER BY id DESC LIMIT ?",
            (session, _MAX_ROWS),
        )
        return [Injection(**dict(zip(names, row, strict=True))) for row in reversed(rows)]

    def ranked(self, session: str) -> list[tuple[int, int, str]]:
        """Return rows for the cards in the blocks of the latest turn that had a block.

        A row contains the number of prompts since that turn, the rank and the card. The number of
        prompts is the same in all rows. It is 0 if the turn is the session's last.
        """
        rows = self._db.run(
            "SELECT DISTINCT turn, rank, card FROM injections WHERE session = ? AND rank > 0"
            " AND turn = (SELECT max(turn) FROM injections WHERE session = ? AND rank > 0)",
            (session, session),
        )
        last = self.turn(session)
        return [(last - int(turn), int(rank), str(card)) for turn, rank, card in rows]

    def newest(self) -> tuple[str, int] | None:
        """Return the session and the time of the last injection, or None if there is none.

        The time is in seconds since the epoch.
        """
        rows = self._db.run("SELECT session, at FROM injections ORDER BY id DESC LIMIT 1")
        return (str(rows[0][0]), int(rows[0][1])) if rows else None

    def latest(self, *, most: int) -> dict[str, int]:
        """Return a mapping from card to its number of injections, for the ``most`` frequent cards.

        Only the last 1,000 injections are counted.
        """
        rows = self._db.run(
            "SELECT card, count(*) FROM (SELECT card FROM injections ORDER BY id DESC LIMIT ?)"
            " GROUP BY card ORDER BY 2 DESC, card LIMIT ?",
            (_MAX_ROWS, most),
        )
        return {str(card): int(times) for card, times in rows}

    def turn(self, session: str) -> int:
        """Return the number of a session's latest prompt; 0 before the first."""
        return int(
            self._db.value("SELECT turn FROM turns WHERE session = ?", (session,), default=0)
        )


@frozen
class SentText:
    """A text of ours that reached a model."""

    session: str
    """The id of the model's context, which is that of the session or of a subagent."""
    at: float
    """Seconds since the epoch."""
    channel: str
    """One of CHANNELS."""
    tokens: int


TITLES_SENT, BLOCK_SENT, CALL_SENT, CHECK_SENT = CHANNELS = ("titles", "prompt", "call", "check")
"""The ways in which a text reaches a model: titles, with a prompt, with a tool call, and after the
end of a turn."""


class Sent(_Table):
    """The table of the texts that reached a model, without the texts themselves."""

    def note(self, texts: Iterable[SentText]) -> None:
        """Store the size of texts that have reached a model."""
        names = [*list_fields(SentText)]
        rows = [[getattr(text, name) for name in names] for text in texts]
        self._db.run_each(
            f"INSERT INTO sent ({', '.join(names)}) VALUES (?, ?, ?, ?)",  # noqa: S608 our names
            rows,
        )

    def since(self, at: float) -> list[SentText]:
        """Return the texts since a moment, oldest first."""
        names = [*list_fields(SentText)]
        rows = self._db.run(
            f"SELECT {', '.join(names)} FROM sent WHERE at >= ? ORDER BY at, number",  # noqa: S608
            (at,),
        )
        return [SentText(**dict(zip(names, row, strict=True))) for row in rows]


class Journal(Database):
    """An open journal file. Any number of processes and threads may write to it.

    Every method raises StorageError.
    """

    def __init__(self, path: str, *, patience: float = 5.0, fallback: bool = False) -> None:
        """Open or create ``path``.

        ``patience`` is the time to wait for another writer, in seconds. A damaged file is moved to
        ``set_aside``, and a new file is created. With ``fallback``, a file that cannot be used
        causes no error. It is replaced by a database in memory with the recent rows of the file,
        and ``trouble`` gives the reason.
        """
        statements = _RECENT_ROWS if fallback else None
        super().__init__(path, _MIGRATIONS, patience=patience, fallback=statements)
        self.events = Events(self)
        self.runs = Runs(self, self.events)
        self.injections = Injections(self)
        self.outcomes = Outcomes(self)
        self.ledger = Ledger(self)
        self.sent = Sent(self)
        self._pruned = False

    def rename(self, old: str, new: str) -> None:
        """Rename a card in all tables; ``old`` and ``new`` are ids in its brain."""
        with self.transaction():
            self.run("UPDATE injections SET card = ? WHERE card = ?", (new, old))
            self.run("UPDATE OR REPLACE outcomes SET card = ? WHERE card = ?", (new, old))
            self.run("UPDATE OR REPLACE ledger SET card = ? WHERE card = ?", (new, old))
            rows = self.run("SELECT what, day, times FROM counts WHERE card = ?", (old,))
            for what, day, times in rows:
                self.run(_COUNT, (new, what, day, times))
            self.run("DELETE FROM counts WHERE card = ?", (old,))
            for table, column in (("events", "record"), ("guards", "state")):
                ascii_only = table == "guards"
                old_text = json.dumps(old, ensure_ascii=ascii_only)[1:-1]
                new_text = json.dumps(new, ensure_ascii=ascii_only)[1:-1]
                # An id follows a quotation mark, or the alias of its brain and a colon.
                words = (f'"{old_text}', f'"{new_text}', f":{old_text}", f":{new_text}")
                self.run(
                    f"UPDATE {table} SET {column} = replace(replace({column}, ?, ?), ?, ?)"  # noqa: S608
                    f" WHERE instr({column}, ?)",
                    (*words, old_text),
                )

    def next_turn(self, session: str) -> int:
        """Count a prompt of this session and return its number, starting with 1."""
        sql = (
            "INSERT INTO turns VALUES (?, 1, ?) ON CONFLICT (session)"
            " DO UPDATE SET turn = turn + 1, at = excluded.at RETURNING turn"
        )
        return int(self.value(sql, (session, time.time())))

    def in_context(self, session: str, *, since_turn: int) -> set[tuple[str, str]]:
        """Return id and digest of the cards that a session received in or after ``since_turn``.

        Cards that are no longer in its context are left out.
        """
        rows = self.run(
            "SELECT card, digest FROM injections WHERE session = ? AND turn >= ? AND in_context",
            (session, since_turn),
        )
        return {(card, digest) for card, digest in rows}

    def record_injections(
        self,
        session: str,
        *,
        turn: int,
        at: float,
        cards: Sequence[tuple[str, str, int]],
        ranks: Sequence[int] = (),
        source: str = GIVEN,
        told: str = BLOCK_TOLD,
        occasion: str = "prompt",
    ) -> None:
        """Store injected ``cards``, given by id, digest and tokens, in the order of their ranks.

        ``at`` is in seconds since the epoch. ``ranks`` are the numbers in the block, if it also
        contains lessons of other brains. The ledger stores ``told`` and ``occasion``. The daily
        counters are injections, tokens, and the sessions in which a card is new.
        """
        day = day_of(at)
        cards_before = set[str]()
        injected, counted = [], []
        with self.transaction():
            if session:
                sql = "SELECT DISTINCT card FROM injections WHERE session = ?"
                cards_before = {card for (card,) in self.run(sql, (session,))}
                if cards and not cards_before:
                    counted.append((ALL, SESSIONS, day, 1))
            for rank, (card, digest, tokens) in zip(
                ranks or range(1, len(cards) + 1), cards, strict=True
            ):
                injected.append((session, turn, int(at), card, digest, rank, tokens, source))
                if not session:  # a user requested the block, and no agent receives it
                    continue
                self.ledger.note(session=session, card=card, at=at, occasion=occasion, told=told)
                counted += [(card, INJECTED, day, 1), (card, TOKENS, day, tokens)]
                counted.append((card, SESSIONS, day, int(card not in cards_before)))
                cards_before.add(card)
            self.run_each(
                "INSERT INTO injections (session, turn, at, card, digest, rank, tokens, source)"
                " VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                injected,
            )
            self.run_each(_COUNT, [row for row in counted if row[-1]])

    def sessions_since(self, at: float) -> set[str]:
        """Return the sessions that were given a card since a moment."""
        rows = self.run("SELECT DISTINCT session FROM injections WHERE at >= ?", (at,))
        return {str(session) for (session,) in rows if session}

    def last_injected(self, session: str | None) -> list[str]:
        """Return the card ids of the latest block of a session, or of any for None, by rank."""
        rows = self.run(
            "SELECT card FROM injections WHERE (session, turn, at) = (SELECT session, turn, at"
            " FROM injections WHERE ? IS NULL OR session = ? ORDER BY id DESC LIMIT 1)"
            " ORDER BY rank",
            (session, session),
        )
        return list(dict.fromkeys(card for (card,) in rows))

    def forget_context(
        self, session: str, cards: Collection[str] | None = None, *, opened: bool = True
    ) -> None:
        """Record that these cards, or all cards, are not in a context, or no longer in it.

        Without ``opened``, cards that the agent has opened stay. If all cards have left the
        context, titles may be offered again.
        """
        forget = "UPDATE injections SET in_context = 0 WHERE session = ? AND in_context"
        forget += "" if opened else f" AND source != '{OPENED}'"
        if cards is None:
            self.run(forget, (session,))
            if opened:
                self.run("DELETE FROM outcomes WHERE session = ? AND what = ?", (session, OFFER))
            return
        with self.transaction():
            for card in cards:
                self.run(forget + " AND card = ?", (session, card))

    def guard_state(self, session: str, part: str = "") -> str:
        """Return the state of the guards of a session, or of a ``part`` of it (a subagent).

        The part SESSION_STATE contains the memory of a context. Return "" if there is no state.
        """
        sql = "SELECT state FROM guards WHERE session = ? AND part = ?"
        return str(self.value(sql, (session, part), default=""))

    def keep_guard_state(self, session: str, state: str, part: str = "") -> None:
        """Store ``state`` for ``guard_state``. Call both in one ``transaction``."""
        self.run(
            "INSERT INTO guards VALUES (?, ?, ?, ?) ON CONFLICT (session, part)"
            " DO UPDATE SET at = excluded.at, state = excluded.state",
            (session, part, time.time(), state),
        )

    def counts(self, card: str | None = None) -> list[tuple[str, str, str, int]]:
        """Return rows of card id, counter, ISO day and number, for one card or for all.

        They are sorted by card, day and counter.
        """
        return self.run(
            "SELECT card, what, day, times FROM counts WHERE card = ? OR (? IS NULL AND card != '')"
            " ORDER BY card, day, what",
            (card, card),
        )

    def measure(self) -> tuple[int, int, float]:
        """Return the size in bytes, the number of events, and the time of the oldest event or 0.

        The size includes SQLite's log beside the file. A row is written first as a test.
        """
        # A full disk allows a transaction to begin, so this test writes a row.
        self.run("INSERT OR REPLACE INTO facts VALUES ('written', ?)", (str(time.time()),))
        ((rows, oldest),) = self.run("SELECT count(*), min(at) FROM events")
        paths = [self.path, f"{self.path}-wal"]
        size = sum(os.path.getsize(path) for path in paths if os.path.exists(path))
        return size, int(rows), float(oldest or 0)

    def prune_daily(self, days: Callable[[], int], *, now: float) -> None:
        """End the runs of killed processes and, once a day, delete old rows.

        ``days`` returns the age in days at which rows are deleted. It is called only if needed.
        Only the first call in a process has an effect. It deletes at most a few thousand rows.
        """
        if self._pruned:
            return
        self._pruned = True
        self.runs.end_abandoned()
        if self.value("SELECT value FROM facts WHERE name = 'pruned'") == day_of(now):
            return
        before = now - days() * _DAY_SECONDS
        with self.transaction():
            deleted = [
                self.forget(table, key, before, most=_PRUNED_AT_ONCE)
                for table, key in _AGEING.items()
            ]
            if max(deleted) < _PRUNED_AT_ONCE:
                self.run("INSERT OR REPLACE INTO facts VALUES ('pruned', ?)", (day_of(now),))


_AGEING = {
    "events": "number",
    "injections": "id",
    "turns": "session",
    "guards": "session, part",
    "outcomes": "session, card, what",
    "sent": "number",
}
"""A mapping from each table whose old rows are deleted to its keys."""
_NEEDED_TABLES = ("events", "injections", "turns", "guards", "outcomes", "ledger")
"""The tables from which an answer to an event may be computed."""
_RECENT_ROWS = (
    *(
        f"INSERT INTO {table} SELECT * FROM kept.{table} ORDER BY at DESC LIMIT 1000"  # noqa: S608
        for table in _NEEDED_TABLES
    ),
    "INSERT INTO counts SELECT * FROM kept.counts",
)
"""The statements that copy rows into memory from a file that can be read but not written."""


def day_of(at: float) -> str:
    """Return the local day (ISO) of a moment in seconds since the epoch."""
    return time.strftime("%Y-%m-%d", time.localtime(at))


TRIAL_VARIABLE = "LESSONS_TRIAL"
WITHOUT, WITH, PLACEBO = ARMS = ("without", "with", "placebo")
"""The arms of a trial: no lessons, the usual lessons, or cards of the same length with general
advice."""
AT_START, AT_PROMPT, AT_CALL, AFTER_IGNORED = MOMENTS = ("start", "prompt", "call", "after")
"""Further arms of a trial. Each gives the card of the task at one moment and at no other: when the
session starts, with the prompt, before a call, or at the end of a turn that ignored the card."""
_RECORD, _EVENTS = "trial.json", "trial.events"


def write_arm(state: str, token: str, arm: str) -> None:
    """Record the arm of a trial in its own state home. Raises StorageError."""
    path = os.path.join(state, _RECORD)
    write_private(path, json.dumps({"token": token, "arm": arm}).encode())


def read_arm(environment: Mapping[str, str]) -> str:
    """Return the arm of the trial that this process belongs to, or "" outside of a trial.

    The variable has no effect unless the state home contains a record with its token.
    """
    if not (token := environment.get(TRIAL_VARIABLE)):
        return ""
    with contextlib.suppress(OSError, StorageError, ValueError):
        record = json.loads(read_private(os.path.join(state_home(), _RECORD), limit=1_000))
        if record.get("token") == token:
            return str(record["arm"])
    return ""


def note_event() -> None:
    """Count an event of an agent. The count shows a trial that its hooks are called."""
    with contextlib.suppress(OSError):
        write_unsynced(os.path.join(state_home(), _EVENTS), b".", flags=os.O_APPEND)


def count_events(state: str) -> int:
    """Return the number of events that were counted in a trial's state home."""
    with contextlib.suppress(OSError):
        return os.path.getsize(os.path.join(state, _EVENTS))
    return 0


def read_injected(state: str) -> list[dict[str, str]]:
    """Return ``id``, ``how`` and ``outcome`` of each card in the journals below a folder.

    ``state`` is the state home of a trial. ``how`` is ``given``, ``opened`` or ``given,opened``.
    ``outcome`` is the worst outcome in any session of the journal, which is ``left``, then
    ``corrected``, then ``avoided``, or "" if there is no evidence.

    If several journals have a card, the values of the last journal, sorted by path, count. A
    journal that cannot be read is left out as a whole, and no StorageError is raised.
    """
    cards: dict[str, dict[str, str]] = {}
    glob = load(FIND_FILES)
    pattern = os.path.join(glob.escape(state), "**", JOURNAL_NAME)
    for path in sorted(glob.glob(pattern, recursive=True)):
        try:
            with contextlib.closing(Journal(path)) as journal:
                rows = journal.run(_INJECTED)
        except StorageError:
            continue
        for card, how, outcome in rows:
            cards[card] = {"id": card, "how": how, "outcome": outcome}
    return list(cards.values())


_INJECTED = """
    SELECT card, group_concat(DISTINCT how), coalesce(max(nullif(outcome, 'unknown')), '')
    FROM (SELECT session, card, source AS how FROM injections
      UNION SELECT session, card, what FROM outcomes WHERE what = 'opened' ORDER BY how)
    LEFT JOIN ledger USING (session, card) GROUP BY card ORDER BY card
"""  # max(outcome) is the worst: ``avoided`` is first in the alphabet, and ``left`` is last
_RESULTS = "results.jsonl"
_MAX_BYTES = 100_000_000


def append_result(folder: str, row: Mapping[str, Any]) -> None:
    """Append the result of a run to a trial's folder. Raises StorageError."""
    path = os.path.join(folder, _RESULTS)
    with storage_errors(path):
        line = json.dumps(row, ensure_ascii=False) + "\n"
        write_unsynced(path, line.encode("utf-8", "replace"), flags=os.O_APPEND)


def read_rows(folder: str) -> list[tuple[int, dict[str, Any]]]:
    """Return each result in a trial's folder, after its line number.

    A line that is not a JSON object, for example because of a crash, is left out.
    """
    path = os.path.join(folder, _RESULTS)
    text = read_output(path) if os.path.exists(path) else ""
    rows = []
    for number, line in enumerate(text.split("\n"), 1):
        with contextlib.suppress(ValueError, RecursionError):
            row = json.loads(line)
            if isinstance(row, dict):
                rows.append((number, row))
    return rows


def read_output(path: str) -> str:
    """Return the text of a file with the output of a run or a trial. Raises StorageError."""
    with storage_errors(path):
        return read_regular(path, limit=_MAX_BYTES, name=path).decode("utf-8", "replace")

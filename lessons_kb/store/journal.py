"""The journal: what was observed, one SQLite file per brain in the user's state folder.

A trial writes down beside it which arm a process belongs to, and what came of each run. The arm
is named by a variable and held against the record in the trial's own state home.
"""

from __future__ import annotations

import contextlib
import glob
import json
import os
import time
import zlib
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, TypedDict, Unpack

from lessons_kb.errors import StorageError
from lessons_kb.model import BLOCK_TOLD, CAME_BACK, OPENED, Event, Occasion, as_data
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
"""Kinds of event for which lessons are looked up."""

_COLUMNS = (
    *("at", "session", "id", "kind", "agent", "scope", "stage", "tool", "targets"),
    *("arguments", "outcome", "text", "output", "record"),
)
_NAMES = ("session", "id", "agent", "arguments")
_SAME = ("session", "kind", "agent", "scope", "tool", "targets", "arguments", "outcome", "text")
"""Equal in two reports of one observation that has no id."""
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
"""What a user says in the middle of a turn comes with the id of that turn."""


_TESTS = {
    "session": "session = :session",
    "since": "at >= :since",
    "after": "number > :after",
    "kinds": "kind IN (SELECT value FROM json_each(:kinds))",
    "tools": "tool IN (SELECT value FROM json_each(:tools))",
    "outcomes": "outcome IN (SELECT value FROM json_each(:outcomes))",
}


class EventFilters(TypedDict, total=False):
    """Which events are asked for; an empty collection lets everything through."""

    session: str | None
    kinds: Collection[str]
    tools: Collection[str]
    outcomes: Collection[str]
    since: float | None
    """Seconds since the epoch."""
    after: int | None
    """A number: what was written later."""
    limit: int | None


class _Table:
    """Some tables of a journal."""

    def __init__(self, db: Database) -> None:
        self._db = db


class Events(_Table):
    """The table of events."""

    def append(self, event: Event, *, within: float = 0.0) -> bool:
        """Write an event; False when it is there already.

        The same (session, id, kind) is there once; another prompt with the id of a turn gets an id
        of its own. An event without an id is taken for one that was seen up to ``within`` seconds
        ago if all it says is equal. ``at`` 0 becomes now. Text is redacted and bounded first.
        """
        return self.write(redact_event(event), within=within)

    def write(self, prepared: Event, *, within: float = 0.0) -> bool:
        """Write what ``redact_event`` returned: looking for secrets holds up no other writer."""
        event = prepared if prepared.at else replace(prepared, at=time.time())
        row: dict[str, Any] = {"within": within}
        for name in _COLUMNS:
            value = getattr(event, name)
            if isinstance(value, (tuple, dict)):
                value = json.dumps(value, ensure_ascii=False, default=str)
            if isinstance(value, str):  # no lone surrogates in SQLite
                value = value.encode("utf-8", "replace").decode()
            row[name] = value
        if len(row["record"]) > MAX_RECORD_CHARS:
            row["record"] = '{"left_out": "too large"}'
        if event.id and event.kind == "prompt" and self._db.run(_OTHER_PROMPT, row):
            row["id"] += f"+{zlib.crc32(row['text'].encode()):08x}"
        return self._db.change(_INSERT, row) > 0

    def tell(self, event: Event, what: str, told: Any) -> None:
        """Let the record of an event that was appended say ``what``, and nothing else.

        It is found by its session, kind and time; ``told`` is plain JSON data.
        """
        clean = json.dumps(redact_record({what: told}), ensure_ascii=False)
        clean = clean.encode("utf-8", "replace").decode()
        self._db.run(
            "UPDATE events SET record = ? WHERE session = ? AND at = ? AND kind = ?",
            (clean, event.session[:_MAX_NAME_CHARS], event.at, event.kind),
        )

    def find(self, **filters: Unpack[EventFilters]) -> list[Event]:
        """Return the newest ``limit`` events that fit, oldest first."""
        return [event for _number, event in self.numbered(**filters)]

    def numbered(self, **filters: Unpack[EventFilters]) -> list[tuple[int, Event]]:
        """Return (number, event) of the newest ``limit`` events that fit, oldest first."""
        values: dict[str, Any] = {k: v for k, v in filters.items() if v or v in (0, "")}
        where = " AND ".join(["true", *(_TESTS[name] for name in values if name != "limit")])
        for name in {"kinds", "tools", "outcomes"} & values.keys():
            values[name] = json.dumps([*values[name]])
        rows = self._db.run(
            f"SELECT number, {', '.join(_COLUMNS)} FROM events WHERE {where}"  # noqa: S608
            " ORDER BY at DESC, number DESC LIMIT :limit",
            {"limit": -1, **values},
        )
        found = []
        for number, *cells in reversed(rows):
            row: dict[str, Any] = dict(zip(_COLUMNS, cells, strict=True))
            row |= {"targets": (*json.loads(row["targets"]),), "record": json.loads(row["record"])}
            found.append((int(number), Event(**row)))
        return found

    def last_calls(self) -> dict[str, float]:
        """Return each agent that sent events, and the time of its last one."""
        return dict(
            self._db.run("SELECT agent, max(at) FROM events WHERE agent != '' GROUP BY agent")
        )

    def last_number(self) -> int:
        """Return the number of the event written last, 0 when there is none."""
        return int(self._db.value("SELECT max(number) FROM events") or 0)


def redact_event(event: Event) -> Event:
    """Return an event as it is written: without secrets, bounded in size."""
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
    """Return a record as it is written."""
    clean: dict[str, Any] = redact_data(record, MAX_OUTPUT_CHARS)
    return clean


INJECTED = "injected"
"""What is counted by the journal itself; the rest by those who know of it."""
BUMPED = "bumped"
TOKENS, SESSIONS = "tokens", "sessions"
_COUNT = """
INSERT INTO counts VALUES (?, ?, ?, ?)
ON CONFLICT (card, what, day) DO UPDATE SET times = times + excluded.times
"""
ALL = ""
"""Counted in place of a card where all cards are meant: the sessions that were given any."""


def _of_cards(cards: Iterable[str] | None) -> tuple[str, dict[str, str]]:
    """Return a condition on the rows of some cards, or of every one, and its parameter."""
    if cards is None:
        return "true", {}
    return "card IN (SELECT value FROM json_each(:cards))", {"cards": json.dumps([*cards])}


class Outcomes(_Table):
    """What was seen once a session, and the sums of what was counted by day."""

    def count(self, card: str, what: str, *, at: float, times: int = 1) -> None:
        """Add to the card's count of the day (local) of ``at``; counts outlive the events."""
        self._db.run(_COUNT, (card, what, day_of(at), times))

    def note(self, session: str, card: str, what: str, *, at: float) -> bool:
        """Count ``what`` of a card, once a session; False when it was counted already.

        Without a session it always counts.
        """
        with self._db.transaction():
            if session and not self._db.change(
                "INSERT OR IGNORE INTO outcomes VALUES (?, ?, ?, ?)", (session, card, what, at)
            ):
                return False
            self.count(card, what, at=at)
        return True

    def is_noted(self, session: str, card: str, what: str) -> bool:
        """Return whether ``note`` has counted this in a session."""
        sql = "SELECT 1 FROM outcomes WHERE session = ? AND card = ? AND what = ?"
        return self._db.value(sql, (session, card, what)) is not None

    def given(self, session: str) -> dict[str, float]:
        """Return the cards that a session was given → when first, in whole seconds."""
        rows = self._db.run(
            "SELECT card, min(at) FROM injections WHERE session = ? GROUP BY card", (session,)
        )
        return {str(card): float(at) for card, at in rows}

    def last_session(self, card: str, *, since: float) -> str:
        """Return the session that was given a card last, "" if none was after ``since``."""
        sql = (
            "SELECT session FROM injections WHERE at >= ? AND card = ? AND session != ''"
            " ORDER BY at DESC, id DESC LIMIT 1"
        )
        return str(self._db.value(sql, (since, card), default=""))

    def totals(self, cards: Sequence[str] | None = None) -> dict[str, dict[str, int]]:
        """Return card → what → how often in all, of these cards or of every one."""
        where, values = _of_cards(cards)
        sql = f"SELECT card, what, sum(times) FROM counts WHERE {where} GROUP BY card, what"  # noqa: S608
        found: dict[str, dict[str, int]] = {}
        for card, what, times in self._db.run(sql, values):
            found.setdefault(card, {})[what] = times
        return found

    def span(self) -> dict[str, tuple[str, str]]:
        """Return card → the first and the last day (ISO) on which it was given."""
        sql = "SELECT card, min(day), max(day) FROM counts WHERE what = ? GROUP BY card"
        rows = self._db.run(sql, (INJECTED,))
        return {str(card): (str(first), str(last)) for card, first, last in rows}

    def days(
        self, whats: Sequence[str], cards: Iterable[str] | None = None
    ) -> list[tuple[str, str, int]]:
        """Return (ISO day, what, times), of these cards or of every one, a row or more a day."""
        where, values = _of_cards(cards)
        return self._db.run(
            "SELECT day, what, times FROM counts WHERE card != '' AND"  # noqa: S608
            f" what IN (SELECT value FROM json_each(:whats)) AND {where}",
            {"whats": json.dumps([*whats]), **values},
        )

    def first_day(self) -> str | None:
        """Return the day on which the first thing was counted, None when nothing was."""
        day: str | None = self._db.value("SELECT min(day) FROM counts")
        return day

    def sessions(self, cards: Iterable[str]) -> int:
        """Return how many sessions of those still journalled were given any of these cards."""
        where, values = _of_cards(cards)
        sql = f"SELECT count(DISTINCT session) FROM injections WHERE session != '' AND {where}"  # noqa: S608
        return int(self._db.value(sql, values))


_OCCASION = [*list_fields(Occasion)]
_SAME_SESSION = "(session = :session OR (session > :session || '/' AND session < :session || '0'))"
"""A session and its subagents."""


class Ledger(_Table):
    """The table of occasions: what became of each session that a lesson was due for.

    A session counts once for a card, so that sessions can be compared. Rows outlive the events.
    """

    def note(self, **one: Any) -> None:
        """Note an occasion by its fields; of a session and a card the first one counts."""
        occasion = Occasion(**one)
        row = [getattr(occasion, name) for name in _OCCASION]
        self._db.run("INSERT OR IGNORE INTO ledger VALUES (?, ?, ?, ?, ?, ?, ?, 0)", row)

    def settle(self, one: Occasion, outcome: str, fact: str) -> None:
        """Note what became of an occasion."""
        self._db.run(
            "UPDATE ledger SET outcome = ?, fact = ? WHERE session = ? AND card = ?",
            (outcome, fact, one.session, one.card),
        )

    def find(
        self, *, session: str | None = None, cards: Iterable[str] | None = None
    ) -> list[Occasion]:
        """Return the occasions of a session and its subagents, of some cards, or all, by time."""
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

    def bump(self, session: str, card: str, *, at: float) -> None:
        """Note that the mistake came back in a session in spite of what it was told."""
        self._db.run(
            "UPDATE ledger SET bumped = :at"  # noqa: S608
            f" WHERE {_SAME_SESSION} AND card = :card AND NOT bumped",
            {"session": session, "at": at, "card": card},
        )

    def take_back(self, card: str, *, at: float) -> None:
        """Forget what ``bump`` noted at that very moment."""
        self._db.run("UPDATE ledger SET bumped = 0 WHERE card = ? AND bumped = ?", (card, at))


_FOLDER = "runs"
"""Beside the journal: a file a run, locked by its process. A killed process frees its lock, which
tells more than a process id: that may be another's by now, or one of another container."""


class Runs:
    """The table of running commands."""

    def __init__(self, db: Database, events: Events) -> None:
        self._db = db
        self._events = events
        self._held: dict[str, AbstractContextManager[object]] = {}

    def begin(self, event: Event) -> str:
        """Note that a command runs; return the id for ``end``.

        ``event`` is what is known by now. Should this process be killed, it is written with the
        outcome ``cancelled`` by whoever comes next.
        """
        run_id = os.urandom(8).hex()
        self._held[run_id] = take_lock(self._find_lock(run_id), run_id, seconds=0)
        data = json.dumps(as_data(redact_event(replace(event, id=run_id))), default=str)
        with on_failure(self._release, run_id):
            self._db.run("INSERT INTO runs VALUES (?, ?, ?)", (run_id, event.at, data))
        return run_id

    def end(self, run_id: str, event: Event) -> bool:
        """Write how a command ended; False, and nothing is written, when it has ended before."""
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
        """End as ``cancelled`` each command whose process is gone; return how many."""
        ended = 0
        for run_id, data in self._db.run("SELECT id, event FROM runs"):
            if run_id in self._held:
                continue
            path = self._find_lock(run_id)
            try:
                if os.path.exists(path):
                    self._held[run_id] = take_lock(path, run_id, seconds=0)
            except StorageError:
                continue  # its process lives
            known = json.loads(data)
            run = {**known["record"].get("run", {}), "state": "cancelled", "abandoned": True}
            known |= {"targets": (*known["targets"],), "outcome": "cancelled"}
            known["record"]["run"] = run
            ended += self.end(run_id, Event(**known))
        return ended

    def _find_lock(self, run_id: str) -> str:
        return os.path.join(os.path.dirname(self._db.path), _FOLDER, f"{run_id}.lock")

    def _release(self, run_id: str) -> None:
        if held := self._held.pop(run_id, None):
            with held, contextlib.suppress(OSError):
                os.unlink(self._find_lock(run_id))


JOURNAL_NAME = "journal.db"
OFFER = "offer"
"""What is counted of a card, once a context, whose title was offered."""
GIVEN = "given"
"""How a session came by a card, unless it has it OPENED: in a block."""
SESSION_STATE = "hook"
TITLE, TITLES = "title", "titles"
"""How what a session was shown begins of a card of which the title was given before a change, with
brain, card and file behind it, and of a file whose cards were named, with the file."""
"""The ``part`` under which the table of guards' states keeps a session's memory, as JSON."""
_DAY_SECONDS = 86_400
_PRUNED_AT_ONCE = 5_000
"""Rows deleted in one transaction, a few milliseconds: other processes write in between."""

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
)
"""Each brings the file from version n to n + 1; none is ever changed after a release."""


_MAX_ROWS = 1_000


@frozen
class Injection:
    """One card that a session was given."""

    session: str
    turn: int
    """Number of the session's prompt; 0 for a preflight without a session."""
    at: int
    """Seconds since the epoch."""
    card: str
    """Id in its brain."""
    digest: str
    """Of the card as it was then; see ``ledger.given.card_digest``."""
    rank: int
    """Its number in the block, 0 of one that was opened."""
    tokens: int
    source: str
    """``given`` in a block, or OPENED."""
    in_context: bool
    """False once it is gone from the session's context, or was never heard there."""


class Injections(_Table):
    """The rows of a journal's table, read only."""

    def of(self, session: str) -> list[Injection]:
        """Return the newest thousand of a session, oldest first, by rank within one block."""
        names = [*list_fields(Injection)]
        rows = self._db.run(
            f"SELECT {', '.join(names)} FROM injections"  # noqa: S608 names of our own
            " WHERE session = ? ORDER BY id DESC LIMIT ?",
            (session, _MAX_ROWS),
        )
        return [Injection(**dict(zip(names, row, strict=True))) for row in reversed(rows)]

    def ranked(self, session: str) -> list[tuple[int, int, str]]:
        """Return (prompts since, rank, card) of the blocks of the latest turn that brought any.

        All say the same of the prompts that came since: none where the latest one brought them.
        """
        rows = self._db.run(
            "SELECT DISTINCT turn, rank, card FROM injections WHERE session = ? AND rank > 0"
            " AND turn = (SELECT max(turn) FROM injections WHERE session = ? AND rank > 0)",
            (session, session),
        )
        now = self.turn(session)
        return [(now - int(turn), int(rank), str(card)) for turn, rank, card in rows]

    def newest(self) -> tuple[str, int] | None:
        """Return the session that was given something last, and when; None if none was."""
        rows = self._db.run("SELECT session, at FROM injections ORDER BY id DESC LIMIT 1")
        return (str(rows[0][0]), int(rows[0][1])) if rows else None

    def latest(self, *, most: int) -> dict[str, int]:
        """Return card → how often it was given, the ``most`` frequent of the newest thousand."""
        rows = self._db.run(
            "SELECT card, count(*) FROM (SELECT card FROM injections ORDER BY id DESC LIMIT ?)"
            " GROUP BY card ORDER BY 2 DESC, card LIMIT ?",
            (_MAX_ROWS, most),
        )
        return {str(card): int(times) for card, times in rows}

    def turn(self, session: str) -> int:
        """Return the number of a session's latest prompt without counting one; 0 = none yet."""
        return int(
            self._db.value("SELECT turn FROM turns WHERE session = ?", (session,), default=0)
        )


class Journal(Database):
    """An open journal file; any number of processes and threads may write.

    Everything raises StorageError.
    """

    def __init__(self, path: str, *, patience: float = 5.0, fallback: bool = False) -> None:
        """Open or create ``path``; ``patience``: seconds waited for another writer.

        A damaged file is moved aside and a fresh one begun; ``set_aside`` names it. With
        ``fallback`` a file that cannot be used raises nothing: memory stands in for it, which
        knows what the file tells of late; ``trouble`` says why.
        """
        recalled = _RECALLED if fallback else None
        super().__init__(path, _MIGRATIONS, patience=patience, fallback=recalled)
        self.events = Events(self)
        self.runs = Runs(self, self.events)
        self.injections = Injections(self)
        self.outcomes = Outcomes(self)
        self.ledger = Ledger(self)
        self._pruned = False

    def rename(self, old: str, new: str) -> None:
        """Let all that is known of one card be known of another name; ids of its brain."""
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
                was, to = (json.dumps(n, ensure_ascii=ascii_only)[1:-1] for n in (old, new))
                # In quotes, or behind the alias of its brain.
                words = (f'"{was}', f'"{to}', f":{was}", f":{to}")
                self.run(
                    f"UPDATE {table} SET {column} = replace(replace({column}, ?, ?), ?, ?)"  # noqa: S608
                    f" WHERE instr({column}, ?)",
                    (*words, was),
                )

    def next_turn(self, session: str) -> int:
        """Count a prompt of this session; return its number, from 1."""
        sql = (
            "INSERT INTO turns VALUES (?, 1, ?) ON CONFLICT (session)"
            " DO UPDATE SET turn = turn + 1, at = excluded.at RETURNING turn"
        )
        return int(self.value(sql, (session, time.time())))

    def in_context(self, session: str, *, since_turn: int) -> set[tuple[str, str]]:
        """Return (card id, digest) of what this session was given at or after a turn."""
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
        """Store (card id, digest, tokens) in rank order; ``at`` in seconds since the epoch.

        The ledger notes what the session was ``told`` at which ``occasion``.
        ``ranks`` are their numbers in the block, where other brains have lessons in it as well.
        Counted by day: injections, tokens, and the sessions that a card is new to.
        """
        day, known = day_of(at), set[str]()
        injected, counted = [], []
        with self.transaction():
            if session:
                sql = "SELECT DISTINCT card FROM injections WHERE session = ?"
                known = {card for (card,) in self.run(sql, (session,))}
                if cards and not known:
                    counted.append((ALL, SESSIONS, day, 1))
            for rank, (card, digest, tokens) in zip(
                ranks or range(1, len(cards) + 1), cards, strict=True
            ):
                injected.append((session, turn, int(at), card, digest, rank, tokens, source))
                if not session:  # somebody looks what would be given
                    continue
                due = {"session": session, "card": card, "at": at}
                self.ledger.note(**due, occasion=occasion, told=told)
                counted += [(card, INJECTED, day, 1), (card, TOKENS, day, tokens)]
                counted.append((card, SESSIONS, day, int(card not in known)))
                known.add(card)
            self.run_each(
                "INSERT INTO injections (session, turn, at, card, digest, rank, tokens, source)"
                " VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                injected,
            )
            self.run_each(_COUNT, [row for row in counted if row[-1]])

    def last_injected(self, session: str | None) -> list[str]:
        """Return the card ids of the latest block, of this session or of any, by rank."""
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
        """Note that all or some cards are gone from a context: compacted, or never heard.

        Unless ``opened`` are meant, too, those that the agent has opened stay. With all of it gone,
        titles may be offered again.
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
        """Return what the guards of a session, or of a ``part`` of it (a subagent), remember.

        Of the part SESSION_STATE that is the memory of a context. "" when nothing is remembered.
        """
        sql = "SELECT state FROM guards WHERE session = ? AND part = ?"
        return str(self.value(sql, (session, part), default=""))

    def keep_guard_state(self, session: str, state: str, part: str = "") -> None:
        """Remember ``state`` for ``guard_state``; do both in one ``transaction``."""
        self.run(
            "INSERT INTO guards VALUES (?, ?, ?, ?) ON CONFLICT (session, part)"
            " DO UPDATE SET at = excluded.at, state = excluded.state",
            (session, part, time.time(), state),
        )

    def counts(self, card: str | None = None) -> list[tuple[str, str, str, int]]:
        """Return (card id, what, ISO day, times) of one card or of all, by card, day and what."""
        return self.run(
            "SELECT card, what, day, times FROM counts WHERE card = ? OR (? IS NULL AND card != '')"
            " ORDER BY card, day, what",
            (card, card),
        )

    def measure(self) -> tuple[int, int, float]:
        """Return (bytes, events, when the oldest was, 0 without any), once it has taken a write.

        The bytes are those of the file and of what SQLite keeps beside it.
        """
        # A full disk lets a transaction begin.
        self.run("INSERT OR REPLACE INTO facts VALUES ('written', ?)", (str(time.time()),))
        ((rows, oldest),) = self.run("SELECT count(*), min(at) FROM events")
        sides = (self.path + side for side in ("", "-wal"))
        size = sum(os.path.getsize(path) for path in sides if os.path.exists(path))
        return size, int(rows), float(oldest or 0)

    def prune_daily(self, days: Callable[[], int], *, now: float) -> None:
        """End what a killed process left running and, once a day, forget what is old.

        ``days`` says what is old and is asked only if due. Only a process's first call does
        anything, and it deletes some thousand rows at most.
        """
        if self._pruned:
            return
        self._pruned = True
        self.runs.end_abandoned()
        if self.value("SELECT value FROM facts WHERE name = 'pruned'") == day_of(now):
            return
        before = now - days() * _DAY_SECONDS
        with self.transaction():
            gone = [
                self.forget(table, key, before, most=_PRUNED_AT_ONCE)
                for table, key in _AGEING.items()
            ]
            if max(gone) < _PRUNED_AT_ONCE:
                self.run("INSERT OR REPLACE INTO facts VALUES ('pruned', ?)", (day_of(now),))


_AGEING = {
    "events": "number",
    "injections": "id",
    "turns": "session",
    "guards": "session, part",
    "outcomes": "session, card, what",
}
"""Tables whose rows are forgotten → their keys."""
_RECALLED = (
    *(
        f"INSERT INTO {table} SELECT * FROM kept.{table} ORDER BY at DESC LIMIT 1000"  # noqa: S608
        for table in (*_AGEING, "ledger")
    ),
    "INSERT INTO counts SELECT * FROM kept.counts",
)
"""What memory takes over from a file that can be read and not written."""


def day_of(at: float) -> str:
    """Return the local day (ISO) of a moment in seconds since the epoch."""
    return time.strftime("%Y-%m-%d", time.localtime(at))


TRIAL_VARIABLE = "LESSONS_TRIAL"
WITHOUT, WITH, PLACEBO = ARMS = ("without", "with", "placebo")
"""No lessons; lessons as always; cards of the same length that give general advice."""
_RECORD, _EVENTS = "trial.json", "trial.events"


def write_arm(state: str, token: str, arm: str) -> None:
    """Record in a trial's own state home what its variable stands for. Raises StorageError."""
    path = os.path.join(state, _RECORD)
    write_private(path, json.dumps({"token": token, "arm": arm}).encode())


def read_arm(environment: Mapping[str, str]) -> str:
    """Return the arm, "" outside of a trial: the variable alone switches nothing off."""
    if not (token := environment.get(TRIAL_VARIABLE)):
        return ""
    with contextlib.suppress(OSError, StorageError, ValueError):
        record = json.loads(read_private(os.path.join(state_home(), _RECORD), limit=1_000))
        if record.get("token") == token:
            return str(record["arm"])
    return ""


def note_event() -> None:
    """Count an event of an agent, so that a trial knows that its hooks are called."""
    with contextlib.suppress(OSError):
        write_unsynced(os.path.join(state_home(), _EVENTS), b".", flags=os.O_APPEND)


def count_events(state: str) -> int:
    """Return how many events were noted in a trial's state home."""
    with contextlib.suppress(OSError):
        return os.path.getsize(os.path.join(state, _EVENTS))
    return 0


def read_injected(state: str) -> list[dict[str, str]]:
    """Return each card that a trial's state home tells of, with ``id``, ``how`` and ``outcome``.

    It was ``given``, ``opened``, or both: ``given,opened``. The outcome is "" where no fact shows
    it; of several it is the worst.
    """
    found: dict[str, dict[str, str]] = {}
    pattern = os.path.join(glob.escape(state), "**", JOURNAL_NAME)
    for path in sorted(glob.glob(pattern, recursive=True)):
        with contextlib.suppress(StorageError), contextlib.closing(Journal(path)) as journal:
            rows = journal.run(_INJECTED)
            found |= {row[0]: dict(zip(("id", "how", "outcome"), row, strict=True)) for row in rows}
    return list(found.values())


_INJECTED = """
    SELECT card, group_concat(DISTINCT how), coalesce(max(nullif(outcome, 'unknown')), '')
    FROM (SELECT session, card, source AS how FROM injections
      UNION SELECT session, card, what FROM outcomes WHERE what = 'opened' ORDER BY how)
    LEFT JOIN ledger USING (session, card) GROUP BY card ORDER BY card
"""  # in the alphabet ``left`` comes last and ``avoided`` first
_RESULTS = "results.jsonl"
_MAX_BYTES = 100_000_000


def append_result(folder: str, row: Mapping[str, Any]) -> None:
    """Add what came of a run to a trial's folder. Raises StorageError."""
    path = os.path.join(folder, _RESULTS)
    with storage_errors(path):
        line = json.dumps(row, ensure_ascii=False) + "\n"
        write_unsynced(path, line.encode("utf-8", "replace"), flags=os.O_APPEND)


def read_rows(folder: str) -> list[tuple[int, dict[str, Any]]]:
    """Return the objects that were added to a trial's folder, each with the number of its line.

    A line that is no object, such as one that was cut off by a crash, is left out.
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
    """Return the text of a file that a run printed or a trial keeps. Raises StorageError."""
    with storage_errors(path):
        return read_regular(path, limit=_MAX_BYTES, name=path).decode("utf-8", "replace")

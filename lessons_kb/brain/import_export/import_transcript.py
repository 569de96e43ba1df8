"""The record that an agent kept of a session, into the journal: what hooks saw is not doubled."""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from lessons_kb.errors import InputError
from lessons_kb.guards.tool_calls import kind_of_failure, parse_call
from lessons_kb.model import DONE, FAILURES, Event
from lessons_kb.store.events import prepare
from lessons_kb.store.import_files import read_byte_lines
from lessons_kb.text.plurals import counted
from lessons_kb.transcripts import entries
from lessons_kb.transcripts.entries import Entry
from lessons_kb.transcripts.reader import AGENTS, MAX_LINE_BYTES, Transcript

if TYPE_CHECKING:
    from lessons_kb.brain.layers import Layers
Key = tuple[object, ...]


_DAY = 86_400
_BATCH = 200
"""Events written in one transaction: hooks wait no longer than for these."""
_TEXT_KEY = 300


@dataclass(frozen=True, kw_only=True, slots=True)
class Session:
    """What one session of a record holds, and what of it the journal lacks."""

    session: str
    agent: str
    prompts: int = 0
    calls: int = 0
    failures: int = 0
    edits: int = 0
    answers: int = 0
    new: int = 0
    """Events that the journal lacks, or lacked until now."""
    expired: int = 0
    """Events older than the journal keeps any."""


class Transcripts:
    """Agents' own records of sessions, for the journal of the nearest brain."""

    def __init__(self, brain: Layers) -> None:
        self._brain = brain
        self._layer = brain.layers[0]

    def take_in(
        self, path: str, *, agent: str = "", write: bool = False, now: float | None = None
    ) -> tuple[list[Session], list[str]]:
        """Return the sessions of a record, and what was not understood, one line each.

        With ``write`` the journal takes in what it lacks; a second time that is nothing.
        ``agent`` is one of AGENTS, by default found out. The file is read line by line. Raises
        InputError for a file that is no such record, StorageError.
        """
        if agent and agent not in AGENTS:
            raise InputError(f"agent must be one of {', '.join(AGENTS)}, not {agent!r}")
        keep = self._layer.settings.journal.retention_days * _DAY
        since = (time.time() if now is None else now) - keep
        transcript = Transcript(agent)
        ledger = _Ledger(self._brain, since=since)
        batch: list[Event] = []
        for event in self._events(transcript, path):
            if ledger.is_new(event):
                batch.append(event)
            if len(batch) >= _BATCH:
                self._write(batch if write else ())
                batch = []
        self._write(batch if write else ())
        if not transcript.agent:
            raise InputError(
                f"{path}: not a transcript of {', '.join(AGENTS)}; give a session's .jsonl file"
            )
        notes = []
        if transcript.passed_over:
            lost = counted(transcript.passed_over, "line is not JSON", "lines are not JSON")
            notes.append(f"{path}: {lost}; skipped")
        return list(ledger.sessions.values()), notes

    def _events(self, transcript: Transcript, path: str) -> Iterator[Event]:
        document: list[bytes] = []
        size = 0
        for _number, line in read_byte_lines(path):
            for entry in transcript.feed_line(line):
                yield from self._of(entry, transcript.agent)
            size += len(line)
            if not transcript.agent and size <= MAX_LINE_BYTES:
                document.append(line)
            else:
                document.clear()
        if not transcript.agent and document:
            # One document over many lines, as older versions of Gemini CLI write it.
            transcript.lines = transcript.passed_over = 0
            for entry in transcript.feed_line(b"\n".join(document)):
                yield from self._of(entry, transcript.agent)
        for entry in transcript.finish():
            yield from self._of(entry, transcript.agent)

    def _of(self, entry: Entry, agent: str) -> Iterator[Event]:
        directory = self._brain.directory
        inside = entry.cwd == directory or entry.cwd.startswith(directory + os.sep)
        scope = directory if inside or not entry.cwd else entry.cwd
        event = Event(
            kind=entry.kind if entry.kind != entries.CALL else "tool",
            at=entry.at,
            session=entry.session,
            id=entry.id,
            agent=agent,
            scope=scope.replace("\\", "/"),
            text=entry.text,
            output=entry.output,
        )
        if entry.kind != entries.CALL:
            yield event
        elif entry.tool:
            call = replace(event, tool=entry.tool, outcome=_outcome(entry))
            yield from parse_call(call, entry.arguments, cwd=entry.cwd)

    def _write(self, events: Iterable[Event]) -> None:
        journal = self._layer.journal
        rows = [prepare(event) for event in events]
        with journal.transaction():
            for row in rows:
                journal.events.write(row)


class _Ledger:
    """Knows what the journal holds of the sessions of a record, and counts what it reads."""

    def __init__(self, brain: Layers, *, since: float) -> None:
        self._table = brain.layers[0].journal.events
        self._since = since
        self._known: dict[str, Counter[Key]] = {}
        self._ids: dict[str, set[tuple[str, str]]] = {}
        self._call_is_new = True
        self.sessions: dict[str, Session] = {}

    def is_new(self, event: Event) -> bool:
        """Count an event; return whether the journal lacks it."""
        seen = self.sessions.get(event.session) or Session(session=event.session, agent=event.agent)
        new = self._lacks(event)
        expired = new and 0 < event.at < self._since
        self.sessions[event.session] = replace(
            seen,
            prompts=seen.prompts + (event.kind == "prompt"),
            answers=seen.answers + (event.kind == "answer"),
            calls=seen.calls + bool(event.tool),
            failures=seen.failures + (bool(event.tool) and event.outcome in FAILURES),
            edits=seen.edits + (event.kind in _EDITS and event.outcome in DONE),
            new=seen.new + (new and not expired),
            expired=seen.expired + expired,
        )
        return new and not expired

    def _lacks(self, event: Event) -> bool:
        """Each event of the journal stands for one of the record, found by its id or by what
        it says; what a call touched goes with the call.
        """
        if event.session not in self._known:
            held = self._table.find(session=event.session)
            self._known[event.session] = Counter(map(_key, held))
            self._ids[event.session] = {(one.kind, one.id) for one in held if one.id}
        if not event.tool and event.kind in _TOUCHES:
            return self._call_is_new
        known, key = self._known[event.session], _key(prepare(event))
        there = bool(event.id) and (event.kind, event.id) in self._ids[event.session]
        if known[key] > 0:
            known[key] -= 1
            there = True
        if event.tool:
            self._call_is_new = not there
        return not there


_EDITS = ("edit", "create", "remove")
_TOUCHES = ("read", "edit", "create", "remove", "rollback", "test")


def _key(event: Event) -> Key:
    """Return what is equal in two reports of one event that may have no id."""
    said = " ".join(event.text.split())[:_TEXT_KEY]
    return event.kind, event.tool, event.arguments, said


def _outcome(entry: Entry) -> str:
    if entry.ended == entries.FAILED:
        return kind_of_failure(entry.output)
    return {entries.CANCELLED: "cancelled", entries.UNKNOWN: "unknown"}.get(entry.ended, "ok")

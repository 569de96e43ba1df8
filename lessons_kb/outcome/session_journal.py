"""The journal for Python callers and for `lessons run`, which record events and look them up."""

from __future__ import annotations

import contextlib
import os
import shlex
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Unpack

from lessons_kb.brain.brains import Brains
from lessons_kb.brain.current_session import session_of
from lessons_kb.calls.failure_signs import find_test_command
from lessons_kb.collection.draft_lookup import Draft
from lessons_kb.collection.drafts import Drafts
from lessons_kb.config import DEFAULTS
from lessons_kb.errors import ConfigError, InputError, LessonsError
from lessons_kb.model import EVENTS, Event
from lessons_kb.process.run import NOT_FOUND, Ended, run_captured
from lessons_kb.store.journal import EventFilters, Journal, Runs
from lessons_kb.text.sanitize import plain
from lessons_kb.values import replace

POLL_SECONDS = 0.5


class SessionJournal:
    """The journal of a brain, or of the nearest brain if there are several.

    Secrets are removed before anything is written. All methods raise only LessonsError.
    """

    def __init__(self, brains: Brains) -> None:
        self._brain = brains.members[0]
        self._directory = brains.directory

    def record(self, event: Event) -> bool:
        """Write an event. Return False if the journal already contains it.

        Events with the same (session, id, kind) count once. An event without a session belongs to
        the session of the agent that runs this process, if there is one. Raises InputError if the
        kind is not one of EVENTS.

        A workflow engine records a failed stage as ``stage``, a remark of the user as
        ``interrupt``, the targets of a rollback as ``rollback``, and a rejected action with the
        reason as ``rejection``.
        """
        if event.kind not in EVENTS:
            raise InputError(f"unknown event {event.kind!r}; use one of {', '.join(EVENTS)}")
        scope = event.scope or self._directory.replace("\\", "/")
        if not event.session:
            session, agent = session_of()
            event = replace(event, session=session, agent=event.agent or agent)
        event = replace(event, at=event.at or time.time(), scope=scope)
        written = self._file.events.append(event)
        self._file.prune_daily(self._retention_days, now=time.time())
        return written

    def events(self, **filters: Unpack[EventFilters]) -> list[Event]:
        """Return the newest ``limit`` events that match the filters, oldest first.

        First, the runs of killed processes are marked as ended.
        """
        self._file.runs.end_abandoned()
        return self._file.events.find(**filters)

    def follow(self, **filters: Unpack[EventFilters]) -> Iterator[Event]:
        """Yield the same events as ``events``, and then each new event when it is written, without
        end.
        """
        table = self._file.events
        last = table.last_number()
        numbered = table.numbered(**filters)
        while True:
            for number, event in numbered:
                last = max(last, number)
                yield event
            time.sleep(POLL_SECONDS)
            filters["since"], filters["limit"], filters["after"] = None, None, last
            numbered = table.numbered(**filters)

    def count(self, card: str, counter: str, *, times: int = 1, at: float | None = None) -> None:
        """Increase a counter of a card for today. Counters are, for example, ``addressed`` and
        ``bumped``.

        Injections are counted automatically. Counts outlive the events.
        """
        self._file.outcomes.count(card, counter, at=time.time() if at is None else at, times=times)

    def counts(self, card: str | None = None) -> list[tuple[str, str, str, int]]:
        """Return tuples (card id, name of the count, ISO day, times) of one card or of all
        cards.
        """
        return self._file.counts(card)

    @property
    def _file(self) -> Journal:
        return self._brain.journal

    def _retention_days(self) -> int:
        try:
            return self._brain.settings.journal.retention_days
        except ConfigError:  # commands that need the settings report the error
            return DEFAULTS.journal.retention_days


OUTCOMES: Mapping[str, str] = {
    "completed": "ok",
    "failed": "exec_error",
    "stalled": "exec_error",
    "cancelled": "cancelled",
}
"""Mapping from the state at the end of a run to the outcome of the event."""


def run(
    brains: Brains | None,
    command: Sequence[str],
    *,
    stall: float | None = 90.0,
    session: str | None = None,
    stage: str | None = None,
) -> tuple[Ended, str]:
    """Run a command, pass its output through and journal it. Return the result of the run and a
    warning.

    The journal gets one event, which is ``test`` for the usual test commands and ``command`` for
    others. Without a brain, or with a journal that cannot be written, the command runs
    nevertheless. The warning is then one line about this; otherwise it is "".
    """
    runs = None
    event = Event(kind="command")
    number = ""
    trouble = ""
    if brains is not None:
        try:
            event = _make_event(brains, command, session, stage)
            runs = brains.members[0].journal.runs
            number = runs.begin(event)
        except LessonsError as error:
            runs = None
            trouble = str(error)

    with contextlib.ExitStack() as unless_it_ends:
        if runs is not None:  # end the run also if it cannot be started or is interrupted
            state = {"run": {"process": os.getpid(), "state": "cancelled"}}
            unless_it_ends.callback(_end, runs, number, event, outcome="cancelled", record=state)
        ended = run_captured(command, stall=stall)
        unless_it_ends.pop_all()
    if runs is not None:
        outcome = "tool_not_found" if ended.code == NOT_FOUND and ended.message else ""
        run_record = {
            "process": os.getpid(),
            "state": ended.state,
            "code": ended.code,
            "seconds": round(ended.seconds, 3),
        }
        trouble = _end(
            runs,
            number,
            event,
            outcome=outcome or OUTCOMES[ended.state],
            output=plain(ended.tail),
            record={"run": run_record},
        )
    return ended, trouble


def _end(runs: Runs, number: str, event: Event, **changes: Any) -> str:
    """Write the end of a run unless another process has written it. Return the error, or "" if
    there is none.
    """
    try:
        runs.end(number, replace(event, at=time.time(), **changes))
    except LessonsError as error:
        return str(error)
    return ""


def draft_after(brains: Brains, command: Sequence[str], session: str | None = None) -> list[Draft]:
    """Return the drafts that a successful test run causes if its tests failed before.

    Only the session of the run is examined. Other commands cause no drafts. Raises LessonsError.
    """
    if not find_test_command(shlex.join(command)):
        return []
    return Drafts(brains).collect(session_of()[0] if session is None else session)


def _make_event(
    brains: Brains, command: Sequence[str], session: str | None, stage: str | None
) -> Event:
    """Return the event of a command. Its text begins with ``cd`` unless the command runs at the
    root.
    """
    own_session, agent = session_of()
    here = os.path.realpath(os.getcwd())
    line = shlex.join(command)
    if here != brains.directory:
        inside = here.startswith(brains.directory.rstrip(os.sep) + os.sep)
        folder = os.path.relpath(here, brains.directory) if inside else here
        line = f"cd {shlex.quote(folder.replace(os.sep, '/'))} && {line}"
    return Event(
        kind="test" if find_test_command(line) else "command",
        at=time.time(),
        session=own_session if session is None else session,
        agent=agent,
        scope=brains.directory.replace(os.sep, "/"),
        stage=stage,
        text=line,
        record={"run": {"process": os.getpid()}},
    )

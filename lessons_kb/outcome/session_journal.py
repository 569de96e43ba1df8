"""The noun ``brain.journal``: note what happens in a session, and look it up."""

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
    """The journal of a brain; with several brains that of the nearest.

    Secrets are taken out before anything is written. Everything raises LessonsError only.
    """

    def __init__(self, brains: Brains) -> None:
        self._brain = brains.members[0]
        self._directory = brains.directory

    def record(self, event: Event) -> bool:
        """Write an event; False when it is there already.

        The same (session, id, kind) counts once. Without a session it is that of the agent which
        runs this process, if one does. Raises InputError for a kind that is none of EVENTS.

        A workflow engine notes with ``stage`` a stage that failed, with ``interrupt`` what the user
        said, with ``rollback`` the targets taken back, with ``rejection`` an action and why.
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

    def events(self, **chosen: Unpack[EventFilters]) -> list[Event]:
        """Return the newest ``limit`` events that fit, oldest first.

        What a killed process left running is ended first.
        """
        self._file.runs.end_abandoned()
        return self._file.events.find(**chosen)

    def follow(self, **chosen: Unpack[EventFilters]) -> Iterator[Event]:
        """Yield what ``events`` returns, then each new event as it is written, without end."""
        table = self._file.events
        last = table.last_number()
        found = table.numbered(**chosen)
        while True:
            for number, event in found:
                last = max(last, number)
                yield event
            time.sleep(POLL_SECONDS)
            chosen["since"], chosen["limit"], chosen["after"] = None, None, last
            found = table.numbered(**chosen)

    def count(self, card: str, what: str, *, times: int = 1, at: float | None = None) -> None:
        """Add to today's count of a card: ``addressed``, ``bumped`` and the like.

        Injections are counted already. Counts outlive the events.
        """
        self._file.outcomes.count(card, what, at=time.time() if at is None else at, times=times)

    def counts(self, card: str | None = None) -> list[tuple[str, str, str, int]]:
        """Return (card id, what, ISO day, times) of one card or of all."""
        return self._file.counts(card)

    @property
    def _file(self) -> Journal:
        return self._brain.journal

    def _retention_days(self) -> int:
        try:
            return self._brain.settings.journal.retention_days
        except ConfigError:  # whoever reads the settings for themselves says so
            return DEFAULTS.journal.retention_days


OUTCOMES: Mapping[str, str] = {
    "completed": "ok",
    "failed": "exec_error",
    "stalled": "exec_error",
    "cancelled": "cancelled",
}
"""How a run ended → the event's outcome."""


def run(
    brains: Brains | None,
    command: Sequence[str],
    *,
    stall: float | None = 90.0,
    session: str | None = None,
    stage: str | None = None,
) -> tuple[Ended, str]:
    """Run a command with its output passed through; return how it ended and what went wrong here.

    It becomes one event: ``test`` for the usual test commands, else ``command``. Without a
    brain, or with a journal that cannot be written, it runs all the same: the second value is
    then one line about it, else "".
    """
    runs, event, number, trouble = None, Event(kind="command"), "", ""
    if brains is not None:
        try:
            event = _event(brains, command, session, stage)
            runs = brains.members[0].journal.runs
            number = runs.begin(event)
        except LessonsError as error:
            runs, trouble = None, str(error)

    with contextlib.ExitStack() as unless_it_ends:
        if runs is not None:  # a run that cannot be started, or is interrupted, is not left running
            state = {"run": {"process": os.getpid(), "state": "cancelled"}}
            unless_it_ends.callback(_end, runs, number, event, outcome="cancelled", record=state)
        ended = run_captured(command, stall=stall)
        unless_it_ends.pop_all()
    if runs is not None:
        outcome = "tool_not_found" if ended.code == NOT_FOUND and ended.message else ""
        how = {"state": ended.state, "code": ended.code, "seconds": round(ended.seconds, 3)}
        trouble = _end(
            runs,
            number,
            event,
            outcome=outcome or OUTCOMES[ended.state],
            output=plain(ended.tail),
            record={"run": {"process": os.getpid(), **how}},
        )
    return ended, trouble


def _end(runs: Runs, number: str, event: Event, **how: Any) -> str:
    """Write how a run ended, unless somebody has; return what went wrong."""
    try:
        runs.end(number, replace(event, at=time.time(), **how))
    except LessonsError as error:
        return str(error)
    return ""


def draft_after(brains: Brains, command: Sequence[str], session: str | None = None) -> list[Draft]:
    """Return the drafts that a test run which ended well has made: what was red before is green.

    Looks at the run's session only; of another command nothing is expected. Raises LessonsError.
    """
    if not find_test_command(shlex.join(command)):
        return []
    return Drafts(brains).collect(session_of()[0] if session is None else session)


def _event(brains: Brains, command: Sequence[str], session: str | None, stage: str | None) -> Event:
    known, agent = session_of()
    here, line = os.path.realpath(os.getcwd()), shlex.join(command)
    if here != brains.directory:
        inside = here.startswith(brains.directory.rstrip(os.sep) + os.sep)
        folder = os.path.relpath(here, brains.directory) if inside else here
        line = f"cd {shlex.quote(folder.replace(os.sep, '/'))} && {line}"
    return Event(
        kind="test" if find_test_command(line) else "command",
        at=time.time(),
        session=known if session is None else session,
        agent=agent,
        scope=brains.directory.replace(os.sep, "/"),
        stage=stage,
        text=line,
        record={"run": {"process": os.getpid()}},
    )

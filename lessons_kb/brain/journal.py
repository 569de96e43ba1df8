"""The noun ``brain.journal``: note what happens in a session, and look it up."""

from __future__ import annotations

import threading
import time
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from typing import Any

from lessons_kb.brain.current_session import session_of
from lessons_kb.brain.layers import Layers
from lessons_kb.config import DEFAULTS
from lessons_kb.errors import ConfigError, InputError
from lessons_kb.model import EVENTS, Event
from lessons_kb.store.journal import Journal as JournalFile

POLL_SECONDS = 0.5


class Journal:
    """The journal of a brain; with several brains that of the nearest.

    Secrets are taken out before anything is written. Everything raises LessonsError only.
    """

    def __init__(self, brain: Layers) -> None:
        self._layer = brain.layers[0]
        self._directory = brain.directory

    def record(self, event: Event, *, within: float = 0.0) -> bool:
        """Write an event; False when it is there already.

        The same (session, id, kind) counts once; without an id what is equal and not more than
        ``within`` seconds apart. Raises InputError for a kind that is none of EVENTS.
        """
        event = self._placed(event)
        written = self._file.events.append(event, within=within)
        self._prune()
        return written

    def events(
        self,
        *,
        session: str | None = None,
        kinds: Collection[str] = (),
        tools: Collection[str] = (),
        since: float | None = None,
        limit: int | None = None,
    ) -> list[Event]:
        """Return the newest ``limit`` events that fit, oldest first.

        ``since`` in seconds since the epoch; an empty collection lets everything through. What a
        killed process left running is ended first.
        """
        self._file.runs.end_abandoned()
        return self._file.events.find(
            session=session, kinds=kinds, tools=tools, since=since, limit=limit
        )

    def follow(
        self,
        *,
        session: str | None = None,
        kinds: Collection[str] = (),
        tools: Collection[str] = (),
        since: float | None = None,
        limit: int | None = None,
        stop: threading.Event | None = None,
    ) -> Iterator[Event]:
        """Yield what ``events`` returns, then each new event as it is written, until ``stop``."""
        table = self._file.events
        last = table.last_number()
        chosen = table.numbered(session=session, kinds=kinds, tools=tools, since=since, limit=limit)
        stop = stop or threading.Event()
        while True:
            for number, event in chosen:
                last = max(last, number)
                yield event
            if stop.wait(POLL_SECONDS):
                return
            chosen = table.numbered(session=session, kinds=kinds, tools=tools, after=last)

    def record_stage_failure(self, stage: str, reason: str, *, session: str | None = None) -> None:
        """Note that a stage of a workflow failed, and why."""
        self._note("stage", session, stage=stage, text=reason, outcome="exec_error")

    def record_interrupt(self, feedback: str, *, session: str | None = None) -> None:
        """Note that the user interrupted the work, and what was said."""
        self._note("interrupt", session, text=feedback, outcome="cancelled")

    def record_rollback(
        self, reason: str = "", *, files: Sequence[str] = (), session: str | None = None
    ) -> None:
        """Note that changes were taken back: ``files``, relative to the project, or all."""
        self._note("rollback", session, text=reason, targets=tuple(files))

    def record_rejection(
        self,
        action: str,
        *,
        reason: str = "",
        tool: str = "",
        files: Sequence[str] = (),
        session: str | None = None,
    ) -> None:
        """Note that the user denied an action (a command line, an edit), and why."""
        self._note(
            "rejection",
            session,
            tool=tool,
            text=action,
            output=reason,
            targets=tuple(files),
            outcome="permission_denied",
        )

    def count(self, card: str, what: str, *, times: int = 1, at: float | None = None) -> None:
        """Add to today's count of a card: ``addressed``, ``bumped`` and the like.

        Injections are counted already. Counts outlive the events.
        """
        self._file.count(card, what, at=time.time() if at is None else at, times=times)

    def counts(self, card: str | None = None) -> list[tuple[str, str, str, int]]:
        """Return (card id, what, ISO day, times) of one card or of all."""
        return self._file.counts(card)

    @property
    def _file(self) -> JournalFile:
        return self._layer.journal

    def _note(self, kind: str, session: str | None, **fields: Any) -> None:

        known, agent = session_of()
        event = Event(kind=kind, session=known if session is None else session, agent=agent)
        self.record(replace(event, **fields))

    def _placed(self, event: Event) -> Event:
        if event.kind not in EVENTS:
            raise InputError(f"unknown event {event.kind!r}; use one of {', '.join(EVENTS)}")
        return replace(
            event,
            at=event.at or time.time(),
            scope=event.scope or self._directory.replace("\\", "/"),
        )

    def _prune(self) -> None:
        self._file.prune_daily(self._retention_days, now=time.time())

    def _retention_days(self) -> int:

        try:
            return self._layer.settings.journal.retention_days
        except ConfigError:  # whoever reads the settings for themselves says so
            return DEFAULTS.journal.retention_days

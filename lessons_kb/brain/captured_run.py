"""Captured runs: a command runs, and becomes one event of the journal when it ends."""

from __future__ import annotations

import os
import shlex
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace

from lessons_kb.brain.current_session import session_of
from lessons_kb.brain.drafts.drafts import Draft, Drafts
from lessons_kb.brain.layers import Layers
from lessons_kb.errors import LessonsError
from lessons_kb.learn.test_runs import find_test_command
from lessons_kb.model import Event
from lessons_kb.process.run import NOT_FOUND, Ended, run_captured
from lessons_kb.store.running_commands import Runs
from lessons_kb.text.terminal_output import plain

OUTCOMES: Mapping[str, str] = {
    "completed": "ok",
    "failed": "exec_error",
    "stalled": "exec_error",
    "cancelled": "cancelled",
}
"""How a run ended → the event's outcome."""


def run(
    brain: Layers | None,
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
    recording = _Recording(brain, command, session=session, stage=stage)
    try:
        ended = run_captured(command, stall=stall)
    except BaseException:
        recording.end("cancelled", {"state": "cancelled"})
        raise
    recording.end(
        "tool_not_found" if ended.code == NOT_FOUND and ended.message else OUTCOMES[ended.state],
        {"state": ended.state, "code": ended.code, "seconds": round(ended.seconds, 3)},
        output=ended.tail,
    )
    return ended, recording.trouble


def draft_after(brain: Layers, command: Sequence[str], session: str | None = None) -> list[Draft]:
    """Return the drafts that a test run which ended well has made: what was red before is green.

    Looks at the run's session only; of another command nothing is expected. Raises LessonsError.
    """
    if not find_test_command(shlex.join(command)):
        return []
    return Drafts(brain).collect(session_of()[0] if session is None else session)


class _Recording:
    """The row of one run, from its start to its one end. It never raises."""

    def __init__(
        self,
        brain: Layers | None,
        command: Sequence[str],
        *,
        session: str | None,
        stage: str | None,
    ) -> None:
        self.trouble = ""
        self._runs: Runs | None = None
        self._id = ""
        if brain is None:
            return
        try:
            self._event = _event(brain, command, session, stage)
            self._runs = brain.layers[0].journal.runs
            self._id = self._runs.begin(self._event)
        except LessonsError as error:
            self._runs = None
            self.trouble = str(error)

    def end(self, outcome: str, how: dict[str, object], *, output: str = "") -> None:
        """Write how it ended, unless somebody has."""
        if self._runs is None:
            return
        known = self._event.record["run"]
        record: dict[str, object] = {"run": {**known, **how}} if isinstance(known, dict) else {}
        event = replace(
            self._event, at=time.time(), outcome=outcome, output=plain(output), record=record
        )
        try:
            self._runs.end(self._id, event)
        except LessonsError as error:
            self.trouble = str(error)


def _event(brain: Layers, command: Sequence[str], session: str | None, stage: str | None) -> Event:

    known, agent = session_of()
    here = os.path.realpath(os.getcwd())
    line = shlex.join(command)
    if here != brain.directory:
        folder = os.path.relpath(here, brain.directory) if _inside(here, brain.directory) else here
        line = f"cd {shlex.quote(folder.replace(os.sep, '/'))} && {line}"
    return Event(
        kind="test" if find_test_command(line) else "command",
        at=time.time(),
        session=known if session is None else session,
        agent=agent,
        scope=brain.directory.replace(os.sep, "/"),
        stage=stage,
        text=line,
        record={"run": {"process": os.getpid()}},
    )


def _inside(path: str, folder: str) -> bool:
    return path.startswith(folder.rstrip(os.sep) + os.sep)

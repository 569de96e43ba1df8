"""Captured runs: a command runs, and becomes one event of the journal when it ends."""

from __future__ import annotations

import os
import shlex
import time

from lessons_kb.errors import LessonsError
from lessons_kb.model import Event
from lessons_kb.process.run import NOT_FOUND, Ended, run_captured

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from lessons_kb.brain.brain import Brain
    from lessons_kb.brain.drafts import Draft
    from lessons_kb.storage.runs import Runs

SESSION_VARIABLES: Mapping[str, str] = {
    "LESSONS_SESSION": "",
    "CLAUDE_CODE_SESSION_ID": "claude-code",
    "CODEX_THREAD_ID": "codex",
    "GEMINI_SESSION_ID": "gemini-cli",
    "OPENCODE_SESSION_ID": "opencode",
}
"""Variables in which agents tell a command its session → the agent."""

OUTCOMES: Mapping[str, str] = {
    "completed": "ok",
    "failed": "exec_error",
    "stalled": "exec_error",
    "cancelled": "cancelled",
}
"""How a run ended → the event's outcome."""


def session_of(environment: Mapping[str, str] = os.environ) -> tuple[str, str]:
    """Return the session in which this process runs and its agent, "" where nobody says so."""
    for name, agent in SESSION_VARIABLES.items():
        if session := environment.get(name, ""):
            return session, agent
    return "", ""


def run(
    brain: Brain | None,
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


def draft_after(brain: Brain, command: Sequence[str], session: str | None = None) -> list[Draft]:
    """Return the drafts that a test run which ended well has made: what was red before is green.

    Looks at the run's session only; of another command nothing is expected. Raises LessonsError.
    """
    from lessons_kb.learn.test_commands import find_test_command

    if not find_test_command(shlex.join(command)):
        return []
    return brain.drafts.collect(session_of()[0] if session is None else session)


class _Recording:
    """The row of one run, from its start to its one end. It never raises."""

    def __init__(
        self,
        brain: Brain | None,
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
        from lessons_kb.text.terminal import plain

        if self._runs is None:
            return
        known = self._event.record["run"]
        record = {"run": {**known, **how}} if isinstance(known, dict) else {}
        event = self._event.replace(
            at=time.time(), outcome=outcome, output=plain(output), record=record
        )
        try:
            self._runs.end(self._id, event)
        except LessonsError as error:
            self.trouble = str(error)


def _event(brain: Brain, command: Sequence[str], session: str | None, stage: str | None) -> Event:
    from lessons_kb.learn.test_commands import find_test_command

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

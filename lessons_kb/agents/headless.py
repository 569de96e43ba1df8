"""A coding agent without a user: it writes a card, or does the tasks of a trial.

One that writes gets one prompt and gives one answer, in an empty folder, without tools and hooks.
"""

from __future__ import annotations

import json
import os
import shlex
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from typing import Any

from lessons_kb.agents.table import AGENTS, SILENCED, Agent
from lessons_kb.brain.current_session import SESSION_VARIABLES
from lessons_kb.errors import InputError
from lessons_kb.process.programs import find_program
from lessons_kb.process.run import MAX_OUTPUT, run_bounded, split_command
from lessons_kb.store.files import read_head
from lessons_kb.store.private_files import write_private
from lessons_kb.text.json_objects import find_objects
from lessons_kb.text.redact import redact
from lessons_kb.text.sanitize import clean_line, shorten
from lessons_kb.trial.runs import PROMPT
from lessons_kb.values import frozen

_SILENT = {SILENCED: "0", "LESSONS_DAEMON": "0"}
"""With it our own hooks say and note nothing."""
_INHERITED = ("CLAUDECODE", "CLAUDE_CODE_ENTRYPOINT", *SESSION_VARIABLES)
"""What would tell an agent that it runs inside another one."""
_MAX_REASON = 160
_TOLD_BY = ("result", "message", "error", "response", "text")
"""Keys under which agents say what they have to say."""


@frozen
class HeadlessAgent:
    """The program that the user named, an agent or any other that reads a prompt on stdin."""

    words: tuple[str, ...]
    """Its command line; words in capitals are filled in, see ``Agent.headless``."""
    row: Agent | None
    seconds: float

    @property
    def name(self) -> str:
        """What it is called in messages."""
        return os.path.basename(self.words[0])

    def ask(
        self,
        prompt: str,
        *,
        system: str,
        schema: Mapping[str, Any],
        stop: threading.Event | None = None,
    ) -> dict[str, Any]:
        """Return the object that it answers; it has the keys that the schema requires.

        Raises InputError, one line, where it cannot be started, fails, says something else, or
        is not done in time: then all that it started is ended.
        """
        with tempfile.TemporaryDirectory(prefix="lessons-writer-") as folder:
            empty, output, form = (os.path.join(folder, n) for n in ("empty", "output", "schema"))
            row, text = self.row, json.dumps(schema)
            own = row.headless_files if row else {}
            files = {form: text, **{os.path.join(empty, path): one for path, one in own.items()}}
            variables = row.headless_variables if row else {}
            if "SYSTEM" not in " ".join((*self.words, *own.values(), *variables.values())):
                prompt = f"{system}\n\n{prompt}"
            os.mkdir(empty)
            for path, content in files.items():
                write_private(path, content.replace("SYSTEM", system).encode())
            filled = {"PROMPT": prompt, "SYSTEM": system, "SCHEMA": text, "SCHEMA_FILE": form}
            words = [{**filled, "FOLDER": empty}.get(word, word) for word in self.words]
            environment = own_environment() | _SILENT
            for name, value in variables.items():
                shown = value.replace("FOLDER", empty)
                environment[name] = shown.replace("SYSTEM", json.dumps(system))
            until = time.monotonic() + self.seconds
            code = run_bounded(
                words,
                cwd=empty,
                env=environment,
                output=output,
                text="" if "PROMPT" in self.words else prompt,
                seconds=self.seconds,
                stop=stop,
            )
            printed = read_head(output, MAX_OUTPUT).decode("utf-8", "replace")
        late = f"{self.name}: not done after {self.seconds:g} s"
        if code is None:
            raise InputError(late)
        try:
            objects = list(find_objects(printed, is_late=lambda: time.monotonic() > until))
        except TimeoutError:
            raise InputError(late) from None
        answers = [found for found in objects if found.keys() >= {*schema["required"]}]
        if answers and not code:
            return answers[-1]
        what = f"exit code {code}" if code else "no card in its answer"
        last = _find_last_words(objects, printed)
        raise InputError(f"{self.name}: {what}; its last words: {last}")


def _find_last_words(objects: Sequence[Mapping[str, Any]], printed: str) -> str:
    """Return what an agent said last, fit for one line and without secrets."""
    values = [found.get(key) for found in objects for key in _TOLD_BY]
    texts = [redact(value) for value in values if isinstance(value, str)]
    for text in reversed(texts or redact(printed).splitlines()):
        if words := clean_line(text):
            return shorten(words, _MAX_REASON)
    return "nothing"


def find_headless(command: str, *, seconds: float) -> HeadlessAgent:
    """Return the agent, or any other program, that a command line names.

    What begins with the program of an agent is filled in with all that makes it write and
    nothing else; the user's own words, such as a model, follow: ``claude --model haiku``.
    """
    if not command.strip():
        raise InputError("--with names no agent; give claude, codex, gemini, opencode, copilot …")
    path, agent, words = _find_agent(command)
    row = agent if agent and agent.headless else None
    line = shlex.split(row.headless) if row else []
    return HeadlessAgent(words=(path, *line, *words), row=row, seconds=seconds)


def find_task_command(command: str) -> list[str]:
    """Return the words with which an agent does a task, PROMPT among them unless it reads stdin.

    What begins with an agent that we know, and has no PROMPT, is filled in: ``claude-code``,
    ``codex --model small``. Any other command is run as it is. Raises InputError.
    """
    path, agent, words = _find_agent(command)
    if agent and PROMPT not in command:
        if not agent.task:
            raise InputError(f"{agent.name} has no command line for a task; give one with {PROMPT}")
        options, separator, prompt = agent.task.partition(f" -- {PROMPT}")
        words = [*shlex.split(options), *words, *shlex.split(separator + prompt)]
    return [path, *words]


def _find_agent(command: str) -> tuple[str, Agent | None, list[str]]:
    """Return a command line's program, the agent that this or its name is, and the other words."""
    first, *words = split_command(command)
    name = os.path.basename(first).lower().removesuffix(".exe")
    agent = next((a for a in AGENTS.values() if name in (a.program, a.name)), None)
    path = find_program(agent.program if agent and name == agent.name else first)
    if path is None:
        raise InputError(f"{first} is not on the PATH; install it, or give its whole path")
    return path, agent, words


def own_environment() -> dict[str, str]:
    """Return the environment of an agent that we start, as if the user had started it."""
    return {name: value for name, value in os.environ.items() if name not in _INHERITED}

"""Run a coding agent without a user, to write a card or to do the tasks of a trial.

An agent that writes a card gets one prompt and returns one answer. It runs in an empty folder,
without tools and without hooks.
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

from lessons_kb.agents.table import AGENTS, OFF_VARIABLE, Agent
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

_SILENT = {OFF_VARIABLE: "0", "LESSONS_DAEMON": "0"}
"""Variables that make our own hooks print and record nothing."""
_INHERITED = ("CLAUDECODE", "CLAUDE_CODE_ENTRYPOINT", *SESSION_VARIABLES)
"""Variables that would show an agent that it runs inside another agent."""
_MAX_REASON = 160
_MESSAGE_KEYS = ("result", "message", "error", "response", "text")
"""Keys of an agent's JSON output whose values are texts for the user."""


@frozen
class HeadlessAgent:
    """The program that the user chose: an agent, or any program that reads a prompt from stdin."""

    words: tuple[str, ...]
    """The command line. Words in capitals are placeholders. See ``Agent.headless``."""
    row: Agent | None
    """The row of the agent, or None for any other program."""
    seconds: float
    """The time limit of one call."""

    @property
    def name(self) -> str:
        """The name of the program, for messages."""
        return os.path.basename(self.words[0])

    def ask(
        self,
        prompt: str,
        *,
        system: str,
        schema: Mapping[str, Any],
        stop: threading.Event | None = None,
    ) -> dict[str, Any]:
        """Run the agent once, and return the last object in its output with all required keys.

        Raises InputError, with a message of one line, if the agent cannot be started, fails, prints
        no such object, or exceeds its time limit. In the last case, all processes that it started
        are ended.
        """
        deadline = time.monotonic() + self.seconds
        with tempfile.TemporaryDirectory(prefix="lessons-writer-") as folder:
            call = self._prepare(folder, prompt=prompt, system=system, schema=json.dumps(schema))
            output = os.path.join(folder, "output")
            code = run_bounded(
                call.words,
                cwd=call.cwd,
                env=call.environment,
                output=output,
                text=call.stdin,
                seconds=self.seconds,
                stop=stop,
            )
            printed = read_head(output, MAX_OUTPUT).decode("utf-8", "replace")
        late = f"{self.name}: not done after {self.seconds:g} s"
        if code is None:
            raise InputError(late)
        try:
            objects = list(find_objects(printed, is_late=lambda: time.monotonic() > deadline))
        except TimeoutError:
            raise InputError(late) from None
        required = {*schema["required"]}
        answers = [answer for answer in objects if answer.keys() >= required]
        if answers and not code:
            return answers[-1]
        reason = f"exit code {code}" if code else "no card in its answer"
        last = _find_last_words(objects, printed)
        raise InputError(f"{self.name}: {reason}; its output ended with: {last}")

    def _prepare(self, folder: str, *, prompt: str, system: str, schema: str) -> _Call:
        """Write the files that the agent reads to ``folder``, and fill in its placeholders."""
        cwd, schema_file = os.path.join(folder, "empty"), os.path.join(folder, "schema")
        files = self.row.headless_files if self.row else {}
        variables = self.row.headless_variables if self.row else {}
        if "SYSTEM" not in " ".join((*self.words, *files.values(), *variables.values())):
            prompt = f"{system}\n\n{prompt}"
        os.mkdir(cwd)
        write_private(schema_file, schema.encode())
        for path, content in files.items():
            write_private(os.path.join(cwd, path), content.replace("SYSTEM", system).encode())
        environment = own_environment() | _SILENT
        for name, value in variables.items():
            located = value.replace("FOLDER", cwd)
            environment[name] = located.replace("SYSTEM", json.dumps(system))
        values = {
            "PROMPT": prompt,
            "SYSTEM": system,
            "SCHEMA": schema,
            "SCHEMA_FILE": schema_file,
            "FOLDER": cwd,
        }
        words = [values.get(word, word) for word in self.words]
        stdin = "" if "PROMPT" in self.words else prompt
        return _Call(words=words, cwd=cwd, environment=environment, stdin=stdin)


@frozen
class _Call:
    """A run of an agent, with every placeholder filled in."""

    words: list[str]
    cwd: str
    environment: Mapping[str, str]
    stdin: str


def _find_last_words(objects: Sequence[Mapping[str, Any]], printed: str) -> str:
    """Return an agent's last message, shortened to one line and without secrets."""
    values = []
    for output in objects:
        values += [output.get(key) for key in _MESSAGE_KEYS]
    texts = [redact(value) for value in values if isinstance(value, str)]
    for text in reversed(texts or redact(printed).splitlines()):
        if words := clean_line(text):
            return shorten(words, _MAX_REASON)
    return "nothing"


def find_installed() -> str:
    """Return the first agent of the table that is installed and can be run without a user.

    The result is the name of its program, such as ``claude``, or "" if there is none.
    """
    for name, row in AGENTS.items():
        program = row.program or name
        if row.headless and find_program(program):
            return program
    return ""


def find_headless(command: str, *, seconds: float) -> HeadlessAgent:
    """Return the agent, or any other program, that a command line names.

    If the command line begins with the program of an agent, the options that limit the agent to
    writing are added. The user's own words, such as a model, follow them: ``claude --model haiku``.
    Raises InputError if the command line is empty or if its program is not on the PATH.
    """
    if not command.strip():
        raise InputError("--with names no agent; give claude, codex, gemini, opencode, copilot …")
    path, agent, words = _find_agent(command)
    row = agent if agent and agent.headless else None
    line = shlex.split(row.headless) if row else []
    return HeadlessAgent(words=(path, *line, *words), row=row, seconds=seconds)


def find_task_command(command: str) -> list[str]:
    """Return the command line with which an agent does a task.

    Its words include PROMPT, unless the program reads the prompt from stdin. A command that begins
    with an agent of our table and has no PROMPT is completed: ``claude-code``,
    ``codex --model small``. Any other command runs as it is. Raises InputError if the program is
    not on the PATH, or if we have no command line for tasks of this agent.
    """
    path, agent, words = _find_agent(command)
    if agent and PROMPT not in command:
        if not agent.task:
            raise InputError(f"{agent.name} has no command line for a task; give one with {PROMPT}")
        options, separator, prompt = agent.task.partition(f" -- {PROMPT}")
        words = [*shlex.split(options), *words, *shlex.split(separator + prompt)]
    return [path, *words]


def _find_agent(command: str) -> tuple[str, Agent | None, list[str]]:
    """Return the path of the program, the agent with this program or name, and the other words."""
    first, *words = split_command(command)
    name = os.path.basename(first).lower().removesuffix(".exe")
    agent = next((row for row in AGENTS.values() if name in (row.program, row.name)), None)
    path = find_program(agent.program if agent and name == agent.name else first)
    if path is None:
        raise InputError(f"{first} is not on the PATH; install it, or give its whole path")
    return path, agent, words


def own_environment() -> dict[str, str]:
    """Return the environment for an agent that we start, as if the user had started it."""
    return {name: value for name, value in os.environ.items() if name not in _INHERITED}

"""A Codex rollout as entries."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from lessons_kb.text.times import read_time
from lessons_kb.transcripts.entries import (
    ANSWER,
    CALL,
    COMPACTION,
    FAILED,
    INTERRUPT,
    MAX_OUTPUT,
    OK,
    PROMPT,
    UNKNOWN,
    Entry,
    remember,
    texts_of,
)

_CALLS = ("function_call", "custom_tool_call", "local_shell_call")
_BY_USER = "interrupted"
_OUTPUTS = ("function_call_output", "custom_tool_call_output")
_EXIT = r"(?:Process exited with code|Exit code:?) (-?\d+)"
_REFUSED = ("unsupported call:", "unsupported custom tool call:", "failed to parse function")
_HEAD = 400
"""Characters of an output in which its exit code stands."""
_SHELLS = ("exec_command", "shell", "local_shell")
_MAX_TOLD = 2_000
"""Ids of calls told last: a command has its result twice, close to each other."""


def read_origin(line: bytes) -> tuple[str, int]:
    """Return the session that another is a copy of, and the number of the line that ends the copy.

    ``line`` is the first one of a rollout; ("", 0) where it names no origin.
    """
    data = _object(line)
    payload = data.get("payload")
    if data.get("type") != "session_meta" or not isinstance(payload, dict):
        return "", 0
    origin, end = payload.get("forked_from_id"), payload.get("forked_from_ordinal_exclusive")
    return origin if isinstance(origin, str) else "", end if type(end) is int else 0


def read_number(line: bytes) -> int | None:
    """Return the number of a line of a rollout."""
    number = _object(line).get("ordinal")
    return number if type(number) is int else None


def _object(line: bytes) -> Mapping[str, Any]:
    try:
        data = json.loads(line.decode())
    except (ValueError, RecursionError):
        return {}
    return data if isinstance(data, dict) else {}


class CodexReader:
    """Reads one object after the other; ``finish`` tells what waited for more."""

    def __init__(self) -> None:
        self._base = Entry(kind=PROMPT)
        self._calls: dict[str, tuple[str, Mapping[str, Any]]] = {}
        self.steps: dict[str, str] = {}
        """Call → the first of those that were made together with it: no result lies between."""
        self._step = ""
        self._told: dict[str, None] = {}
        self._answer: Entry | None = None
        self._turns: dict[str, int] = {}

    def read(self, data: Mapping[str, Any]) -> Iterator[Entry]:
        """Yield what one line tells."""
        payload = data.get("payload")
        if not isinstance(payload, dict):
            return
        self._place(data, payload)
        what = payload.get("type")
        if data.get("type") == "compacted":
            yield replace(self._base, kind=COMPACTION, text=str(payload.get("message") or ""))
        elif what in _CALLS:
            number = str(payload.get("call_id"))
            self._step = self._step or number
            remember(self._calls, number, _call_of(payload))
            remember(self.steps, number, self._step)
            self._answer = None
        elif (command := _ended_command(payload)) is not None:
            yield from self._run(command)
        elif what in _OUTPUTS:
            self._step = ""
            yield from self._output(payload)
        elif what == "turn_aborted":
            if payload.get("reason", _BY_USER) == _BY_USER:
                yield replace(self._base, kind=INTERRUPT, id=str(payload.get("turn_id") or ""))
        elif what == "task_complete":
            last = payload.get("last_agent_message")
            if isinstance(last, str) and last:
                self._answer = replace(self._base, kind=ANSWER, text=last)
            yield from self.finish()
        else:
            yield from self._said(payload)

    def finish(self) -> Iterator[Entry]:
        """Yield the answer that nothing followed."""
        if self._answer is not None:
            yield self._answer
        self._answer = None

    def _place(self, data: Mapping[str, Any], payload: Mapping[str, Any]) -> None:
        settings = payload.get("thread_settings")
        where = settings if isinstance(settings, dict) else payload
        session = payload.get("thread_id")
        if data.get("type") == "session_meta":
            session = payload.get("id")
        cwd = where.get("cwd") if "command" not in where else None
        self._base = replace(
            self._base,
            at=read_time(data.get("timestamp")) or self._base.at,
            session=session if isinstance(session, str) and session else self._base.session,
            cwd=cwd if isinstance(cwd, str) and cwd else self._base.cwd,
        )

    def _said(self, payload: Mapping[str, Any]) -> Iterator[Entry]:
        item = payload.get("item")
        said = item if isinstance(item, dict) else payload
        kind = said.get("type")
        text = texts_of(said.get("content")) or str(said.get("message") or "")
        if kind in ("UserMessage", "user_message") and text.strip():
            yield from self.finish()
            turn = str(payload.get("turn_id") or "")
            count = self._turns[turn] = self._turns.get(turn, 0) + 1
            number = f"{turn}:{count}" if turn and count > 1 else turn
            yield replace(self._base, id=number, text=text.strip())
        elif kind in ("AgentMessage", "agent_message") and text.strip():
            self._answer = replace(self._base, kind=ANSWER, text=text.strip())

    def _run(self, command: Mapping[str, Any]) -> Iterator[Entry]:
        """Yield a command that ended, as its own record of the end tells it."""
        code, words = command["exit_code"], command.get("command")
        text = str(command.get("aggregated_output") or "")
        yield from self._call(
            str(command.get("call_id", command.get("id")) or ""),
            "Bash",
            {"command": _last_word(words), **_folder(command)},
            FAILED if code else OK,
            f"Exit code {code}\n{text}" if code else text,
        )

    def _output(self, payload: Mapping[str, Any]) -> Iterator[Entry]:
        """Yield a call by its output; ``unknown`` where that does not say how the call ended."""
        number = str(payload.get("call_id") or "")
        tool, arguments = self._calls.get(number, ("", {}))
        output = payload.get("output")
        text = output if isinstance(output, str) else json.dumps(output)
        code = re.search(_EXIT, text[:_HEAD])
        refused = text[:_HEAD].lower().startswith(_REFUSED)
        if code is None and not refused:
            if tool:
                yield from self._call(number, tool, arguments, UNKNOWN, texts_of(output))
            return
        if tool in _SHELLS and code is not None:
            command = arguments.get("cmd", arguments.get("command", ""))
            tool, arguments = "Bash", {"command": _last_word(command), **_folder(arguments)}
        failed = refused or (code is not None and code[1] != "0")
        yield from self._call(number, tool, arguments, FAILED if failed else OK, text)

    def _call(
        self, number: str, tool: str, arguments: Mapping[str, Any], ended: str, output: str
    ) -> Iterator[Entry]:
        """Yield a call once: a command has its result twice, as its end and as its output."""
        if number in self._told:
            return
        self._calls.pop(number, None)
        self._told[number] = None
        while len(self._told) > _MAX_TOLD:
            del self._told[next(iter(self._told))]
        yield replace(
            self._base,
            kind=CALL,
            id=number,
            tool=tool,
            arguments=arguments,
            ended=ended,
            output=output[-MAX_OUTPUT:],
            step=self.steps.get(number, ""),
        )


def _call_of(payload: Mapping[str, Any]) -> tuple[str, Mapping[str, Any]]:
    """Return the tool and the arguments of a call."""
    arguments = payload.get("arguments", payload.get("input"))
    try:
        data = json.loads(arguments) if isinstance(arguments, str) else arguments
    except (ValueError, RecursionError):
        data = {"input": arguments}
    return str(payload.get("name") or ""), data if isinstance(data, dict) else {"input": data}


def _ended_command(payload: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Return the record of a command's end, None for anything else."""
    item = payload.get("item")
    data = item if isinstance(item, dict) and item.get("type") == "CommandExecution" else payload
    return data if type(data.get("exit_code")) is int else None


def _last_word(command: object) -> str:
    """Return the command line of ``["bash", "-lc", line]``, or the text itself."""
    if isinstance(command, list):
        return str(command[-1]) if command else ""
    return str(command or "")


def _folder(data: Mapping[str, Any]) -> dict[str, str]:
    """Return where a command ran, as an argument of its call."""
    folder = data.get("workdir", data.get("cwd"))
    return {"workdir": folder} if isinstance(folder, str) and folder else {}

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
    COMPACTION,
    FAILED,
    INTERRUPT,
    OK,
    PROMPT,
    UNKNOWN,
    Entry,
    RecordReader,
    mapping,
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


class CodexReader(RecordReader):
    """Reads a rollout."""

    def __init__(self) -> None:
        super().__init__()
        self._base = Entry(kind=PROMPT)
        self._step = ""
        """The first of the calls that were made together: no result lies between."""
        self._turns: dict[str, int] = {}

    def read(self, data: Mapping[str, Any]) -> Iterator[Entry]:
        """Yield what one line tells."""
        payload = mapping(data.get("payload"))
        if not payload:
            return
        self._place(data, payload)
        what, item = payload.get("type"), mapping(payload.get("item"))
        command = item if item.get("type") == "CommandExecution" else payload
        said = item or payload
        text = (texts_of(said.get("content")) or str(said.get("message") or "")).strip()
        number = str(payload.get("call_id") or "")
        if data.get("type") == "compacted":
            yield replace(self._base, kind=COMPACTION, text=str(payload.get("message") or ""))
        elif what in _CALLS:
            self._step = self._step or number
            arguments = _arguments(payload.get("arguments", payload.get("input")))
            tool = str(payload.get("name") or "")
            self._begin(number, self._step, tool=tool, arguments=arguments)
        elif type(code := command.get("exit_code")) is int:
            number = str(command.get("call_id", command.get("id")) or "")
            output = str(command.get("aggregated_output") or "")
            output = f"Exit code {code}\n{output}" if code else output
            run = _run(command.get("command"), command)
            yield from self._call(number, FAILED if code else OK, output, **run)
        elif what in _OUTPUTS:
            self._step = ""
            yield from self._output(number, payload.get("output"))
        elif what == "turn_aborted":
            if payload.get("reason", _BY_USER) == _BY_USER:
                yield replace(self._base, kind=INTERRUPT, id=str(payload.get("turn_id") or ""))
        elif what == "task_complete":
            last = payload.get("last_agent_message")
            if isinstance(last, str) and last:
                self._answer = replace(self._base, kind=ANSWER, text=last)
            yield from self.finish()
        elif said.get("type") in ("UserMessage", "user_message") and text:
            yield from self.finish()
            turn = str(payload.get("turn_id") or "")
            count = self._turns[turn] = self._turns.get(turn, 0) + 1
            name = f"{turn}:{count}" if turn and count > 1 else turn
            yield replace(self._base, id=name, text=text)
        elif said.get("type") in ("AgentMessage", "agent_message") and text:
            self._answer = replace(self._base, kind=ANSWER, text=text)

    def _place(self, data: Mapping[str, Any], payload: Mapping[str, Any]) -> None:
        where = mapping(payload.get("thread_settings")) or payload
        session = payload.get("id" if data.get("type") == "session_meta" else "thread_id")
        cwd = where.get("cwd") if "command" not in where else None
        self._base = replace(
            self._base,
            at=read_time(data.get("timestamp")) or self._base.at,
            session=session if isinstance(session, str) and session else self._base.session,
            cwd=cwd if isinstance(cwd, str) and cwd else self._base.cwd,
        )

    def _output(self, number: str, output: object) -> Iterator[Entry]:
        """Yield a call by its output; ``unknown`` where that does not say how the call ended."""
        known = self._calls.get(number, {})
        tool, arguments = known.get("tool", ""), known.get("arguments", {})
        text = output if isinstance(output, str) else json.dumps(output)
        code = re.search(_EXIT, text[:_HEAD])
        refused = text[:_HEAD].lower().startswith(_REFUSED)
        if refused or code:
            is_run = tool in _SHELLS and code
            command = arguments.get("cmd", arguments.get("command", ""))
            failed = refused or (code is not None and code[1] != "0")
            run = _run(command, arguments) if is_run else {}
            yield from self._call(number, FAILED if failed else OK, text, **run)
        elif tool:
            yield from self._call(number, UNKNOWN, texts_of(output))

    def _call(self, number: str, ended: str, output: str, **call: Any) -> Iterator[Entry]:
        """Yield a call once: a command has its result twice, as its end and as its output."""
        if self._is_new(number):
            yield self._end(self._base, number, ended, output, **call)


def _arguments(arguments: object) -> Mapping[str, Any]:
    try:
        data = json.loads(arguments) if isinstance(arguments, str) else arguments
    except (ValueError, RecursionError):
        data = arguments
    return data if isinstance(data, dict) else {"input": data}


def _run(command: object, call: Mapping[str, Any]) -> dict[str, Any]:
    """Return the command line of ``["bash", "-lc", line]``, or the text itself, as a call."""
    words = command if isinstance(command, list) else [command]
    folder = call.get("workdir", call.get("cwd"))
    arguments = {"command": str((words or [""])[-1] or "")}
    arguments |= {"workdir": folder} if isinstance(folder, str) and folder else {}
    return {"tool": "Bash", "arguments": arguments}

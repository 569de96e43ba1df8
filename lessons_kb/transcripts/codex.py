"""A Codex rollout as entries."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from lessons_kb.transcripts.codex_tail import call_of, ended_result, output_result
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
    seconds,
    texts_of,
)
from lessons_kb.transcripts.results import Result

_CALLS = ("function_call", "custom_tool_call", "local_shell_call")
_OUTPUTS = ("function_call_output", "custom_tool_call_output")
_MAX_TOLD = 2_000
"""Ids of calls told last: a command has its result twice, close to each other."""


class CodexReader:
    """Reads one object after the other; ``finish`` tells what waited for more."""

    def __init__(self) -> None:
        self._base = Entry(kind=PROMPT)
        self._calls: dict[str, tuple[str, Mapping[str, Any]]] = {}
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
            remember(self._calls, str(payload.get("call_id")), call_of(payload))
            self._answer = None
        elif (result := ended_result(payload)) is not None:
            yield from self._call(result, OK)
        elif what in _OUTPUTS:
            yield from self._output(payload)
        elif what == "turn_aborted":
            yield replace(self._base, kind=INTERRUPT)
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
            at=seconds(data.get("timestamp")) or self._base.at,
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

    def _output(self, payload: Mapping[str, Any]) -> Iterator[Entry]:
        result = output_result(payload, self._calls)
        if result is not None:
            yield from self._call(result, OK)
            return
        number = str(payload.get("call_id") or "")
        tool, arguments = self._calls.get(number, ("", {}))
        if number in self._told or not tool:
            return
        output = texts_of(payload.get("output"))
        self._tell(number)
        yield replace(
            self._base,
            kind=CALL,
            id=number,
            tool=tool,
            arguments=arguments,
            ended=UNKNOWN,
            output=output[-MAX_OUTPUT:],
        )

    def _call(self, result: Result, ended: str) -> Iterator[Entry]:
        if result.id in self._told:
            return
        self._tell(result.id)
        yield replace(
            self._base,
            kind=CALL,
            id=result.id,
            tool=result.tool,
            arguments=result.arguments,
            ended=FAILED if result.failed else ended,
            output=result.text[-MAX_OUTPUT:],
        )

    def _tell(self, number: str) -> None:
        self._calls.pop(number, None)
        self._told[number] = None
        while len(self._told) > _MAX_TOLD:
            del self._told[next(iter(self._told))]

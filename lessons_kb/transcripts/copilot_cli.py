"""A Copilot CLI session's ``events.jsonl`` as entries."""

from __future__ import annotations

import json
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
    Entry,
    remember,
    texts_of,
)


class CopilotReader:
    """Reads one object after the other; ``finish`` tells what waited for more."""

    def __init__(self) -> None:
        self.steps: dict[str, str] = {}
        self._base = Entry(kind=PROMPT)
        self._calls: dict[str, tuple[str, Mapping[str, Any]]] = {}
        self._answer: Entry | None = None

    def read(self, data: Mapping[str, Any]) -> Iterator[Entry]:
        """Yield what one line tells."""
        event = data.get("data")
        event = event if isinstance(event, dict) else {}
        self._base = replace(self._base, at=read_time(data.get("timestamp")) or self._base.at)
        kind = data.get("type")
        if kind in ("session.start", "session.resume"):
            self._place(event)
        elif kind == "user.message":
            text = texts_of(event.get("content")).strip()
            if text:
                yield from self.finish()
                yield replace(self._base, id=str(data.get("id") or ""), text=text)
        elif kind == "assistant.message":
            text = texts_of(event.get("content")).strip()
            if text:
                self._answer = replace(self._base, kind=ANSWER, text=text)
        elif kind == "tool.execution_start":
            arguments = event.get("arguments")
            call = (
                str(event.get("toolName") or ""),
                arguments if isinstance(arguments, dict) else {},
            )
            remember(self._calls, str(event.get("toolCallId")), call)
            self._answer = None
        elif kind == "tool.execution_complete":
            yield self._ended(event)
        elif kind == "session.compaction_complete":
            text = str(event.get("summaryContent") or "")
            yield replace(self._base, kind=COMPACTION, text=text)
        elif kind == "abort":
            yield replace(self._base, kind=INTERRUPT)

    def finish(self) -> Iterator[Entry]:
        """Yield the answer that nothing followed."""
        if self._answer is not None:
            yield self._answer
        self._answer = None

    def _place(self, event: Mapping[str, Any]) -> None:
        context = event.get("context")
        cwd = context.get("cwd") if isinstance(context, dict) else None
        self._base = replace(
            self._base,
            session=str(event.get("sessionId") or self._base.session),
            cwd=cwd if isinstance(cwd, str) else self._base.cwd,
        )

    def _ended(self, event: Mapping[str, Any]) -> Entry:
        number = str(event.get("toolCallId") or "")
        tool, arguments = self._calls.pop(number, ("", {}))
        told = event.get("error") if event.get("success") is False else event.get("result")
        text = told if isinstance(told, str) else ""
        if isinstance(told, dict):
            text = str(told.get("message") or texts_of(told.get("content")) or json.dumps(told))
        return replace(
            self._base,
            kind=CALL,
            id=number,
            tool=tool,
            arguments=arguments,
            ended=FAILED if event.get("success") is False else OK,
            output=text[-MAX_OUTPUT:],
        )

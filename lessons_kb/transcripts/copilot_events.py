"""A Copilot CLI session's ``events.jsonl`` as entries."""

from __future__ import annotations

import json
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
    Entry,
    RecordReader,
    mapping,
    texts_of,
)


class CopilotReader(RecordReader):
    """Reads a session's events."""

    def __init__(self) -> None:
        super().__init__()
        self._base = Entry(kind=PROMPT)

    def read(self, data: Mapping[str, Any]) -> Iterator[Entry]:
        """Yield what one line tells."""
        event, kind = mapping(data.get("data")), data.get("type")
        self._base = base = replace(
            self._base, at=read_time(data.get("timestamp")) or self._base.at
        )
        number, text = str(event.get("toolCallId") or ""), texts_of(event.get("content")).strip()
        if kind in ("session.start", "session.resume"):
            cwd = mapping(event.get("context")).get("cwd")
            session = str(event.get("sessionId") or base.session)
            self._base = replace(
                base, session=session, cwd=cwd if isinstance(cwd, str) else base.cwd
            )
        elif kind == "user.message" and text:
            yield from self.finish()
            yield replace(base, id=str(data.get("id") or ""), text=text)
        elif kind == "assistant.message" and text:
            self._answer = replace(base, kind=ANSWER, text=text)
        elif kind == "tool.execution_start":
            tool, arguments = str(event.get("toolName") or ""), mapping(event.get("arguments"))
            self._begin(number, tool=tool, arguments=arguments)
        elif kind == "tool.execution_complete":
            failed = event.get("success") is False
            told = event.get("error") if failed else event.get("result")
            output = told if isinstance(told, str) else ""
            if isinstance(told, dict):
                output = told.get("message") or texts_of(told.get("content")) or json.dumps(told)
            yield self._end(base, number, FAILED if failed else OK, str(output))
        elif kind == "session.compaction_complete":
            yield replace(base, kind=COMPACTION, text=str(event.get("summaryContent") or ""))
        elif kind == "abort":
            yield replace(base, kind=INTERRUPT)

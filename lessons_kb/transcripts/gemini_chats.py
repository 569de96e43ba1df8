"""A Gemini CLI chat record as entries: one object a line, or one document in older versions."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from lessons_kb.text.sanitize import without
from lessons_kb.text.times import read_time
from lessons_kb.transcripts.entries import (
    ANSWER,
    CANCELLED,
    FAILED,
    OK,
    PROMPT,
    Entry,
    RecordReader,
    mapping,
    texts_of,
)

_HOOKS = ("<hook_context>", "</hook_context>")
_EXIT = re.compile(r"^Exit Code: (-?\d+)$", re.MULTILINE)
_SHELL = "run_shell_command"
_ENDED = {"success": OK, "error": FAILED, "cancelled": CANCELLED}
_CONTEXT = "<session_context>"


class GeminiReader(RecordReader):
    """Reads a chat record."""

    def __init__(self) -> None:
        super().__init__()
        self._session = ""

    def read(self, data: Mapping[str, Any]) -> Iterator[Entry]:
        """Yield what one line, or a whole document, tells."""
        session = data.get("sessionId")
        self._session = session if isinstance(session, str) and session else self._session
        messages = data.get("messages")
        for message in messages if isinstance(messages, list) else [data]:
            yield from self._message(mapping(message))

    def _message(self, data: Mapping[str, Any]) -> Iterator[Entry]:
        base = Entry(kind=PROMPT, at=read_time(data.get("timestamp")), session=self._session)
        text = without_hooks(texts_of(data.get("displayContent") or data.get("content")))
        if data.get("type") == "user":
            number = str(data.get("id") or "")
            if text and not text.startswith(_CONTEXT) and self._is_new(number):
                yield from self.finish()
                yield replace(base, text=text)
        elif data.get("type") == "gemini":
            calls = data.get("toolCalls")
            for call in calls if isinstance(calls, list) else ():
                if mapping(call).get("status") in _ENDED:
                    yield from self._call(call, base)
            if text:
                self._answer = replace(base, kind=ANSWER, text=text)

    def _call(self, call: Mapping[str, Any], base: Entry) -> Iterator[Entry]:
        number = str(call.get("id") or "")
        if not self._is_new(number):
            return
        self._answer = None
        result = call.get("result")
        first = mapping(result[0] if isinstance(result, list) and result else result)
        response = mapping(mapping(first.get("functionResponse")).get("response"))
        error = response.get("error")
        output = without_hooks(str(error or response.get("output") or ""))
        ended, tool = _ENDED[call["status"]], str(call.get("name") or "")
        code = _EXIT.search(output) if tool == _SHELL else None
        if ended == OK and (error or (code and code[1] != "0")):
            ended = FAILED
        base = replace(base, at=read_time(call.get("timestamp")) or base.at)
        arguments = mapping(call.get("args"))
        yield self._end(base, number, ended, output, tool=tool, arguments=arguments)


def without_hooks(text: str) -> str:
    """Return a text without what hooks have added to it."""
    return without(text, *_HOOKS).strip()

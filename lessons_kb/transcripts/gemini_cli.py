"""A Gemini CLI chat record as entries: one object a line, or one document in older versions."""

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
    CANCELLED,
    FAILED,
    MAX_OUTPUT,
    OK,
    PROMPT,
    UNKNOWN,
    Entry,
    texts_of,
    without,
)

_HOOKS = ("<hook_context>", "</hook_context>")
_EXIT = re.compile(r"^Exit Code: (-?\d+)$", re.MULTILINE)
_SHELL = "run_shell_command"
_ENDED = {"success": OK, "error": FAILED, "cancelled": CANCELLED}
_CONTEXT = "<session_context>"
_MAX_TOLD = 2_000


class GeminiReader:
    """Reads one object after the other; ``finish`` tells what waited for more."""

    def __init__(self) -> None:
        self.steps: dict[str, str] = {}
        self._session = ""
        self._answer: Entry | None = None
        self._told: dict[str, None] = {}

    def read(self, data: Mapping[str, Any]) -> Iterator[Entry]:
        """Yield what one line, or a whole document, tells."""
        session = data.get("sessionId")
        self._session = session if isinstance(session, str) and session else self._session
        messages = data.get("messages")
        if isinstance(messages, list):
            for message in messages:
                if isinstance(message, dict):
                    yield from self._message(message)
        else:
            yield from self._message(data)

    def finish(self) -> Iterator[Entry]:
        """Yield the answer that nothing followed."""
        if self._answer is not None:
            yield self._answer
        self._answer = None

    def _message(self, data: Mapping[str, Any]) -> Iterator[Entry]:
        base = Entry(kind=PROMPT, at=read_time(data.get("timestamp")), session=self._session)
        shown = data.get("displayContent")
        text = without_hooks(texts_of(shown or data.get("content")))
        number = str(data.get("id") or "")
        if data.get("type") == "user":
            if text and not text.startswith(_CONTEXT) and self._is_new(number):
                yield from self.finish()
                yield replace(base, text=text)
        elif data.get("type") == "gemini":
            calls = data.get("toolCalls")
            for call in calls if isinstance(calls, list) else ():
                if isinstance(call, dict) and call.get("status") in _ENDED:
                    yield from self._call(call, base)
            if text:
                self._answer = replace(base, kind=ANSWER, text=text)

    def _call(self, call: Mapping[str, Any], base: Entry) -> Iterator[Entry]:
        number = str(call.get("id") or "")
        if not self._is_new(number):
            return
        self._answer = None
        response = _response(call.get("result"))
        error = response.get("error")
        output = without_hooks(str(error or response.get("output") or ""))
        ended = _ENDED.get(str(call.get("status")), UNKNOWN)
        tool = str(call.get("name") or "")
        code = _EXIT.search(output) if tool == _SHELL else None
        if ended == OK and (error or (code and code[1] != "0")):
            ended = FAILED
        arguments = call.get("args")
        yield replace(
            base,
            kind=CALL,
            at=read_time(call.get("timestamp")) or base.at,
            id=number,
            tool=tool,
            arguments=arguments if isinstance(arguments, dict) else {},
            ended=ended,
            output=output[-MAX_OUTPUT:],
        )

    def _is_new(self, number: str) -> bool:
        if not number:
            return True
        if number in self._told:
            return False
        self._told[number] = None
        while len(self._told) > _MAX_TOLD:
            del self._told[next(iter(self._told))]
        return True


def read_message(data: bytes) -> str:
    """Return the id of the last message of the model in the end of a record, "" if there is none.

    A line that is cut is passed over.
    """
    for line in reversed(data.splitlines()):
        try:
            told = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(told, dict) and told.get("type") == "gemini":
            return str(told.get("id") or "")
    return ""


def without_hooks(text: str) -> str:
    """Return a text without what hooks have added to it."""
    return without(text, *_HOOKS).strip()


def _response(result: object) -> Mapping[str, Any]:
    first = result[0] if isinstance(result, list) and result else result
    answer = first.get("functionResponse") if isinstance(first, dict) else None
    response = answer.get("response") if isinstance(answer, dict) else None
    return response if isinstance(response, dict) else {}

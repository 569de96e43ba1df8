"""A Claude Code transcript as entries."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from lessons_kb.text.times import read_time
from lessons_kb.transcripts.entries import (
    ANSWER,
    CALL,
    CANCELLED,
    COMPACTION,
    FAILED,
    INTERRUPT,
    MAX_OUTPUT,
    OK,
    PROMPT,
    Entry,
    remember,
    texts_of,
    without,
)

_INTERRUPTED = "[Request interrupted by user"
_NOT_THE_USER = ("system", "poll_event")
_MACHINE = (
    *("<command-name>", "<command-message>", "<local-command-", "<bash-", "Caveat: "),
    *("<task-notification>", "<user-memory-input>"),
)
"""How messages begin that the client wrote in the user's name."""
_REMINDER = ("<system-reminder>", "</system-reminder>")
_CONTINUED = "This session is being continued from a previous conversation"


def is_from_client(text: str) -> bool:
    """Tell whether the client wrote a message in the user's name, where no mark says so."""
    return text.startswith((*_MACHINE, _INTERRUPTED, _CONTINUED))


class ClaudeReader:
    """Reads one object after the other; ``finish`` tells what waited for more."""

    def __init__(self, *, subagent: bool = False) -> None:
        self._subagent = subagent
        """What the record of a subagent holds is wanted: its calls, for nobody types there."""
        self._calls: dict[str, tuple[str, Mapping[str, Any]]] = {}
        self.steps: dict[str, str] = {}
        """Call → the message that made it."""
        self._places: dict[str, str] = {}
        """Where calls began: the line of a result has the directory after it."""
        self._answer: Entry | None = None
        self._message = ""

    def read(self, data: Mapping[str, Any]) -> Iterator[Entry]:
        """Yield what one line tells."""
        message = data.get("message")
        aside = data.get("isSidechain") is True
        if not isinstance(message, dict) or aside != self._subagent:
            return
        base = Entry(
            kind=PROMPT,
            at=read_time(data.get("timestamp")),
            session=str(data.get("sessionId") or ""),
            cwd=str(data.get("cwd") or ""),
        )
        content = message.get("content")
        blocks = content if isinstance(content, list) else [{"type": "text", "text": content}]
        blocks = [block for block in blocks if isinstance(block, dict)]
        if data.get("type") == "assistant":
            self._spoke(blocks, str(message.get("id") or ""), base)
        elif data.get("type") == "user":
            yield from self._asked(data, blocks, base)

    def finish(self) -> Iterator[Entry]:
        """Yield the answer that nothing followed."""
        if self._answer is not None:
            yield self._answer
        self._answer = None

    def _spoke(self, blocks: list[dict[str, Any]], message: str, base: Entry) -> None:
        for block in blocks:
            if block.get("type") == "tool_use":
                arguments = block.get("input")
                arguments = arguments if isinstance(arguments, dict) else {}
                call = (str(block.get("name") or ""), arguments)
                remember(self._calls, str(block.get("id")), call)
                remember(self._places, str(block.get("id")), base.cwd)
                remember(self.steps, str(block.get("id")), message)
                self._answer = None
            elif block.get("type") == "text" and isinstance(block.get("text"), str):
                before = self._answer.text if self._answer and message == self._message else ""
                text = f"{before}\n\n{block['text']}" if before else block["text"]
                self._answer = replace(base, kind=ANSWER, text=text)
                self._message = message

    def _asked(
        self, data: Mapping[str, Any], blocks: list[dict[str, Any]], base: Entry
    ) -> Iterator[Entry]:
        for block in blocks:
            if block.get("type") == "tool_result":
                yield self._ended(block, data, base)
        text = texts_of([block for block in blocks if block.get("type") == "text"]).strip()
        if not text or data.get("isMeta") is True or self._subagent:
            return
        if data.get("isCompactSummary") is True:
            yield replace(base, kind=COMPACTION, id=str(data.get("uuid") or ""), text=text)
        elif text.startswith(_INTERRUPTED):
            # A refused call says so itself, and the line "… for tool use" once more.
            ended = OK if text == f"{_INTERRUPTED}]" else CANCELLED
            yield replace(base, kind=INTERRUPT, id=str(data.get("uuid") or ""), ended=ended)
        elif not text.startswith(_MACHINE) and data.get("turnOrigin") not in _NOT_THE_USER:
            text = without(text, *_REMINDER).strip()
            if text:
                yield from self.finish()
                number = str(data.get("promptId") or data.get("uuid") or "")
                yield replace(base, id=number, text=text)

    def _ended(self, block: Mapping[str, Any], data: Mapping[str, Any], base: Entry) -> Entry:
        """Return the call whose result a block is."""
        number = str(block.get("tool_use_id") or "")
        tool, arguments = self._calls.pop(number, ("", {}))
        text = texts_of(block.get("content"))
        text = text.removeprefix("<tool_use_error>").removesuffix("</tool_use_error>")
        failed = block.get("is_error") is True
        return replace(
            base,
            kind=CALL,
            id=number,
            tool=tool,
            arguments=arguments,
            cwd=self._places.pop(number, base.cwd),
            step=self.steps.get(number, ""),
            ended=CANCELLED if _was_stopped(data) else FAILED if failed else OK,
            output=text[-MAX_OUTPUT:],
        )


def _was_stopped(data: Mapping[str, Any]) -> bool:
    """Return whether the user stopped a call that ran: a line says the same of a refused one."""
    details = data.get("toolUseResult")
    if isinstance(details, dict) and details.get("interrupted") is True:
        return True
    refused = data.get("toolDenialKind") == "user-rejected"
    return refused and data.get("toolDenialBeforeRun") is not True and "userFeedback" not in data

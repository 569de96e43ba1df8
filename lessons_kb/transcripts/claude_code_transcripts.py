"""A Claude Code transcript as entries."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from lessons_kb.text.sanitize import without
from lessons_kb.text.times import read_time
from lessons_kb.transcripts.entries import (
    ANSWER,
    CANCELLED,
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


class ClaudeReader(RecordReader):
    """Reads a transcript; of ``subagent`` records only the calls, for nobody types there."""

    def __init__(self, *, subagent: bool = False) -> None:
        super().__init__()
        self._subagent = subagent
        self._message = ""

    def read(self, data: Mapping[str, Any]) -> Iterator[Entry]:
        """Yield what one line tells."""
        message = mapping(data.get("message"))
        if not message or (data.get("isSidechain") is True) != self._subagent:
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

    def _spoke(self, blocks: list[dict[str, Any]], message: str, base: Entry) -> None:
        for block in blocks:
            if block.get("type") == "tool_use":
                # The line of the result has the directory after the call.
                tool, arguments = str(block.get("name") or ""), mapping(block.get("input"))
                number = str(block.get("id"))
                self._begin(number, message, tool=tool, arguments=arguments, cwd=base.cwd)
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
                text = texts_of(block.get("content"))
                text = text.removeprefix("<tool_use_error>").removesuffix("</tool_use_error>")
                ended = FAILED if block.get("is_error") is True else OK
                ended = CANCELLED if _was_stopped(data) else ended
                yield self._end(base, str(block.get("tool_use_id") or ""), ended, text)
        text = texts_of([block for block in blocks if block.get("type") == "text"]).strip()
        if not text or data.get("isMeta") is True or self._subagent:
            return
        line = replace(base, id=str(data.get("uuid") or ""))
        if data.get("isCompactSummary") is True:
            yield replace(line, kind=COMPACTION, text=text)
        elif text.startswith(_INTERRUPTED):
            # A refused call says so itself, and the line "… for tool use" once more.
            ended = OK if text == f"{_INTERRUPTED}]" else CANCELLED
            yield replace(line, kind=INTERRUPT, ended=ended)
        elif text.startswith(_MACHINE) or data.get("turnOrigin") in _NOT_THE_USER:
            return
        elif typed := without(text, *_REMINDER).strip():
            yield from self.finish()
            yield replace(line, id=str(data.get("promptId") or line.id), text=typed)


def _was_stopped(data: Mapping[str, Any]) -> bool:
    """Return whether the user stopped a call that ran: a line says the same of a refused one."""
    if mapping(data.get("toolUseResult")).get("interrupted") is True:
        return True
    refused = data.get("toolDenialKind") == "user-rejected"
    return refused and data.get("toolDenialBeforeRun") is not True and "userFeedback" not in data

"""The end of a Claude Code transcript: calls whose failure fires no hook stand only there."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from lessons_kb.transcripts.entries import seconds
from lessons_kb.transcripts.results import Result

_CALL, _RESULT = b'"tool_use"', b'"tool_result"'
_INTERRUPT = "[Request interrupted by user]"
"""With "for tool use" behind it, the refused call says so itself."""
_TELLING = (_CALL, _RESULT, _INTERRUPT.encode())
_SPEAKERS = ("user", "assistant")
_MAX_LINE_BYTES = 4_000_000


def read_results(data: bytes) -> tuple[list[Result], int]:
    """Return the results among whole lines, in order, and how many bytes those lines are.

    A partial last line is left for the next time; lines that are no JSON are passed over.
    """
    whole = data.rfind(b"\n") + 1
    calls: dict[str, tuple[str, Mapping[str, Any]]] = {}
    results: list[Result] = []
    for line in data[:whole].split(b"\n"):
        if any(mark in line for mark in _TELLING) and len(line) <= _MAX_LINE_BYTES:
            entry, blocks = _read(line)
            for block in blocks:
                if block.get("type") == "tool_use":
                    arguments = block.get("input")
                    name = str(block.get("name") or "")
                    calls[str(block.get("id"))] = (
                        name,
                        arguments if isinstance(arguments, dict) else {},
                    )
                elif block.get("type") == "tool_result":
                    results.append(result_of(block, calls, entry))
                elif block.get("type") == "text" and block.get("text") == _INTERRUPT:
                    number = str(entry.get("uuid") or "")
                    stopped = Result(id=number, tool="", arguments={}, failed=False, text="")
                    at = seconds(entry.get("timestamp"))
                    results.append(replace(stopped, at=at, interrupt=True))
    return results, whole


def _read(line: bytes) -> tuple[Mapping[str, Any], list[Mapping[str, Any]]]:
    """Return a line and the blocks of its message; none of what copies what was sent."""
    try:
        entry = json.loads(line)
    except (ValueError, RecursionError):
        return {}, []
    if not isinstance(entry, dict) or entry.get("type") not in _SPEAKERS:
        return {}, []
    if entry.get("isSidechain") is True:
        return {}, []
    message = entry.get("message")
    content = message.get("content") if isinstance(message, dict) else None
    if isinstance(content, str):
        content = [{"type": "text", "text": content}]
    blocks = content if isinstance(content, list) else []
    return entry, [block for block in blocks if isinstance(block, dict)]


def result_of(
    block: Mapping[str, Any],
    calls: Mapping[str, tuple[str, Mapping[str, Any]]],
    entry: Mapping[str, Any],
) -> Result:
    """Return the result that a block of a line tells; ``calls`` are the known ones by id."""
    number = str(block.get("tool_use_id") or "")
    tool, arguments = calls.get(number, ("", {}))
    content = block.get("content")
    if isinstance(content, list):
        texts = (part.get("text") for part in content if isinstance(part, dict))
        content = "\n".join(text for text in texts if isinstance(text, str))
    text = content if isinstance(content, str) else ""
    text = text.removeprefix("<tool_use_error>").removesuffix("</tool_use_error>")
    return Result(
        id=number,
        tool=tool,
        arguments=arguments,
        failed=block.get("is_error") is True,
        at=seconds(entry.get("timestamp")),
        cancelled=_was_stopped(entry),
        text=text,
    )


def _was_stopped(entry: Mapping[str, Any]) -> bool:
    """Return whether the user stopped a call that ran: a line says the same of a refused one."""
    details = entry.get("toolUseResult")
    if isinstance(details, dict) and details.get("interrupted") is True:
        return True
    refused = entry.get("toolDenialKind") == "user-rejected"
    return refused and entry.get("toolDenialBeforeRun") is not True and "userFeedback" not in entry

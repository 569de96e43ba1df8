"""Claude Code: its payloads read, its output written. Others that imitate it build on this."""

from __future__ import annotations

from typing import Any

from lessons_kb.agents.capabilities import (
    Payload,
    arguments_of,
    end_of,
    object_of,
    output_of,
    text_of,
)
from lessons_kb.guards.command_files import find_start
from lessons_kb.guards.tool_calls import kind_of_failure
from lessons_kb.session.state import Answer, HookEvent

_NOT_THE_USER = ("system", "poll_event")
"""Sources of a prompt that nobody wrote."""
_CONTINUED = ("resume", "fork")
"""Sources of a session that begins with the chat of an earlier one."""
_LONGEST_FORK = 30 * 86_400
"""Seconds since the last answer of a session that is copied."""
_NOTICE = "<task-notification>"
"""How the client tells the model in the user's name that something in the background ended."""
_SPAWNING = ("Agent", "Task")
_ANY_KIND = "general-purpose"
_MAX_ASKED = 20_000
_RESET = "Shell cwd was reset to"
"""After a command that left the project."""


def read(payload: Payload, event: str, seen: HookEvent) -> None:
    """Fill in what the payload tells; ``what`` "" is to be passed over."""
    source = payload.get("source")
    seen.session = text_of(payload, "session_id")
    seen.part = text_of(payload, "agent_id")
    if event == "SubagentStart":
        seen.tool = text_of(payload, "agent_type")
    elif event == "SessionStart" or not seen.part:
        # That of a subagent is the session's: what it does stands elsewhere.
        seen.transcript = text_of(payload, "transcript_path")
    if event == "SessionStart" and source == "compact":
        seen.what = "compact"
    elif event == "SessionStart":
        # What a hook has said stands in the chat that is resumed or copied: it would stand twice.
        seen.takes_context = source not in _CONTINUED
        seen.forked = source == "fork"
        passed = payload.get("seconds_since_last_response")
        if seen.forked and isinstance(passed, (int, float)) and 0 <= passed <= _LONGEST_FORK:
            seen.answered_ago = float(passed)
    elif event == "UserPromptSubmit":
        seen.text, seen.id = text_of(payload, "prompt"), text_of(payload, "prompt_id")
        if source in _NOT_THE_USER or seen.text.startswith(_NOTICE):
            seen.what = ""
    elif event == "Stop":
        seen.text = text_of(payload, "last_assistant_message")
    elif event in ("PreToolUse", "PostToolUse", "PostToolUseFailure"):
        read_call(payload, seen)
        if event == "PreToolUse" and seen.tool in _SPAWNING:
            asked = object_of(payload, "tool_input")
            kind = text_of(asked, "subagent_type") or _ANY_KIND
            seen.spawns = (kind, text_of(asked, "prompt")[:_MAX_ASKED])
        if event == "PostToolUse":
            seen.cwd = _begun_in(payload)
            _read_result(payload, seen)
        if event == "PostToolUseFailure":
            seen.output = end_of(text_of(payload, "error"))
            stopped = payload.get("is_interrupt") is True
            seen.outcome = "cancelled" if stopped else kind_of_failure(seen.output)


def read_call(payload: Payload, seen: HookEvent) -> None:
    """Fill in the tool, its arguments and the call's id."""
    seen.tool = text_of(payload, "tool_name")
    seen.arguments = arguments_of(payload, "tool_input")
    seen.id = text_of(payload, "tool_use_id")


def write(event: str, answer: Answer, message: str) -> dict[str, Any]:
    """Return the output for an event; a stop ends the turn, nothing makes it go on."""
    output: dict[str, Any] = {}
    specific: dict[str, Any] = {}
    if answer.context:
        specific["additionalContext"] = answer.context
    if reason := answer.refuse or answer.ask:
        specific["permissionDecision"] = "deny" if answer.refuse else "ask"
        specific["permissionDecisionReason"] = reason
    if specific:
        output["hookSpecificOutput"] = {"hookEventName": event, **specific}
    if message:
        output["systemMessage"] = message
    if answer.stop:
        output |= {"continue": False, "stopReason": answer.stop}
    return output


def _begun_in(payload: Payload) -> str:
    """Return the directory before a call: the payload has that after it."""
    cwd = text_of(payload, "cwd")
    command = text_of(object_of(payload, "tool_input"), "command")
    moved_back = _RESET in text_of(object_of(payload, "tool_response"), "stderr")
    return cwd if moved_back or "d" not in command else find_start(command, cwd)


def _read_result(payload: Payload, seen: HookEvent) -> None:
    response = object_of(payload, "tool_response")
    printed = "\n".join(p for name in ("stdout", "stderr") if (p := text_of(response, name)))
    seen.output = output_of(payload.get("tool_input"), printed)
    seen.outcome = "cancelled" if response.get("interrupted") is True else "ok"

"""Claude Code: its payloads read, its output written. Others that imitate it build on this."""

from __future__ import annotations

from typing import Any

from lessons_kb.agents.capabilities import (
    Payload,
    Said,
    arguments_of,
    end_of,
    object_of,
    output_of,
    text_of,
)
from lessons_kb.guards.command_files import find_start
from lessons_kb.guards.tool_calls import kind_of_failure

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


def _seconds_of(passed: object) -> float | None:
    """Return the seconds since a session answered, None for what is no such number."""
    if isinstance(passed, (int, float)) and 0 <= passed <= _LONGEST_FORK:
        return float(passed)
    return None


def read(payload: Payload, event: str) -> dict[str, Any] | None:
    """Return the fields of a hook event, None for what is to be passed over."""
    found: dict[str, Any] = {
        "session": text_of(payload, "session_id"),
        "part": text_of(payload, "agent_id"),
        "transcript": text_of(payload, "transcript_path"),
    }
    if event == "SessionStart":
        if payload.get("source") == "compact":
            return {**found, "what": "compact"}
        # What a hook has said stands in the chat that is resumed or copied: it would stand twice.
        found["takes_context"] = payload.get("source") not in _CONTINUED
        if payload.get("source") == "fork":
            found["forked"] = True
            found["answered_ago"] = _seconds_of(payload.get("seconds_since_last_response"))
        return found
    if event == "SubagentStart":
        return {**found, "tool": text_of(payload, "agent_type"), "transcript": ""}
    if found["part"]:
        found["transcript"] = ""  # it is the session's: what a subagent does stands elsewhere
    if event == "UserPromptSubmit":
        prompt = text_of(payload, "prompt")
        if payload.get("source") in _NOT_THE_USER or prompt.startswith(_NOTICE):
            return None
        return {**found, "text": text_of(payload, "prompt"), "id": text_of(payload, "prompt_id")}
    if event == "Stop":
        return {**found, "text": text_of(payload, "last_assistant_message")}
    if event in ("PreToolUse", "PostToolUse", "PostToolUseFailure"):
        found |= {**read_call(payload), **_ended(payload, event)}
    if event == "PreToolUse" and found["tool"] in _SPAWNING:
        asked = object_of(payload, "tool_input")
        kind = text_of(asked, "subagent_type") or _ANY_KIND
        found["spawns"] = (kind, text_of(asked, "prompt")[:_MAX_ASKED])
    if event == "PostToolUse":
        found["cwd"] = _begun_in(payload)
    return found


def read_call(payload: Payload) -> dict[str, Any]:
    """Return the tool, its arguments and the call's id."""
    return {
        "tool": text_of(payload, "tool_name"),
        "arguments": arguments_of(payload, "tool_input"),
        "id": text_of(payload, "tool_use_id"),
    }


def write(event: str, said: Said) -> dict[str, Any]:
    """Return the output for an event; a stop ends the turn, nothing makes it go on."""
    output: dict[str, Any] = {}
    specific: dict[str, Any] = {}
    if said.context:
        specific["additionalContext"] = said.context
    if said.ask:
        specific["permissionDecision"] = "ask"
        specific["permissionDecisionReason"] = said.ask
    if specific:
        output["hookSpecificOutput"] = {"hookEventName": event, **specific}
    if said.message:
        output["systemMessage"] = said.message
    if said.stop:
        output |= {"continue": False, "stopReason": said.stop}
    return output


def _begun_in(payload: Payload) -> str:
    """Return the directory before a call: the payload has that after it."""
    cwd = text_of(payload, "cwd")
    command = text_of(object_of(payload, "tool_input"), "command")
    moved_back = _RESET in text_of(object_of(payload, "tool_response"), "stderr")
    return cwd if moved_back or "d" not in command else find_start(command, cwd)


def _ended(payload: Payload, event: str) -> dict[str, str]:
    if event == "PostToolUse":
        response = object_of(payload, "tool_response")
        stopped = response.get("interrupted") is True
        printed = "\n".join(p for name in ("stdout", "stderr") if (p := text_of(response, name)))
        output = output_of(payload.get("tool_input"), printed)
        return {"outcome": "cancelled" if stopped else "ok", "output": output}
    if event == "PostToolUseFailure":
        error = end_of(text_of(payload, "error"))
        stopped = payload.get("is_interrupt") is True
        return {"outcome": "cancelled" if stopped else kind_of_failure(error), "output": error}
    return {}

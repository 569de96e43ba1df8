"""Claude Code: its payloads read, its output written. Others that imitate it build on this."""

from __future__ import annotations

from typing import Any

from lessons_kb.agents.payloads import Payload, end_of, object_of, output_of, text_of
from lessons_kb.calls.command_lines import find_start
from lessons_kb.calls.parse_call import kind_of_failure
from lessons_kb.session.state import Answer, HookEvent

_NOT_THE_USER = ("system", "poll_event")
"""Sources of a prompt that nobody wrote."""
_CONTINUED = ("resume", "fork")
"""Sources of a session that begins with the chat of an earlier one."""
_NOTICE = "<task-notification>"
"""How the client tells the model in the user's name that something in the background ended."""
_SPAWNING = ("Agent", "Task")
_ANY_KIND = "general-purpose"
_MAX_ASKED = 20_000
_RESET = "Shell cwd was reset to"
"""After a command that left the project."""


def read(payload: Payload, name: str, event: HookEvent) -> None:
    """Fill in what a payload of Claude Code tells besides what most tell."""
    source, response = payload.get("source"), object_of(payload, "tool_response")
    event.part = text_of(payload, "agent_id")
    if name == "SubagentStart":
        event.tool = text_of(payload, "agent_type")
    elif name == "SessionStart" or not event.part:
        # That of a subagent is the session's: what it does stands elsewhere.
        event.transcript = text_of(payload, "transcript_path")
    if name == "SessionStart" and source == "compact":
        event.what = "compact"
    elif name == "SessionStart":
        # What a hook has said stands in the chat that is resumed or copied: it would stand twice.
        event.takes_context = source not in _CONTINUED
    elif event.what == "prompt" and (source in _NOT_THE_USER or event.text.startswith(_NOTICE)):
        event.what = ""
    elif event.what == "before" and event.tool in _SPAWNING:
        asked = object_of(payload, "tool_input")
        kind = text_of(asked, "subagent_type") or _ANY_KIND
        event.spawns = (kind, text_of(asked, "prompt")[:_MAX_ASKED])
    elif name == "PostToolUse":
        # The payload has the directory after a call.
        event.cwd = text_of(payload, "cwd")
        command = text_of(object_of(payload, "tool_input"), "command")
        if "d" in command and _RESET not in text_of(response, "stderr"):
            event.cwd = find_start(command, event.cwd)
        printed = "\n".join(p for key in ("stdout", "stderr") if (p := text_of(response, key)))
        event.output = output_of(payload.get("tool_input"), printed)
        event.outcome = "cancelled" if response.get("interrupted") is True else "ok"
    elif name == "PostToolUseFailure":
        event.output = end_of(text_of(payload, "error"))
        stopped = payload.get("is_interrupt") is True
        event.outcome = "cancelled" if stopped else kind_of_failure(event.output)


def write(name: str, answer: Answer, message: str) -> dict[str, Any]:
    """Return the JSON object of an answer; Codex, which shares it, refuses any other key."""
    output: dict[str, Any] = {}
    specific: dict[str, Any] = {}
    if answer.context:
        specific["additionalContext"] = answer.context
    if reason := answer.refusal or answer.question:
        specific["permissionDecision"] = "deny" if answer.refusal else "ask"
        specific["permissionDecisionReason"] = reason
    if specific:
        output["hookSpecificOutput"] = {"hookEventName": name, **specific}
    if message:
        output["systemMessage"] = message
    if answer.stop_line:
        output |= {"continue": False, "stopReason": answer.stop_line}
    return output

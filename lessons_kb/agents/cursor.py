"""Cursor: its payloads read, its output written. It takes no context with a prompt."""

from __future__ import annotations

import json
from typing import Any

from lessons_kb.agents.capabilities import Payload, arguments_of, end_of, output_of, text_of
from lessons_kb.guards.tool_calls import kind_of_failure
from lessons_kb.session.state import Answer, HookEvent

_TEXTS = {"beforeSubmitPrompt": "prompt", "afterAgentResponse": "text"}


def read(payload: Payload, event: str, seen: HookEvent) -> None:
    """Fill in what the payload tells."""
    seen.session = text_of(payload, "conversation_id", "session_id")
    if event in _TEXTS:
        seen.text = text_of(payload, _TEXTS[event])
    if event == "beforeSubmitPrompt":
        seen.id = text_of(payload, "generation_id")
    if event == "beforeShellExecution":
        seen.tool = "Shell"
        seen.arguments = {"command": text_of(payload, "command")}
    if event in ("preToolUse", "postToolUse", "postToolUseFailure"):
        seen.tool = text_of(payload, "tool_name")
        seen.arguments = arguments_of(payload, "tool_input")
        seen.id = text_of(payload, "tool_use_id")
    if event == "postToolUse":
        _read_result(payload, seen)
    if event == "postToolUseFailure":
        seen.output = end_of(text_of(payload, "error_message"))
        seen.outcome = kind_of_failure(seen.output)
        if payload.get("failure_type") == "permission_denied":
            seen.outcome = "permission_denied"
        if payload.get("is_interrupt") is True:
            seen.outcome = "cancelled"


def write(_event: str, answer: Answer, message: str) -> dict[str, Any]:
    """Return the output for an event; never a ``followup_message``, which would go on."""
    output: dict[str, Any] = {}
    if answer.context:
        output["additional_context"] = answer.context
    if answer.ask:
        output |= {"permission": "ask", "user_message": answer.ask, "agent_message": answer.ask}
    elif message:
        output["user_message"] = message
    if answer.refuse:
        output |= {"permission": "deny", "agent_message": answer.refuse}
    return output


def _read_result(payload: Payload, seen: HookEvent) -> None:
    text = text_of(payload, "tool_output")
    try:
        result = json.loads(text) if text else {}
    except (ValueError, RecursionError):
        result = {}
    code = result.get("exitCode", result.get("exit_code")) if isinstance(result, dict) else None
    seen.outcome = "exec_error" if type(code) is int and code != 0 else "ok"
    seen.output = output_of(payload.get("tool_input"), text)

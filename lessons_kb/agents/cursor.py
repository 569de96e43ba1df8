"""Cursor: its payloads read, its output written. It takes no context with a prompt."""

from __future__ import annotations

import json
from typing import Any

from lessons_kb.agents.capabilities import (
    Payload,
    Said,
    arguments_of,
    end_of,
    output_of,
    text_of,
)
from lessons_kb.guards.tool_calls import kind_of_failure

_TEXTS = {"beforeSubmitPrompt": "prompt", "afterAgentResponse": "text"}


def read(payload: Payload, event: str) -> dict[str, Any] | None:
    """Return the fields of a hook event, None for what is to be passed over."""
    found: dict[str, Any] = {"session": text_of(payload, "conversation_id", "session_id")}
    if event in _TEXTS:
        found["text"] = text_of(payload, _TEXTS[event])
    if event == "beforeSubmitPrompt":
        found["id"] = text_of(payload, "generation_id")
    if event == "beforeShellExecution":
        found["tool"] = "Shell"
        found["arguments"] = {"command": text_of(payload, "command")}
    if event in ("preToolUse", "postToolUse", "postToolUseFailure"):
        found["tool"] = text_of(payload, "tool_name")
        found["arguments"] = arguments_of(payload, "tool_input")
        found["id"] = text_of(payload, "tool_use_id")
    if event == "postToolUse":
        found |= _ended(payload)
    if event == "postToolUseFailure":
        found |= _failed(payload)
    return found


def write(_event: str, said: Said) -> dict[str, Any]:
    """Return the output for an event; never a ``followup_message``, which would go on."""
    output: dict[str, Any] = {}
    if said.context:
        output["additional_context"] = said.context
    if said.ask:
        output |= {"permission": "ask", "user_message": said.ask, "agent_message": said.ask}
    elif said.message:
        output["user_message"] = said.message
    return output


def _ended(payload: Payload) -> dict[str, str]:
    text = text_of(payload, "tool_output")
    try:
        result = json.loads(text) if text else {}
    except (ValueError, RecursionError):
        result = {}
    code = result.get("exitCode", result.get("exit_code")) if isinstance(result, dict) else None
    failed = type(code) is int and code != 0
    output = output_of(payload.get("tool_input"), text)
    return {"outcome": "exec_error" if failed else "ok", "output": output}


def _failed(payload: Payload) -> dict[str, str]:

    error = end_of(text_of(payload, "error_message"))
    outcome = kind_of_failure(error)
    if payload.get("failure_type") == "permission_denied":
        outcome = "permission_denied"
    if payload.get("is_interrupt") is True:
        outcome = "cancelled"
    return {"outcome": outcome, "output": error}

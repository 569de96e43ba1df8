"""Cursor: its payloads read, its output written."""

from __future__ import annotations

import json
from typing import Any

from lessons_kb.agents.payloads import Payload, end_of, output_of, text_of
from lessons_kb.guards.tool_calls import kind_of_failure
from lessons_kb.session.state import Answer, HookEvent


def read(payload: Payload, event: str, seen: HookEvent) -> None:
    """Fill in what a payload of Cursor tells besides what most tell."""
    if event == "beforeShellExecution":
        seen.tool, seen.id = "Shell", ""
        seen.arguments = {"command": text_of(payload, "command")}
    if event == "postToolUse":
        text = text_of(payload, "tool_output")
        try:
            result = json.loads(text or "{}")
        except (ValueError, RecursionError):
            result = {}
        code = result.get("exitCode", result.get("exit_code")) if isinstance(result, dict) else None
        seen.outcome = "exec_error" if type(code) is int and code != 0 else "ok"
        seen.output = output_of(payload.get("tool_input"), text)
    if event == "postToolUseFailure":
        seen.output = end_of(text_of(payload, "error_message"))
        seen.outcome = kind_of_failure(seen.output)
        if payload.get("failure_type") == "permission_denied":
            seen.outcome = "permission_denied"
        if payload.get("is_interrupt") is True:
            seen.outcome = "cancelled"


def write(_event: str, answer: Answer, message: str) -> dict[str, Any]:
    """Write no ``followup_message``, which would go on."""
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

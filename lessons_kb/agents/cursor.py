"""Cursor: read its payloads and write its answers."""

from __future__ import annotations

import json
from typing import Any

from lessons_kb.agents.payloads import Payload, end_of, output_of, text_of
from lessons_kb.calls.failure_kinds import kind_of_failure
from lessons_kb.session.event_types import Answer, HookEvent


def read(payload: Payload, name: str, event: HookEvent) -> None:
    """Fill in the fields that are specific to payloads of Cursor."""
    if name == "beforeShellExecution":
        event.tool, event.id = "Shell", ""
        event.arguments = {"command": text_of(payload, "command")}
    if name == "postToolUse":
        text = text_of(payload, "tool_output")
        try:
            result = json.loads(text or "{}")
        except (ValueError, RecursionError):
            result = {}
        code = result.get("exitCode", result.get("exit_code")) if isinstance(result, dict) else None
        event.outcome = "exec_error" if type(code) is int and code != 0 else "ok"
        event.output = output_of(payload.get("tool_input"), text)
    if name == "postToolUseFailure":
        event.output = end_of(text_of(payload, "error_message"))
        event.outcome = kind_of_failure(event.output)
        if payload.get("failure_type") == "permission_denied":
            event.outcome = "permission_denied"
        if payload.get("is_interrupt") is True:
            event.outcome = "cancelled"


def write(_name: str, answer: Answer, message: str) -> dict[str, Any]:
    """Return the JSON object of an answer, never with a ``followup_message``.

    Cursor would submit such a message as the next prompt.
    """
    output: dict[str, Any] = {}
    if answer.context:
        output["additional_context"] = answer.context
    if question := answer.question:
        output |= {"permission": "ask", "user_message": question, "agent_message": question}
    elif message:
        output["user_message"] = message
    if answer.refusal:
        output |= {"permission": "deny", "agent_message": answer.refusal}
    return output

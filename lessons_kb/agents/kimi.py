"""Kimi Code: events as in Claude Code, but answers in a form of its own."""

from __future__ import annotations

from typing import Any

from lessons_kb.agents import claude_code
from lessons_kb.agents.payloads import Payload, end_of, object_of, output_of, text_of
from lessons_kb.calls.failure_kinds import kind_of_failure
from lessons_kb.session.event_types import Answer, HookEvent


def read(payload: Payload, name: str, event: HookEvent) -> None:
    """Fill in the fields that are specific to payloads of Kimi Code."""
    claude_code.read(payload, name, event)
    event.id = text_of(payload, "tool_call_id") or event.id
    if name == "UserPromptSubmit":
        event.text = event.text or _join_parts(payload.get("prompt"))
    elif name == "PostToolUse":
        event.output = output_of(payload.get("tool_input"), text_of(payload, "tool_output"))
    elif name == "PostToolUseFailure":
        error = text_of(payload, "error") or text_of(object_of(payload, "error"), "message")
        event.outcome = kind_of_failure(error)
        event.output = end_of(error)


def _join_parts(prompt: object) -> str:
    """Return the text of a prompt that is a list of parts."""
    parts = prompt if isinstance(prompt, list) else []
    texts = [text_of(part, "text") for part in parts if isinstance(part, dict)]
    return "\n".join(filter(None, texts))


def write(_name: str, answer: Answer, _message: str) -> dict[str, Any]:
    """Return the JSON object of an answer. Kimi Code shows the user no output of a hook."""
    if answer.refusal:
        decision = {
            "permissionDecision": "deny",
            "permissionDecisionReason": answer.refusal,
        }
        return {"hookSpecificOutput": decision}
    return {"message": answer.context} if answer.context else {}

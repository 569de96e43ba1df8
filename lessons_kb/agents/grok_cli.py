"""Grok CLI: events as in Claude Code. The shape of a tool's result shows whether it failed."""

from __future__ import annotations

from lessons_kb.agents import claude_code
from lessons_kb.agents.payloads import Payload, end_of, object_of, output_of, text_of
from lessons_kb.calls.failure_kinds import kind_of_failure
from lessons_kb.session.event_types import HookEvent
from lessons_kb.text.times import read_time

_FAILED = "Error: "


def read(payload: Payload, name: str, event: HookEvent) -> None:
    """Fill in the fields that are specific to payloads of Grok CLI.

    It reports a failed command as a success, and sends another Stop when a session ends.
    """
    event.at = read_time(payload.get("timestamp"))
    event.part = text_of(payload, "subagentType")
    if name == "Stop":
        event.text = text_of(payload, "lastAssistantMessage")
        event.what = event.what if payload.get("reason", "end_turn") == "end_turn" else ""
    elif name == "PostToolUse":
        result = object_of(payload, "tool_response")
        texts = [text_of(result, "output_for_prompt"), *filter(_is_error, result.values())]
        text = next(filter(None, texts), "")
        if result.get("exit_code"):
            event.outcome = "exec_error"
        elif _is_error(text):
            event.outcome = kind_of_failure(text)
        event.output = output_of(payload.get("tool_input"), text)
    elif name == "PostToolUseFailure":
        event.output = end_of(text_of(payload, "error"))
        event.outcome = kind_of_failure(event.output)


def _is_error(value: object) -> bool:
    return isinstance(value, str) and value.startswith(_FAILED)


write = claude_code.write

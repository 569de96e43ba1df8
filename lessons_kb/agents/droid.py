"""Factory droid: payloads as in Claude Code, but calls without ids and results as texts."""

from __future__ import annotations

from lessons_kb.agents import claude_code
from lessons_kb.agents.payloads import Payload, output_of, text_of
from lessons_kb.session.event_types import HookEvent


def read(payload: Payload, name: str, event: HookEvent) -> None:
    """Fill in the fields that are specific to payloads of droid.

    Droid reports only calls that succeed. It does not keep the text of a session's start in the
    chat, so a resumed session needs the text again.
    """
    claude_code.read(payload, name, event)
    if event.what == "start":
        event.takes_context = True
    elif name == "PostToolUse":
        event.output = output_of(payload.get("tool_input"), text_of(payload, "tool_response"))


write = claude_code.write

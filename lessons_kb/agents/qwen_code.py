"""Qwen Code: events as in Claude Code, results of tools as in Gemini CLI."""

from __future__ import annotations

from lessons_kb.agents import claude_code
from lessons_kb.agents.payloads import Payload, object_of, output_of, text_of
from lessons_kb.session.event_types import HookEvent


def read(payload: Payload, name: str, event: HookEvent) -> None:
    """Fill in the fields that are specific to payloads of Qwen Code.

    Qwen Code submits the results of calls as a prompt without text, which is no prompt of a user.
    """
    claude_code.read(payload, name, event)
    if event.what == "prompt" and not event.text:
        event.what = ""
    elif name == "PostToolUse":
        printed = text_of(object_of(payload, "tool_response"), "llmContent")
        event.output = output_of(payload.get("tool_input"), printed)


write = claude_code.write

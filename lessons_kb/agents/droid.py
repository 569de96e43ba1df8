"""Factory droid: payloads as in Claude Code, but calls without ids and results as texts."""

from __future__ import annotations

from typing import Any

from lessons_kb.agents import claude_code
from lessons_kb.agents.payloads import Payload, output_of, text_of
from lessons_kb.session.event_types import Answer, HookEvent

_NOTICE = "task-completion:"
"""The start of the id of a prompt that the client sends when a background task ends."""
_SPAWNED = "# Task Tool Invocation\n"
"""The start of a subagent's first prompt, which has rules for subagents in front of its task."""
_TASK, _TASK_END = "---BEGIN TASK FROM PARENT AGENT---\n", "\n---END TASK FROM PARENT AGENT---"


def read(payload: Payload, name: str, event: HookEvent) -> None:
    """Fill in the fields that are specific to payloads of droid.

    Droid reports only calls that succeed. It keeps no text of a hook in the chat, so a resumed
    session has lost as much as a session after a compaction.
    """
    claude_code.read(payload, name, event)
    if event.what == "start":
        event.takes_context = True
        if payload.get("source") == "resume":
            event.what = "compact"
    elif event.what == "prompt":
        if text_of(payload, "message_id").startswith(_NOTICE):
            event.what = ""
        elif event.text.startswith(_SPAWNED):
            event.text = event.text.partition(_TASK)[2].rpartition(_TASK_END)[0] or event.text
    elif name == "PostToolUse":
        event.output = output_of(payload.get("tool_input"), text_of(payload, "tool_response"))


def write(name: str, answer: Answer, message: str) -> dict[str, Any] | str:
    """Return the answer: the text itself for a prompt, and a JSON object for any other event.

    Droid shows the user the raw output of a hook: a part of it with a prompt, and all of it at the
    start of a session. The text of a prompt is readable. ``suppressOutput`` hides other texts from
    the user. The model gets all of them.
    """
    if name == "UserPromptSubmit" and answer.context:
        return answer.context
    output = claude_code.write(name, answer, message)
    if answer.context:
        output["suppressOutput"] = True
    return output

"""Qwen Code: events as in Claude Code, but results of tools as in Gemini CLI."""

from __future__ import annotations

from lessons_kb.agents import claude_code
from lessons_kb.agents.payloads import Payload, object_of, output_of, text_of
from lessons_kb.session.event_types import FailedCall, HookEvent

_SPAWNING, _DEFAULT_SUBAGENT = "agent", "general-purpose"
_FORK = "fork"
"""The kind of subagent that begins with the chat so far."""
_MAX_SUBAGENT_PROMPT = 20_000
"""In characters."""


def read(payload: Payload, name: str, event: HookEvent) -> None:
    """Fill in the fields that are specific to payloads of Qwen Code.

    Qwen Code submits the results of calls as a prompt without text, which is not a prompt of a
    user. ``tool_use_id`` differs in each event about a call, but ``tool_call_id`` is the same. The
    text of a session's start is in the system prompt, not in the chat, so a resumed session needs
    the text again.
    """
    claude_code.read(payload, name, event)
    event.id = text_of(payload, "tool_call_id") or event.id
    if event.what == "start":
        event.takes_context = True
    elif event.what == "prompt" and not event.text:
        event.what = ""
    elif event.what == "before" and event.tool == _SPAWNING:
        spawn = object_of(payload, "tool_input")
        kind = text_of(spawn, "subagent_type") or _DEFAULT_SUBAGENT
        event.spawns = (kind, text_of(spawn, "prompt")[:_MAX_SUBAGENT_PROMPT])
        event.spawn_inherits = kind == _FORK and text_of(spawn, "fork_turns") in ("", "all")
    elif name == "PostToolUse":
        printed = text_of(object_of(payload, "tool_response"), "llmContent")
        event.output = output_of(payload.get("tool_input"), printed)
    elif name == "PostToolBatch":
        event.failed_calls = _list_failed_calls(payload)


def _list_failed_calls(payload: Payload) -> list[FailedCall]:
    failed = []
    for call in claude_code.list_calls(payload):
        if call.get("status") != "error":
            continue
        error = _find_error(object_of(call, "tool_response"))
        failed.append(claude_code.read_failed_call(call, error, id_key="tool_call_id"))
    return failed


def _find_error(response: Payload) -> str:
    """Return the error in the parts of a call's response, or "" if there is none."""
    parts = response.get("response_parts")
    for part in parts if isinstance(parts, list) else ():
        if isinstance(part, dict):
            result = object_of(object_of(part, "functionResponse"), "response")
            error = text_of(result, "error")
            if error:
                return error
    return ""


write = claude_code.write

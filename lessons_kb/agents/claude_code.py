"""Claude Code: read its payloads and write its answers. Similar agents reuse this module."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from lessons_kb.agents.payloads import Payload, end_of, object_of, output_of, text_of
from lessons_kb.calls.failure_kinds import kind_of_failure
from lessons_kb.on_demand import COMMAND_LINES, load
from lessons_kb.session.event_types import Answer, FailedCall, HookEvent

_NOT_THE_USER = ("system", "poll_event")
"""Sources of a prompt that no user wrote."""
_CONTINUED = ("resume", "fork")
"""Sources of a session that begins with the chat of an earlier session."""
_NOTICE = "<task-notification>"
"""The start of a prompt that the client sends for the user when a background task ends."""
_SPAWNING = ("Agent", "Task")
_DEFAULT_SUBAGENT = "general-purpose"
_MAX_SUBAGENT_PROMPT = 20_000
"""In characters."""
_TOOL_ERROR, _TOOL_ERROR_END = "<tool_use_error>", "</tool_use_error>"
_RESET = "Shell cwd was reset to"
"""The line that the client prints after a command that left the project."""


def read(payload: Payload, name: str, event: HookEvent) -> None:
    """Fill in the fields that are specific to payloads of Claude Code."""
    source = payload.get("source")
    response = object_of(payload, "tool_response")
    event.part = text_of(payload, "agent_id")
    if name == "SubagentStart":
        event.tool = text_of(payload, "agent_type")
    elif name == "SessionStart" or not event.part:
        # A subagent's payload names the session's transcript, which lacks the subagent's calls.
        event.transcript = text_of(payload, "transcript_path")
    if name == "SessionStart" and source == "compact":
        event.what = "compact"
    elif name == "SessionStart":
        # The chat of a resumed or forked session already has the hook's text, which would appear
        # twice.
        event.takes_context = source not in _CONTINUED
    elif event.what == "prompt" and (source in _NOT_THE_USER or event.text.startswith(_NOTICE)):
        event.what = ""
    elif event.what == "before" and event.tool in _SPAWNING:
        arguments = object_of(payload, "tool_input")
        kind = text_of(arguments, "subagent_type") or _DEFAULT_SUBAGENT
        event.spawns = (kind, text_of(arguments, "prompt")[:_MAX_SUBAGENT_PROMPT])
    elif name == "PostToolUse":
        # This payload has the directory after the call.
        event.cwd = text_of(payload, "cwd")
        command = text_of(object_of(payload, "tool_input"), "command")
        if "d" in command and _RESET not in text_of(response, "stderr"):
            event.cwd = load(COMMAND_LINES).find_start(command, event.cwd)
        streams = (text_of(response, "stdout"), text_of(response, "stderr"))
        printed = "\n".join(filter(None, streams))
        event.output = output_of(payload.get("tool_input"), printed)
        event.outcome = "cancelled" if response.get("interrupted") is True else "ok"
    elif name == "PostToolBatch":
        event.failed_calls = _list_failed_calls(payload)
    elif name == "PostToolUseFailure":
        event.output = end_of(text_of(payload, "error"))
        stopped = payload.get("is_interrupt") is True
        event.outcome = "cancelled" if stopped else kind_of_failure(event.output)


def _list_failed_calls(payload: Payload) -> list[FailedCall]:
    """Return the calls of a batch that failed before the tool ran. No other event reports them."""
    failed = []
    for call in list_calls(payload):
        error = text_of(call, "tool_response")
        if not error.startswith(_TOOL_ERROR):
            continue
        message = error.removeprefix(_TOOL_ERROR).removesuffix(_TOOL_ERROR_END)
        failed.append(read_failed_call(call, message, id_key="tool_use_id"))
    return failed


def list_calls(payload: Payload) -> list[Payload]:
    """Return the calls of a batch."""
    calls = payload.get("tool_calls")
    return [call for call in calls if isinstance(call, dict)] if isinstance(calls, list) else []


def read_failed_call(call: Payload, error: str, *, id_key: str) -> FailedCall:
    """Return a call of a batch that failed with this error."""
    arguments = call.get("tool_input")
    return FailedCall(
        id=text_of(call, id_key),
        tool=text_of(call, "tool_name"),
        arguments=arguments if isinstance(arguments, (dict, str)) else {},
        outcome=kind_of_failure(error),
        output=end_of(error),
    )


_LIMITED, _NOTEBOOKS = ("Edit", "Write"), "NotebookEdit"
"""Tools whose rule can name files, and a tool whose rule cannot. A rule for one tool does not apply
to another tool, unlike a rule for permissions."""
_NOTEBOOK_ENDINGS = ("ipynb", "*", "/")


def limit_to_files(patterns: Sequence[str]) -> list[dict[str, str]]:
    """Return the keys that limit a handler to files, one object per handler.

    ``patterns`` are as in .gitignore, absolute or with ``**/`` in front.
    """
    rules = []
    for pattern in patterns:
        place = f"/{pattern}" if pattern.startswith("/") else pattern
        rules += [f"{tool}({place})" for tool in _LIMITED]
    if any(pattern.endswith(_NOTEBOOK_ENDINGS) for pattern in patterns):
        rules.append(_NOTEBOOKS)
    return [{"if": rule} for rule in rules]


def write(name: str, answer: Answer, message: str) -> dict[str, Any]:
    """Return the JSON object of an answer.

    Codex accepts the same object, and refuses one with any other key.
    """
    output: dict[str, Any] = {}
    specific: dict[str, Any] = {}
    if answer.context:
        specific["additionalContext"] = answer.context
    if reason := answer.refusal or answer.question:
        specific["permissionDecision"] = "deny" if answer.refusal else "ask"
        specific["permissionDecisionReason"] = reason
    if specific:
        output["hookSpecificOutput"] = {"hookEventName": name, **specific}
    if message:
        output["systemMessage"] = message
    if answer.go_on:
        output |= {"decision": "block", "reason": answer.go_on}
    if answer.stop_line:
        output |= {"continue": False, "stopReason": answer.stop_line}
    return output

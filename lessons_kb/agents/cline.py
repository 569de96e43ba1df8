"""Cline CLI: read the payloads and write the answers of its executable hooks."""

from __future__ import annotations

import json
from typing import Any

from lessons_kb.agents.payloads import Payload, end_of, object_of, output_of, text_of
from lessons_kb.calls.failure_kinds import kind_of_failure
from lessons_kb.session.event_types import Answer, HookEvent

_COMMANDS = "run_commands"


def read(payload: Payload, name: str, event: HookEvent) -> None:
    """Fill in the fields that are specific to payloads of Cline.

    A resumed session has a new task. Only ``rootSessionId`` stays the same.
    """
    root = text_of(object_of(payload, "sessionContext"), "rootSessionId")
    event.session = root or text_of(payload, "taskId")
    if text_of(payload, "parent_agent_id"):
        event.part = text_of(payload, "agent_id")
    if name == "TaskComplete":
        event.text = text_of(object_of(payload, "turn"), "outputText")
    call = object_of(payload, "tool_call", "tool_result")
    if event.what not in ("before", "after") or not call:
        return
    event.id, event.tool = text_of(call, "id"), text_of(call, "name")
    event.arguments = arguments = _read_arguments(event.tool, object_of(call, "input"))
    if event.what == "before":
        return
    output = call.get("output")
    printed = output if isinstance(output, str) else json.dumps(output, ensure_ascii=False)
    if _has_failed(payload, output):
        event.outcome = kind_of_failure(printed)
        event.output = end_of(printed)
    else:
        event.output = output_of(arguments, printed)


def _read_arguments(tool: str, given: Payload) -> Payload:
    """Return the arguments of a call. Several commands become one command line."""
    commands = given.get("commands")
    if tool != _COMMANDS or not isinstance(commands, list):
        return given
    return {"command": "\n".join(command for command in commands if isinstance(command, str))}


def _has_failed(payload: Payload, output: object) -> bool:
    """Return whether a call failed, or one of the commands, files or edits in it."""
    parts = output if isinstance(output, list) else [output]
    results = [part.get("success") for part in parts if isinstance(part, dict)]
    return False in results or object_of(payload, "postToolUse").get("success") is False


def write(_name: str, answer: Answer, _message: str) -> dict[str, Any]:
    """Return the JSON object of an answer. Cline shows the user no output of a hook."""
    return {"contextModification": answer.context} if answer.context else {}

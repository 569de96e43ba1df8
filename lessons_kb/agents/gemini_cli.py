"""Gemini CLI: its payloads read, its output written."""

from __future__ import annotations

import re
from typing import Any

from lessons_kb.agents.capabilities import (
    Payload,
    arguments_of,
    end_of,
    object_of,
    output_of,
    text_of,
    time_of,
)
from lessons_kb.guards.tool_calls import kind_of_failure
from lessons_kb.session.state import Answer, HookEvent

_OPENS, _CLOSES = "<hook_context>", "</hook_context>"
_EXIT = r"^Exit Code: (-?\d+)$"
_WRAPPED = "<untrusted_context>\n"
_CANCELLED = "Command was cancelled by user before it could "
_TIMED_OUT = "Command was automatically cancelled "
_TEXTS = {"BeforeAgent": "prompt", "AfterAgent": "prompt_response"}


def read(payload: Payload, event: str, seen: HookEvent) -> None:
    """Fill in what the payload tells. Calls have no id: their time tells them apart."""
    seen.session = text_of(payload, "session_id")
    seen.at = time_of(payload)
    seen.transcript = text_of(payload, "transcript_path")
    if event == "SessionStart":
        seen.takes_context = payload.get("source") != "resume"  # the chat has it still
    if event in _TEXTS:
        seen.text = without_hook_context(text_of(payload, _TEXTS[event]))
    if event in ("BeforeTool", "AfterTool"):
        seen.tool = text_of(payload, "tool_name")
        seen.arguments = arguments_of(payload, "tool_input")
    if event == "AfterTool":
        _read_result(payload, seen)
        # As of version 0.61: of a result with an error the model is given the error alone.
        seen.takes_context = not object_of(payload, "tool_response").get("error")


def without_hook_context(prompt: str) -> str:
    """Return a prompt without what hooks have put in front of it."""
    text = prompt.lstrip()
    while text.startswith(_OPENS) and (end := text.find(_CLOSES)) >= 0:
        text = text[end + len(_CLOSES) :].lstrip()
    return text


def write(event: str, answer: Answer, message: str) -> dict[str, Any]:
    """Return the output for an event; a call is refused, never allowed."""
    output: dict[str, Any] = {}
    if answer.context:
        specific = {"hookEventName": event, "additionalContext": answer.context}
        output["hookSpecificOutput"] = specific
    if answer.refuse:
        output |= {"decision": "deny", "reason": answer.refuse}
    if message:
        output["systemMessage"] = message
    if answer.stop:
        output |= {"continue": False, "stopReason": answer.stop}
    return output


def _read_result(payload: Payload, seen: HookEvent) -> None:
    response = object_of(payload, "tool_response")
    content = text_of(response, "llmContent")
    if error := response.get("error"):
        message = text_of(error, "message") if isinstance(error, dict) else str(error)
        seen.outcome, seen.output = kind_of_failure(message), end_of(message)
        return
    seen.output = output_of(payload.get("tool_input"), content)
    printed = content.removeprefix(_WRAPPED)
    code = re.search(_EXIT, printed, re.MULTILINE)
    if payload.get("tool_name") != "run_shell_command":
        seen.outcome = "ok"
    elif printed.startswith(_CANCELLED):
        seen.outcome = "cancelled"
    elif (code and code[1] != "0") or printed.startswith(_TIMED_OUT):
        seen.outcome = "exec_error"

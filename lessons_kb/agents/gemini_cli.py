"""Gemini CLI: its payloads read, its output written."""

from __future__ import annotations

import re
from typing import Any

from lessons_kb.agents.capabilities import (
    Payload,
    Said,
    arguments_of,
    end_of,
    object_of,
    output_of,
    text_of,
    time_of,
)
from lessons_kb.guards.tool_calls import kind_of_failure

_OPENS, _CLOSES = "<hook_context>", "</hook_context>"
_EXIT = r"^Exit Code: (-?\d+)$"
_WRAPPED = "<untrusted_context>\n"
_CANCELLED = "Command was cancelled by user before it could "
_TIMED_OUT = "Command was automatically cancelled "
_TEXTS = {"BeforeAgent": "prompt", "AfterAgent": "prompt_response"}


def read(payload: Payload, event: str) -> dict[str, Any] | None:
    """Return the fields of a hook event. Calls have no id: their time tells them apart."""
    found: dict[str, Any] = {
        "session": text_of(payload, "session_id"),
        "at": time_of(payload),
        "transcript": text_of(payload, "transcript_path"),
    }
    if event in _TEXTS:
        found["text"] = without_hook_context(text_of(payload, _TEXTS[event]))
    if event in ("BeforeTool", "AfterTool"):
        found["tool"] = text_of(payload, "tool_name")
        found["arguments"] = arguments_of(payload, "tool_input")
    if event == "AfterTool":
        found |= _ended(payload)
        # As of version 0.61: of a result with an error the model is given the error alone.
        found["takes_context"] = not object_of(payload, "tool_response").get("error")
    return found


def without_hook_context(prompt: str) -> str:
    """Return a prompt without what hooks have put in front of it."""
    text = prompt.lstrip()
    while text.startswith(_OPENS) and (end := text.find(_CLOSES)) >= 0:
        text = text[end + len(_CLOSES) :].lstrip()
    return text


def write(event: str, said: Said) -> dict[str, Any]:
    """Return the output for an event; no decision is ever made for the user."""
    output: dict[str, Any] = {}
    if said.context:
        output["hookSpecificOutput"] = {"hookEventName": event, "additionalContext": said.context}
    if said.message:
        output["systemMessage"] = said.message
    if said.stop:
        output |= {"continue": False, "stopReason": said.stop}
    return output


def _ended(payload: Payload) -> dict[str, str]:

    response = object_of(payload, "tool_response")
    content = text_of(response, "llmContent")
    error = response.get("error")
    if error:
        message = text_of(error, "message") if isinstance(error, dict) else str(error)
        return {"outcome": kind_of_failure(message), "output": end_of(message)}
    command = payload.get("tool_name") == "run_shell_command"
    outcome = _end_of_command(content.removeprefix(_WRAPPED)) if command else "ok"
    return {"outcome": outcome, "output": output_of(payload.get("tool_input"), content)}


def _end_of_command(content: str) -> str:
    if content.startswith(_CANCELLED):
        return "cancelled"
    code = re.search(_EXIT, content, re.MULTILINE)
    failed = (code and code[1] != "0") or content.startswith(_TIMED_OUT)
    return "exec_error" if failed else "ok"

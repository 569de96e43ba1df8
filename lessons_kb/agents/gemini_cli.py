"""Gemini CLI: calls have no id, their time tells them apart."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

from lessons_kb.agents import claude_code
from lessons_kb.agents.payloads import Payload, end_of, object_of, output_of, text_of
from lessons_kb.guards.tool_calls import kind_of_failure
from lessons_kb.session.state import Answer, HookEvent
from lessons_kb.text.times import read_time

_OPENS, _CLOSES = "<hook_context>", "</hook_context>"
"""Around what hooks have put in front of a prompt."""
_EXIT = r"^Exit Code: (-?\d+)$"
_WRAPPED = "<untrusted_context>\n"
_CANCELLED = "Command was cancelled by user before it could "
_TIMED_OUT = "Command was automatically cancelled "


def read(payload: Payload, event: str, seen: HookEvent) -> None:
    """Read Gemini CLI's. Calls have no id: their time tells them apart."""
    seen.at = read_time(payload.get("timestamp"))
    seen.transcript = text_of(payload, "transcript_path")
    if event == "SessionStart":
        seen.takes_context = payload.get("source") != "resume"  # the chat has it still
    seen.text = seen.text.lstrip()
    while seen.text.startswith(_OPENS) and (end := seen.text.find(_CLOSES)) >= 0:
        seen.text = seen.text[end + len(_CLOSES) :].lstrip()
    if event != "AfterTool":
        return
    response = object_of(payload, "tool_response")
    error, content = response.get("error"), text_of(response, "llmContent")
    # As of version 0.61: of a result with an error the model is given the error alone.
    seen.takes_context = not error
    if error:
        message = text_of(error, "message") if isinstance(error, dict) else str(error)
        seen.outcome, seen.output = kind_of_failure(message), end_of(message)
        return
    seen.output = output_of(payload.get("tool_input"), content)
    printed = content.removeprefix(_WRAPPED)
    code = re.search(_EXIT, printed, re.MULTILINE)
    if seen.tool != "run_shell_command":
        seen.outcome = "ok"
    elif printed.startswith(_CANCELLED):
        seen.outcome = "cancelled"
    elif (code and code[1] != "0") or printed.startswith(_TIMED_OUT):
        seen.outcome = "exec_error"


def write(event: str, answer: Answer, message: str) -> dict[str, Any]:
    """Return what Gemini CLI takes for an answer; ``message`` is for its user."""
    output = claude_code.write(event, replace(answer, refuse=""), message)
    return output | ({"decision": "deny", "reason": answer.refuse} if answer.refuse else {})

"""Gemini CLI: calls have no id, their time tells them apart."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

from lessons_kb.agents import claude_code
from lessons_kb.agents.payloads import Payload, end_of, object_of, output_of, text_of
from lessons_kb.calls.parse_call import kind_of_failure
from lessons_kb.session.state import Answer, HookEvent
from lessons_kb.text.times import read_time

_OPENS, _CLOSES = "<hook_context>", "</hook_context>"
"""Around what hooks have put in front of a prompt."""
_EXIT = r"^Exit Code: (-?\d+)$"
_WRAPPED = "<untrusted_context>\n"
_CANCELLED = "Command was cancelled by user before it could "
_TIMED_OUT = "Command was automatically cancelled "


def read(payload: Payload, name: str, event: HookEvent) -> None:
    """Read Gemini CLI's. Calls have no id: their time tells them apart."""
    event.at = read_time(payload.get("timestamp"))
    event.transcript = text_of(payload, "transcript_path")
    if name == "SessionStart":
        event.takes_context = payload.get("source") != "resume"  # the chat has it still
    event.text = event.text.lstrip()
    while event.text.startswith(_OPENS) and (end := event.text.find(_CLOSES)) >= 0:
        event.text = event.text[end + len(_CLOSES) :].lstrip()
    if name != "AfterTool":
        return
    response = object_of(payload, "tool_response")
    error, content = response.get("error"), text_of(response, "llmContent")
    # As of version 0.61: of a result with an error the model is given the error alone.
    event.takes_context = not error
    if error:
        message = text_of(error, "message") if isinstance(error, dict) else str(error)
        event.outcome, event.output = kind_of_failure(message), end_of(message)
        return
    event.output = output_of(payload.get("tool_input"), content)
    printed = content.removeprefix(_WRAPPED)
    code = re.search(_EXIT, printed, re.MULTILINE)
    if event.tool != "run_shell_command":
        event.outcome = "ok"
    elif printed.startswith(_CANCELLED):
        event.outcome = "cancelled"
    elif (code and code[1] != "0") or printed.startswith(_TIMED_OUT):
        event.outcome = "exec_error"


def write(name: str, answer: Answer, message: str) -> dict[str, Any]:
    """Return what Gemini CLI takes for an answer; ``message`` is for its user."""
    output = claude_code.write(name, replace(answer, refusal=""), message)
    return output | ({"decision": "deny", "reason": answer.refusal} if answer.refusal else {})

"""Gemini CLI: its calls have no id and are distinguished by their times."""

from __future__ import annotations

import re
from typing import Any

from lessons_kb.agents import claude_code
from lessons_kb.agents.payloads import Payload, end_of, object_of, output_of, text_of
from lessons_kb.calls.failure_kinds import kind_of_failure
from lessons_kb.session.event_types import Answer, HookEvent
from lessons_kb.text.times import read_time
from lessons_kb.values import replace

_OPENS, _CLOSES = "<hook_context>", "</hook_context>"
"""The tags around the context that hooks put before a prompt."""
_EXIT = r"^Exit Code: (-?\d+)$"
_WRAPPED = "<untrusted_context>\n"
_CANCELLED = "Command was cancelled by user before it could "
_TIMED_OUT = "Command was automatically cancelled "


def read(payload: Payload, name: str, event: HookEvent) -> None:
    """Fill in the fields that are specific to payloads of Gemini CLI."""
    event.at = read_time(payload.get("timestamp"))
    event.transcript = text_of(payload, "transcript_path")
    if name == "SessionStart":
        event.takes_context = payload.get("source") != "resume"  # a resumed chat has it already
    event.text = _strip_hook_context(event.text)
    if name != "AfterTool":
        return
    response = object_of(payload, "tool_response")
    error = response.get("error")
    content = text_of(response, "llmContent")
    # In version 0.61, if a result has an error, the model sees only the error.
    event.takes_context = not error
    if error:
        message = text_of(error, "message") if isinstance(error, dict) else str(error)
        event.outcome = kind_of_failure(message)
        event.output = end_of(message)
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


def _strip_hook_context(prompt: str) -> str:
    """Return a prompt without the context that hooks put before it."""
    prompt = prompt.lstrip()
    while prompt.startswith(_OPENS):
        _context, closes, rest = prompt.partition(_CLOSES)
        if not closes:
            break
        prompt = rest.lstrip()
    return prompt


def write(name: str, answer: Answer, message: str) -> dict[str, Any]:
    """Return the JSON object of an answer. ``message`` is shown to the user."""
    output = claude_code.write(name, replace(answer, refusal=""), message)
    if answer.refusal:
        output |= {"decision": "deny", "reason": answer.refusal}
    return output

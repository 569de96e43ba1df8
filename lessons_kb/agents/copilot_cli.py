"""GitHub Copilot CLI: its payloads in both spellings, its output written.

As version 1.0.102 does it, which takes more than its documentation says: context with each prompt,
before and after a call. A command that ends badly is a success to it, with the exit code in the
last line. What a user is shown are progress messages in front of the output.
"""

from __future__ import annotations

import json
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

_EXIT = r"<(?:shellId: [^\n>]{0,80} completed with exit code|exited with exit code) (-?\d+)>\s*\Z"
_TAIL = 200


def read(payload: Payload, event: str, seen: HookEvent) -> None:
    """Fill in what the payload tells."""
    seen.session = text_of(payload, "session_id", "sessionId")
    seen.at = time_of(payload)
    if event == "SessionStart":
        # `copilot -p` has it, and so has a terminal, whose session begins with its first prompt:
        # nothing tells the two apart, and to the former a question would be a denial.
        seen.unattended = bool(text_of(payload, "initial_prompt", "initialPrompt"))
    if event == "UserPromptSubmit":
        seen.text = text_of(payload, "prompt")
    if event == "Stop":  # what was answered stands in its record alone
        seen.transcript = text_of(payload, "transcript_path", "transcriptPath")
        seen.answer_recorded = True
    if event in ("PreToolUse", "PostToolUse", "PostToolUseFailure"):
        seen.tool = text_of(payload, "tool_name", "toolName")
        seen.arguments = arguments_of(payload, "tool_input", "toolArgs")
        seen.id = text_of(payload, "tool_use_id", "toolCallId")
    if event == "PostToolUse":
        _read_result(payload, seen)
    if event == "PostToolUseFailure":
        error = text_of(payload, "error") or text_of(object_of(payload, "error"), "message")
        seen.outcome, seen.output = kind_of_failure(error), end_of(error)


def write(event: str, answer: Answer, _message: str) -> dict[str, Any]:
    """Return the output for an event."""
    output: dict[str, Any] = {}
    if answer.context and event == "PreToolUse":
        specific = {"hookEventName": event, "additionalContext": answer.context}
        output["hookSpecificOutput"] = specific
    elif answer.context:
        output["additionalContext"] = answer.context
    if reason := answer.refuse or answer.ask:
        decision = "deny" if answer.refuse else "ask"
        output |= {"permissionDecision": decision, "permissionDecisionReason": reason}
    return output


def write_progress(message: str) -> str:
    """Return the lines to print in front of an output so that the user sees a message."""
    lines = [{"type": "progress", "message": line} for line in message.splitlines() if line]
    return "".join(f"{json.dumps(line)}\n" for line in lines)


def _read_result(payload: Payload, seen: HookEvent) -> None:
    result = object_of(payload, "tool_result", "toolResult")
    text = text_of(result, "text_result_for_llm", "textResultForLlm")
    verdict = text_of(result, "result_type", "resultType")
    code = re.search(_EXIT, text[-_TAIL:])
    seen.outcome = "exec_error" if code and code[1] != "0" else "ok"
    if verdict in ("failure", "denied", "rejected"):
        seen.outcome = kind_of_failure(text) if verdict == "failure" else "permission_denied"
    seen.output = output_of(payload.get("tool_input"), text)

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
    Said,
    arguments_of,
    end_of,
    object_of,
    output_of,
    text_of,
    time_of,
)
from lessons_kb.guards.tool_calls import kind_of_failure

_EXIT = r"<(?:shellId: [^\n>]{0,80} completed with exit code|exited with exit code) (-?\d+)>\s*\Z"
_TAIL = 200


def read(payload: Payload, event: str) -> dict[str, Any] | None:
    """Return the fields of a hook event, None for what is to be passed over."""
    found: dict[str, Any] = {
        "session": text_of(payload, "session_id", "sessionId"),
        "at": time_of(payload),
    }
    if event == "SessionStart":
        # `copilot -p` has it, and so has a terminal, whose session begins with its first prompt:
        # nothing tells the two apart, and to the former a question would be a denial.
        found["unattended"] = bool(text_of(payload, "initial_prompt", "initialPrompt"))
    if event == "UserPromptSubmit":
        found["text"] = text_of(payload, "prompt")
    if event == "Stop":  # what was answered stands in its record alone
        found["transcript"] = text_of(payload, "transcript_path", "transcriptPath")
    if event in ("PreToolUse", "PostToolUse", "PostToolUseFailure"):
        found["tool"] = text_of(payload, "tool_name", "toolName")
        found["arguments"] = arguments_of(payload, "tool_input", "toolArgs")
        found["id"] = text_of(payload, "tool_use_id", "toolCallId")
    if event == "PostToolUse":
        found |= _ended(payload)
    if event == "PostToolUseFailure":
        error = text_of(payload, "error") or text_of(object_of(payload, "error"), "message")
        found |= {"outcome": kind_of_failure(error), "output": end_of(error)}
    return found


def write(event: str, said: Said) -> dict[str, Any]:
    """Return the output for an event."""
    output: dict[str, Any] = {}
    if said.context and event == "PreToolUse":
        specific = {"hookEventName": event, "additionalContext": said.context}
        output["hookSpecificOutput"] = specific
    elif said.context:
        output["additionalContext"] = said.context
    if said.ask:
        output |= {"permissionDecision": "ask", "permissionDecisionReason": said.ask}
    return output


def write_progress(message: str) -> str:
    """Return the lines to print in front of an output so that the user sees a message."""
    lines = [{"type": "progress", "message": line} for line in message.splitlines() if line]
    return "".join(f"{json.dumps(line)}\n" for line in lines)


def _exit_code(text: str) -> str:
    found = re.search(_EXIT, text[-_TAIL:])
    return found[1] if found else ""


def _ended(payload: Payload) -> dict[str, str]:
    result = object_of(payload, "tool_result", "toolResult")
    text = text_of(result, "text_result_for_llm", "textResultForLlm")
    verdict = text_of(result, "result_type", "resultType")
    code = _exit_code(text)
    outcome = "exec_error" if code not in ("", "0") else "ok"
    if verdict in ("failure", "denied", "rejected"):
        outcome = kind_of_failure(text) if verdict == "failure" else "permission_denied"
    return {"outcome": outcome, "output": output_of(payload.get("tool_input"), text)}

"""Copilot CLI: payloads in both spellings of version 1.0.102, which documents only some."""

from __future__ import annotations

import json
import re
from typing import Any

from lessons_kb.agents.payloads import Payload, end_of, object_of, output_of, text_of
from lessons_kb.calls.failure_kinds import kind_of_failure
from lessons_kb.session.event_types import Answer, HookEvent
from lessons_kb.text.times import read_time

_EXIT = r"<(?:shellId: [^\n>]{0,80} completed with exit code|exited with exit code) (-?\d+)>\s*\Z"
_TAIL = 200


def read(payload: Payload, name: str, event: HookEvent) -> None:
    """Fill in the fields that are specific to payloads of Copilot CLI.

    It reports a failed command as a success. The last line of the result has the exit code.
    """
    event.at = read_time(payload.get("timestamp"))
    if name == "SessionStart":
        # Both `copilot -p` and a terminal send it, because a session in a terminal begins with its
        # first prompt. Nothing distinguishes the two, and `copilot -p` denies a call that asks.
        event.unattended = bool(text_of(payload, "initial_prompt", "initialPrompt"))
    if name == "Stop":  # only the agent's record has the answer
        event.transcript = text_of(payload, "transcript_path", "transcriptPath")
        event.answer_recorded = True
    if name == "PostToolUse":
        result = object_of(payload, "tool_result", "toolResult")
        text = text_of(result, "text_result_for_llm", "textResultForLlm")
        verdict = text_of(result, "result_type", "resultType")
        code = re.search(_EXIT, text[-_TAIL:])
        event.outcome = "exec_error" if code and code[1] != "0" else "ok"
        if verdict in ("failure", "denied", "rejected"):
            event.outcome = kind_of_failure(text) if verdict == "failure" else "permission_denied"
        event.output = output_of(payload.get("tool_input"), text)
    if name == "PostToolUseFailure":
        error = text_of(payload, "error") or text_of(object_of(payload, "error"), "message")
        event.outcome = kind_of_failure(error)
        event.output = end_of(error)


def write(name: str, answer: Answer, _message: str) -> dict[str, Any]:
    """Return the JSON object of an answer. Use ``write_progress`` for messages to the user."""
    output: dict[str, Any] = {}
    if answer.context and name == "PreToolUse":
        specific = {"hookEventName": name, "additionalContext": answer.context}
        output["hookSpecificOutput"] = specific
    elif answer.context:
        output["additionalContext"] = answer.context
    if reason := answer.refusal or answer.question:
        decision = "deny" if answer.refusal else "ask"
        output |= {"permissionDecision": decision, "permissionDecisionReason": reason}
    return output


def write_progress(message: str) -> str:
    """Return the lines that precede an answer so that Copilot CLI shows the user a message."""
    lines = [{"type": "progress", "message": line} for line in message.splitlines() if line]
    return "".join(f"{json.dumps(line)}\n" for line in lines)

"""VS Code: its payloads in both spellings, its output written. No hook tells of a failed call."""

from __future__ import annotations

import re
from typing import Any

from lessons_kb.agents import claude_code
from lessons_kb.agents.capabilities import (
    Payload,
    Said,
    end_of,
    output_of,
    text_of,
    time_of,
)
from lessons_kb.guards.tool_calls import kind_of_failure

_FAILED = ("error:", "error while calling tool", "tool call failed")
_EXIT = r"exit(?:ed with)? code:? (-?\d+)"
_TERMINALS = ("run_in_terminal", "runInTerminal", "runTerminalCommand")


def read(payload: Payload, event: str) -> dict[str, Any] | None:
    """Return the fields of a hook event, None for what is to be passed over."""
    found: dict[str, Any] = {
        "session": text_of(payload, "sessionId", "session_id"),
        "at": time_of(payload),
    }
    if event == "UserPromptSubmit":
        found["text"] = text_of(payload, "prompt")
    if event == "Stop":
        found["text"] = text_of(payload, "last_assistant_message")
    if event in ("PreToolUse", "PostToolUse"):
        found |= claude_code.read_call(payload)
    if event == "PostToolUse":
        found |= _ended(payload)
    return found


def write(event: str, said: Said) -> dict[str, Any]:
    """Return the output for an event."""
    return claude_code.write(event, said)


def _ended(payload: Payload) -> dict[str, str]:

    text = text_of(payload, "tool_response")
    terminal = text_of(payload, "tool_name") in _TERMINALS
    codes = re.findall(_EXIT, end_of(text), re.IGNORECASE) if terminal else []
    outcome = "ok"
    if text.lower().startswith(_FAILED) or (codes and codes[-1] != "0"):
        outcome = "exec_error" if codes else kind_of_failure(text)
    return {"outcome": outcome, "output": output_of(payload.get("tool_input"), text)}

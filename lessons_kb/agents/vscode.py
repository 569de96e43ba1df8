"""VS Code: its payloads in both spellings, its output written. No hook tells of a failed call."""

from __future__ import annotations

import re

from lessons_kb.agents import claude_code
from lessons_kb.agents.capabilities import Payload, end_of, output_of, text_of, time_of
from lessons_kb.guards.tool_calls import kind_of_failure
from lessons_kb.session.state import HookEvent

write = claude_code.write
_FAILED = ("error:", "error while calling tool", "tool call failed")
_EXIT = r"exit(?:ed with)? code:? (-?\d+)"
_TERMINALS = ("run_in_terminal", "runInTerminal", "runTerminalCommand")


def read(payload: Payload, event: str, seen: HookEvent) -> None:
    """Fill in what the payload tells."""
    seen.session = text_of(payload, "sessionId", "session_id")
    seen.at = time_of(payload)
    if event == "UserPromptSubmit":
        seen.text = text_of(payload, "prompt")
    if event == "Stop":
        seen.text = text_of(payload, "last_assistant_message")
    if event in ("PreToolUse", "PostToolUse"):
        claude_code.read_call(payload, seen)
    if event == "PostToolUse":
        text = text_of(payload, "tool_response")
        codes = re.findall(_EXIT, end_of(text), re.IGNORECASE) if seen.tool in _TERMINALS else []
        if text.lower().startswith(_FAILED) or (codes and codes[-1] != "0"):
            seen.outcome = "exec_error" if codes else kind_of_failure(text)
        seen.output = output_of(payload.get("tool_input"), text)

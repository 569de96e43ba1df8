"""VS Code: payloads in camel case or snake case. No hook event reports a failed call."""

from __future__ import annotations

import re

from lessons_kb.agents import claude_code
from lessons_kb.agents.payloads import Payload, end_of, output_of, text_of
from lessons_kb.calls.failure_kinds import kind_of_failure
from lessons_kb.session.event_types import HookEvent
from lessons_kb.text.times import read_time

_FAILED = ("error:", "error while calling tool", "tool call failed")
_EXIT = r"exit(?:ed with)? code:? (-?\d+)"
_TERMINALS = ("run_in_terminal", "runInTerminal", "runTerminalCommand")


def read(payload: Payload, name: str, event: HookEvent) -> None:
    """Fill in the fields that are specific to payloads of VS Code.

    No hook event reports a failed call, so the outcome is derived from the text of the result.
    """
    event.at = read_time(payload.get("timestamp"))
    if name == "PostToolUse":
        text = text_of(payload, "tool_response")
        codes = []
        if event.tool in _TERMINALS:
            codes = re.findall(_EXIT, end_of(text), re.IGNORECASE)
        if text.lower().startswith(_FAILED) or (codes and codes[-1] != "0"):
            event.outcome = "exec_error" if codes else kind_of_failure(text)
        event.output = output_of(payload.get("tool_input"), text)


write = claude_code.write

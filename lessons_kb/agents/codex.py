"""Codex CLI: like Claude Code, but how a command ended may stand in its rollout alone."""

from __future__ import annotations

import json
import re
from typing import Any

from lessons_kb.agents import claude_code
from lessons_kb.agents.capabilities import (
    Payload,
    Said,
    end_of,
    output_of,
    text_of,
)

_EXIT = r"\A(?:Exit code|Process exited with code):? (-?\d+)|^Process exited with code (-?\d+)$"
_HEAD = 400


def read(payload: Payload, event: str) -> dict[str, Any] | None:
    """Return the fields of a hook event, None for what is to be passed over."""
    found = claude_code.read(payload, event)
    if found is None:
        return None
    found["transcript"] = text_of(payload, "transcript_path")  # a subagent has one of its own
    if event == "UserPromptSubmit":
        found["id"] = text_of(payload, "turn_id")
    if event == "PostToolUse":
        found |= _ended(payload)
        del found["cwd"]  # a command leaves the directory as it was
    return found


def write(event: str, said: Said) -> dict[str, Any]:
    """Return the output for an event: documented keys only, its schemas refuse any other."""
    return claude_code.write(event, said)


def _ended(payload: Payload) -> dict[str, str]:
    response = payload.get("tool_response")
    code = response.get("exit_code") if isinstance(response, dict) else None
    if isinstance(response, dict):
        text = text_of(response, "output", "stdout", "content") or json.dumps(response)
    else:
        text = response if isinstance(response, str) else ""
    if type(code) is not int:
        match = re.search(_EXIT, text[:_HEAD], re.MULTILINE)
        code = int(match[1] or match[2]) if match else None
    outcome = "unknown" if code is None else "exec_error" if code else "ok"
    return {"outcome": outcome, "output": _written(payload, text)}


def _written(payload: Payload, printed: str) -> str:
    arguments = payload.get("tool_input")
    if payload.get("tool_name") == "apply_patch" and isinstance(arguments, dict):
        return end_of(text_of(arguments, "command", "input", "patch"))
    return output_of(arguments, printed)

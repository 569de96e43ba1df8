"""Codex CLI: like Claude Code, but how a command ended may stand in its rollout alone."""

from __future__ import annotations

import json
import re

from lessons_kb.agents import claude_code
from lessons_kb.agents.capabilities import Payload, end_of, output_of, text_of
from lessons_kb.session.state import HookEvent

write = claude_code.write
"""Documented keys only: its schemas refuse any other."""
_EXIT = r"\A(?:Exit code|Process exited with code):? (-?\d+)|^Process exited with code (-?\d+)$"
_HEAD = 400


def read(payload: Payload, event: str, seen: HookEvent) -> None:
    """Fill in what the payload tells; ``what`` "" is to be passed over."""
    claude_code.read(payload, event, seen)
    seen.transcript = text_of(payload, "transcript_path")  # a subagent has one of its own
    if event == "UserPromptSubmit":
        seen.id = text_of(payload, "turn_id")
    if event == "PostToolUse":
        _read_result(payload, seen)
        seen.cwd = ""  # a command leaves the directory as it was


def _read_result(payload: Payload, seen: HookEvent) -> None:
    response, arguments = payload.get("tool_response"), payload.get("tool_input")
    code = None
    text = response if isinstance(response, str) else ""
    if isinstance(response, dict):
        code = response.get("exit_code")
        text = text_of(response, "output", "stdout", "content") or json.dumps(response)
    if type(code) is not int:
        match = re.search(_EXIT, text[:_HEAD], re.MULTILINE)
        code = int(match[1] or match[2]) if match else None
    seen.outcome = "unknown" if code is None else "exec_error" if code else "ok"
    if payload.get("tool_name") == "apply_patch" and isinstance(arguments, dict):
        seen.output = end_of(text_of(arguments, "command", "input", "patch"))
    else:
        seen.output = output_of(arguments, text)

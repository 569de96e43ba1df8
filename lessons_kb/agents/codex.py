"""Codex: Claude Code's payloads, but how a command ended may stand in its rollout alone."""

from __future__ import annotations

import json
import re

from lessons_kb.agents import claude_code
from lessons_kb.agents.payloads import Payload, end_of, output_of, text_of
from lessons_kb.session.state import HookEvent

_EXIT = r"\A(?:Exit code|Process exited with code):? (-?\d+)|^Process exited with code (-?\d+)$"
_HEAD = 400


def read(payload: Payload, name: str, event: HookEvent) -> None:
    """Like Claude Code, but how a command ended may stand in its rollout alone."""
    claude_code.read(payload, name, event)
    event.transcript = text_of(payload, "transcript_path")  # a subagent has one of its own
    if name != "PostToolUse":
        return
    response, arguments = payload.get("tool_response"), payload.get("tool_input")
    code = None
    text = response if isinstance(response, str) else ""
    if isinstance(response, dict):
        code = response.get("exit_code")
        text = text_of(response, "output", "stdout", "content") or json.dumps(response)
    if type(code) is not int:
        match = re.search(_EXIT, text[:_HEAD], re.MULTILINE)
        code = int(match[1] or match[2]) if match else None
    event.outcome = "unknown" if code is None else "exec_error" if code else "ok"
    event.cwd = ""  # a command leaves the directory as it was
    event.output = output_of(arguments, text)
    if event.tool == "apply_patch" and isinstance(arguments, dict):
        event.output = end_of(text_of(arguments, "command", "input", "patch"))


write = claude_code.write

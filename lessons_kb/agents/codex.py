"""Codex: the payloads of Claude Code, but a command's exit code may be only in the rollout."""

from __future__ import annotations

import json
import re

from lessons_kb.agents import claude_code
from lessons_kb.agents.payloads import Payload, end_of, output_of, text_of
from lessons_kb.session.event_types import HookEvent

_EXIT = r"\A(?:Exit code|Process exited with code):? (-?\d+)|^Process exited with code (-?\d+)$"
_HEAD = 400


def read(payload: Payload, name: str, event: HookEvent) -> None:
    """Fill in the fields as for Claude Code, and the outcome where the payload has an exit code.

    Otherwise the outcome is "unknown": only the rollout, Codex's record of the session, has it.
    """
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
    if code is None:
        event.outcome = "unknown"
    else:
        event.outcome = "exec_error" if code else "ok"
    event.cwd = ""  # a command does not change the directory of the next command
    event.output = output_of(arguments, text)
    if event.tool == "apply_patch" and isinstance(arguments, dict):
        event.output = end_of(text_of(arguments, "command", "input", "patch"))


write = claude_code.write

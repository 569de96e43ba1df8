"""Codex: payloads as in Claude Code, but the exit code may be only in the session's record."""

from __future__ import annotations

import json
import re
from typing import Any

from lessons_kb.agents import claude_code
from lessons_kb.agents.payloads import Payload, end_of, object_of, output_of, text_of
from lessons_kb.session.event_types import HookEvent

_EXIT = r"\A(?:Exit code|Process exited with code):? (-?\d+)|^Process exited with code (-?\d+)$"
_HEAD = 400
_SPAWNING = "collaborationspawn_agent"
"""The name in hooks of the tool ``spawn_agent`` in the namespace ``collaboration``."""
_DEFAULT_SUBAGENT = "default"
_MAX_SUBAGENT_PROMPT = 20_000
"""In characters."""


def read(payload: Payload, name: str, event: HookEvent) -> None:
    """Fill in the fields as for Claude Code, and the outcome if the payload has an exit code.

    Otherwise the outcome is "unknown". Only the rollout, which is Codex's record of the session,
    has the exit code.
    """
    claude_code.read(payload, name, event)
    event.transcript = text_of(payload, "transcript_path")  # a subagent has one of its own
    if event.what == "before" and event.tool == _SPAWNING:
        spawn = object_of(payload, "tool_input")
        kind = text_of(spawn, "agent_type") or _DEFAULT_SUBAGENT
        event.spawns = (kind, text_of(spawn, "message")[:_MAX_SUBAGENT_PROMPT])
        event.spawn_inherits = text_of(spawn, "fork_turns") in ("", "all")
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


_INITIALIZE = {
    "id": 1,
    "method": "initialize",
    "params": {"clientInfo": {"name": "lessons", "title": "lessons", "version": "1"}},
}
_HOOKS_ID = 2
_APPROVED = ("trusted", "managed")


def ask_for_hooks(project: str) -> list[str]:
    """Return the requests to `codex app-server`, one per line, that list the hooks of a project."""
    questions: list[dict[str, Any]] = [
        _INITIALIZE,
        {"method": "initialized"},
        {"id": _HOOKS_ID, "method": "hooks/list", "params": {"cwds": [project]}},
    ]
    return [json.dumps(question) for question in questions]


def read_unapproved(line: str) -> list[str] | None:
    """Return the events for which the user has not approved our hooks.

    Return None if the line is not the answer to the last question.
    """
    try:
        message = json.loads(line)
        if message.get("id") != _HOOKS_ID:
            return None
        hooks = [hook for folder in message["result"]["data"] for hook in folder["hooks"]]
    except (ValueError, RecursionError, LookupError, TypeError, AttributeError):
        return None
    unapproved = [
        text_of(hook, "eventName")
        for hook in hooks
        if "lessons-hook" in text_of(hook, "command")
        and text_of(hook, "trustStatus") not in _APPROVED
    ]
    return list(dict.fromkeys(unapproved))

"""The hook entries of each agent: which events, with which matcher, in which form."""

from __future__ import annotations

import json
import os
import re
import shlex
from collections.abc import Mapping
from typing import Any

from lessons_kb.agents.capabilities import AGENTS
from lessons_kb.agents.copilot_cli import write_progress
from lessons_kb.store.templates import read_template

HOOK = "lessons-hook"
TOOL = "lessons_hook"
SERVER = "lessons"

_SECONDS = 10
"""Far above our own deadline: an agent that kills a hook may show an error."""
_STOP_SECONDS = 20
_LAST_SECONDS = 3
"""The most that Codex grants at the end of a session."""

MATCHERS: Mapping[str, Mapping[str, str]] = {
    "claude-code": {
        "PreToolUse": "Bash|PowerShell|Edit|Write|NotebookEdit|Agent|Task",
        "PostToolUse": "Bash|PowerShell|Read|Edit|Write|NotebookEdit|Grep|Glob",
    },
    "codex": {"PreToolUse": "Bash|apply_patch", "PostToolUse": "Bash|apply_patch"},
    "gemini-cli": {
        "BeforeTool": "replace|write_file|run_shell_command",
    },
    "cursor": {"preToolUse": "Write|Delete"},
}
"""Agent → event → which tools fire it; without one all do. A success of any tool ends a run of
failures, but a process for each call of a tool that nothing is learned from is too dear where
matchers are exact."""

_FIELDS: Mapping[str, tuple[str, ...]] = {
    "UserPromptSubmit": ("prompt", "prompt_id", "source"),
    "PreToolUse": ("tool_name", "tool_use_id", "tool_input"),
    "PostToolUse": ("tool_name", "tool_use_id", "tool_input", "tool_response"),
    "PostToolUseFailure": ("tool_name", "tool_use_id", "tool_input", "error", "is_interrupt"),
    "Stop": ("last_assistant_message",),
}
"""Events that the mcp route serves → what is handed on of their payload. At a session's start
and end servers are not connected: there a command answers."""
_COMMON: Mapping[str, tuple[str, ...]] = {
    "claude-code": ("session_id", "transcript_path", "cwd", "agent_id", "permission_mode"),
    "codex": ("session_id", "transcript_path", "cwd", "turn_id"),
}
_NOT_SENT: Mapping[str, tuple[str, ...]] = {"codex": ("prompt_id", "source")}
"""Codex drops a call whose input names what the payload lacks; Claude Code leaves it as it is."""
_GONE = "Lessons are off: lessons-hook is gone; run `lessons install {}`"
_OURS = re.compile(r"(?:^|[\\/\"'\s])lessons-hook(?:\.exe|\.cmd)?(?:[\"'\s]|$)")
_LINES = ("command", "bash", "powershell", "windows", "linux", "osx")


def build_hooks(agent: str, program: str, *, via: str) -> dict[str, list[dict[str, Any]]]:
    """Return our entries by the agent's event; ``program`` is the path or name of our hook."""
    groups = {}
    for event in AGENTS[_EVENTS_OF.get(agent, agent)].events:
        handler = _FORMS[agent](agent, event, program)
        if via == "mcp" and event in _FIELDS:
            handler = _calling(agent, event)
        nested = agent not in _FLAT
        group = {"hooks": [handler]} if nested else handler
        matcher = MATCHERS.get(agent, {}).get(event)
        groups[event] = [{"matcher": matcher, **group} if matcher else group]
    return groups


def build_plugin(program: str) -> str:
    """Return the text of the plugin for opencode that calls ``program``."""
    text = read_template(os.path.join("opencode", "lessons.ts"))
    return text.replace('"lessons-hook"', json.dumps(program), 1)


def is_ours(entry: Any) -> bool:
    """Tell whether a hook entry, or every one in a group, is ours."""
    if not isinstance(entry, dict):
        return False
    if isinstance(inner := entry.get("hooks"), list):
        return bool(inner) and all(is_ours(one) for one in inner)
    if entry.get("type") == "mcp_tool":
        return entry.get("server") == SERVER and entry.get("tool") == TOOL
    lines = (entry.get(key) for key in _LINES)
    return any(isinstance(line, str) and _OURS.search(line) for line in lines)


def _claude_handler(agent: str, event: str, program: str) -> dict[str, Any]:
    # With ``args`` no shell stands in between: one process less, and nothing to quote.
    return {"type": "command", "command": program, "args": [agent], "timeout": _seconds(event)}


def _line_handler(agent: str, event: str, program: str) -> dict[str, Any]:
    return {"type": "command", "command": _line(program, agent), "timeout": _seconds(event)}


def _codex_handler(agent: str, event: str, program: str) -> dict[str, Any]:
    handler = _line_handler(agent, event, program)
    return {**handler, "timeout": _LAST_SECONDS} if event == "SessionEnd" else handler


def _gemini_handler(agent: str, event: str, program: str) -> dict[str, Any]:
    told = json.dumps({"systemMessage": _GONE.format(agent)})
    return {
        "name": f"lessons-{event}",
        "type": "command",
        "command": _harmless(program, agent, instead=told if event == "SessionStart" else "{}"),
        "timeout": _seconds(event) * 1000,
    }


def _cursor_handler(agent: str, event: str, program: str) -> dict[str, Any]:
    return {"command": _line(program, agent), "timeout": _seconds(event)}


def _github_handler(_agent: str, event: str, program: str) -> dict[str, Any]:
    copilot, code = _line(program, "copilot-cli"), _line(program, "vscode")
    called = f"& {copilot}" if copilot.startswith(("'", '"')) else copilot
    told = write_progress(_GONE.format("copilot-cli")).rstrip()
    return {
        "type": "command",
        "bash": _harmless(program, "copilot-cli", instead=told if event == "SessionStart" else ""),
        "powershell": f"try {{ {called} }} catch {{ }}; exit 0",
        "timeoutSec": _seconds(event),
        # VS Code's. Not "linux" and the like as well: Copilot CLI would take those before "bash".
        "command": code,
        "timeout": _seconds(event),
    }


def _calling(agent: str, event: str) -> dict[str, Any]:
    names = (*_COMMON[agent], *_FIELDS[event])
    lacking = _NOT_SENT.get(agent, ())
    fields = {name: f"${{{name}}}" for name in names if name not in lacking}
    return {
        "type": "mcp_tool",
        "server": SERVER,
        "tool": TOOL,
        "input": {
            "agent": agent,
            "event": {"hook_event_name": event, **fields},
        },
        "timeout": _seconds(event),
    }


def _line(program: str, agent: str) -> str:
    if os.name == "nt":
        return f'"{program}" {agent}' if " " in program else f"{program} {agent}"
    return f"{shlex.quote(program)} {agent}"


def _harmless(program: str, agent: str, *, instead: str = "") -> str:
    """Return a line that prints ``instead``, and does no harm, where the program is gone.

    For agents that take its failure for a refusal: Gemini CLI of the prompt and of every call,
    Copilot CLI of every call. A committed file runs at colleagues who have no such program, and
    in either kind of shell.
    """
    line = _line(program, agent)
    if os.name == "nt" or not os.path.isabs(program):
        return f"{line}; exit 0"
    return f"{line} || echo '{instead}'" if instead else f"{line} || true"


def _seconds(event: str) -> int:
    return _STOP_SECONDS if event.lower() in ("stop", "afteragent") else _SECONDS


_FORMS = {
    "claude-code": _claude_handler,
    "codex": _codex_handler,
    "gemini-cli": _gemini_handler,
    "cursor": _cursor_handler,
    "copilot-cli": _github_handler,
    "vscode": _github_handler,
}
_FLAT = ("cursor", "copilot-cli", "vscode")
"""Agents whose entries stand in the event's list themselves, not in groups."""
_EVENTS_OF = {"vscode": "copilot-cli"}
"""They share a file: VS Code passes over the one event that it does not know."""

"""Which agent really fires a hook: several run the hooks that were set up for Claude Code."""

from __future__ import annotations

from collections.abc import Mapping

from lessons_kb.agents.capabilities import AGENTS
from lessons_kb.agents.payload_fields import Payload, text_of

EVENT_NAMES = ("hook_event_name", "hookEventName", "event")
_RENAMED: Mapping[str, Mapping[str, str]] = {
    "copilot-cli": {
        "sessionStart": "SessionStart",
        "userPromptSubmitted": "UserPromptSubmit",
        "preToolUse": "PreToolUse",
        "postToolUse": "PostToolUse",
        "postToolUseFailure": "PostToolUseFailure",
        "agentStop": "Stop",
        "preCompact": "PreCompact",
        "sessionEnd": "SessionEnd",
    },
    "cursor": {
        "SessionStart": "sessionStart",
        "UserPromptSubmit": "beforeSubmitPrompt",
        "PreToolUse": "preToolUse",
        "PostToolUse": "postToolUse",
        "PostToolUseFailure": "postToolUseFailure",
        "PreCompact": "preCompact",
        "SessionEnd": "sessionEnd",
    },
    "opencode": {
        "chat.message": "prompt",
        "tool.execute.before": "before",
        "tool.execute.after": "after",
        "session.idle": "stop",
        "experimental.session.compacting": "compact",
    },
}
"""Agent → another spelling of an event → the one in the table."""


def find_host(agent: str, payload: Payload, environment: Mapping[str, str]) -> str:
    """Return the agent that fired the hook; ``agent`` is whom it was set up for.

    What is in the payload decides: variables are inherited by an agent that another one starts.
    """
    event = event_name(payload)
    if "cursor_version" in payload or ("conversation_id" in payload and "generation_id" in payload):
        return "cursor"
    for name in ("gemini-cli", "cursor", "opencode"):
        own = AGENTS[name].events
        if event in own and event not in AGENTS["claude-code"].events and name != agent:
            return agent if event in AGENTS[agent].events else name
    if agent not in _CLAUDE_LIKE:
        return agent
    if "turn_id" in payload:
        return "codex"
    if agent == "codex":
        return agent
    if "CURSOR_VERSION" in environment and "session_id" not in payload:
        return "cursor"
    if agent == "vscode" and _COPILOTS_OWN in environment and "session_id" in payload:
        return "copilot-cli"
    if "hookEventName" in payload:
        return "vscode"
    if "sessionId" in payload:
        return agent if agent in ("vscode", "copilot-cli") else "vscode"
    if agent == "claude-code" and "timestamp" in payload:
        of_copilot = "transcript_path" not in payload or any(key in payload for key in _COPILOTS)
        return "copilot-cli" if of_copilot else "vscode"
    return agent


def is_attended(agent: str, payload: Payload, environment: Mapping[str, str]) -> bool:
    """Return whether somebody is there, and willing, to answer a question about a call."""
    if text_of(payload, "permission_mode") in _NOT_TO_BE_ASKED:
        return False
    told = ((environment.get(name), values) for name, values in AGENTS[agent].unattended.items())
    return not any(value in values for value, values in told if value)


def event_name(payload: Payload, agent: str = "") -> str:
    """Return the event's name as the table of the agent spells it."""
    name = text_of(payload, *EVENT_NAMES)
    return _RENAMED.get(agent, {}).get(name, name)


_NOT_TO_BE_ASKED = ("bypassPermissions", "dontAsk")
_COPILOTS = ("stop_reason", "custom_instructions")
"""Keys beside a transcript's path that VS Code does not send."""
_COPILOTS_OWN = "COPILOT_HOOK_DIR"
"""Copilot CLI gives it to hooks alone; it reads the folders that VS Code reads."""
_CLAUDE_LIKE = ("claude-code", "codex", "copilot-cli", "vscode")

"""The session of a coding agent in which this process runs."""

from __future__ import annotations

import os
from collections.abc import Mapping

SESSION_VARIABLES: Mapping[str, str] = {
    "LESSONS_SESSION": "",
    "CLAUDE_CODE_SESSION_ID": "claude-code",
    "CODEX_THREAD_ID": "codex",
    "GEMINI_SESSION_ID": "gemini-cli",
    "OPENCODE_SESSION_ID": "opencode",
}
"""Variables in which agents tell a command its session → the agent."""


def session_of(environment: Mapping[str, str] = os.environ) -> tuple[str, str]:
    """Return the session in which this process runs and its agent, "" where nobody says so."""
    for name, agent in SESSION_VARIABLES.items():
        if session := environment.get(name, ""):
            return session, agent
    return "", ""

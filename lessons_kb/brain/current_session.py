"""The session in which this process runs, and the names of sessions elsewhere."""

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


def session_of() -> tuple[str, str]:
    """Return the session in which this process runs and its agent, "" where nobody says so."""
    for name, agent in SESSION_VARIABLES.items():
        if session := os.environ.get(name, ""):
            return session, agent
    return "", ""


def posted_session(user: str, session: str) -> str:
    """Return the name here of a session that a server's user has on another machine.

    No user can name the session of another: names of users hold no space.
    """
    return f"{_POSTED}{user} {session}"


def is_posted(session: str) -> bool:
    """Tell whether a session is that of a server's user: its paths are names, and nothing here."""
    return session.startswith(_POSTED)


_POSTED = "@"

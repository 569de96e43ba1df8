"""The agent session in which this process runs, and the names of sessions on other machines."""

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
"""Maps environment variables that contain a session's id to the agent that sets them."""


def session_of() -> tuple[str, str]:
    """Return the id and the agent of the session of this process; both are "" if unknown."""
    for name, agent in SESSION_VARIABLES.items():
        if session := os.environ.get(name, ""):
            return session, agent
    return "", ""


def posted_session(user: str, session: str) -> str:
    """Return the local name of a session that a user of this server has on another machine.

    Names of users contain no space, so that no user can name the session of another user.
    """
    return f"{_POSTED}{user} {session}"


def is_posted(session: str) -> bool:
    """Return whether a session runs on another machine, so that its paths do not exist here."""
    return session.startswith(_POSTED)


_POSTED = "@"

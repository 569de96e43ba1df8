"""Find the memories of Claude Code and Codex, for `import --all` and `mine --memories`."""

from __future__ import annotations

import os


def find_memory_folders() -> tuple[str, str]:
    """Return the folders of Claude Code and of Codex."""
    claude = os.environ.get("CLAUDE_CONFIG_DIR") or os.path.expanduser("~/.claude")
    codex = os.environ.get("CODEX_HOME") or os.path.expanduser("~/.codex")
    return claude, codex

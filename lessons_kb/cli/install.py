"""`lessons install`: set up hooks and the MCP server in an agent."""

from __future__ import annotations

from typing import Annotated

import typer

from lessons_kb.cli.install_git import GIT, set_up
from lessons_kb.cli.install_output import Agent, Dry, Every, Scope, Shared, install_or_remove


def install(
    agent: Agent = None,
    scope: Scope = "user",
    shared: Shared = False,
    via: Annotated[
        str, typer.Option(help="command: one process per event; mcp: the MCP server answers.")
    ] = "command",
    dry_run: Dry = False,
    every: Every = False,
) -> None:
    """Add hooks and the MCP server to a coding agent's own settings.

    Comments and other entries stay. Running it twice changes nothing. `lessons uninstall` restores
    the former files. With `git`, git merges cards key by key: counts add up, lists are united.
    Example: lessons install claude-code --dry-run
    """
    if agent == GIT and not every:
        set_up(scope=scope, shared=shared, dry_run=dry_run, undo=False)
        return
    install_or_remove(
        agent, every, scope=scope, shared=shared, via=via, dry_run=dry_run, undo=False
    )

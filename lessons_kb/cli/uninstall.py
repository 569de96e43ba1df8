"""`lessons uninstall`: take our entries out of an agent's settings."""

from __future__ import annotations

from typing import Annotated

import typer

from lessons_kb.cli.install_git import GIT, set_up
from lessons_kb.cli.install_output import Agent, Dry, Every, Scope, Shared, install_or_remove
from lessons_kb.cli.install_server import forget_server


def uninstall(
    agent: Agent = None,
    scope: Scope = "user",
    shared: Shared = False,
    dry_run: Dry = False,
    every: Every = False,
    server: Annotated[
        bool, typer.Option("--server", help="Forget the shared brain, and its token.")
    ] = False,
) -> None:
    """Remove hooks and the MCP server from a coding agent.

    Example: lessons uninstall --all
    """
    if server:
        forget_server(dry_run=dry_run)
        if agent is None and not every:
            return
    if agent == GIT and not every:
        set_up(scope=scope, shared=shared, dry_run=dry_run, undo=True)
        return
    install_or_remove(
        agent, every, scope=scope, shared=shared, via="command", dry_run=dry_run, undo=True
    )

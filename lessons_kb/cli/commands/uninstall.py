"""`lessons uninstall`: remove the entries that `install` added."""

from __future__ import annotations

from typing import Annotated

from typer import Argument, Option

from lessons_kb.agents.install.settings_files import SCOPES
from lessons_kb.agents.table import AGENTS
from lessons_kb.cli.connect_agents import change_connections
from lessons_kb.cli.declare import choose
from lessons_kb.cli.options import DryRun
from lessons_kb.cli.server_settings import forget_server


def uninstall(
    agent: Annotated[
        str | None,
        Argument(
            metavar="AGENT",
            help=f"{', '.join(AGENTS)}; or git.",
        ),
    ] = None,
    scope: Annotated[
        str,
        choose("--scope", SCOPES, metavar="SCOPE", help="user: all projects; project: this one."),
    ] = "user",
    shared: Annotated[
        bool, Option("--shared", help="Use the committed settings file of the project.")
    ] = False,
    dry_run: DryRun = False,
    server: Annotated[
        bool, Option("--server", help="Remove the shared brain and its token from the settings.")
    ] = False,
    all_: Annotated[bool, Option("--all", help="All agents on this machine.")] = False,
) -> None:
    """Remove hooks and the MCP server from a coding agent.

    Example: lessons uninstall claude-code
    """
    if server:
        forget_server(dry_run=dry_run)
        if agent is None and not all_:
            return
    change_connections(agent, dry_run, all_=all_, undo=True, scope=scope, shared=shared)

"""`lessons install`: set up hooks and the MCP server in an agent."""

from __future__ import annotations

from typing import Annotated

import typer

from lessons_kb.cli.install_git import GIT, set_up
from lessons_kb.cli.install_output import Agent, Dry, Every, Scope, Shared, install_or_remove
from lessons_kb.cli.install_server import set_server
from lessons_kb.errors import InputError


def install(
    agent: Agent = None,
    scope: Scope = "user",
    shared: Shared = False,
    via: Annotated[
        str, typer.Option(help="command: one process per event; mcp: the MCP server answers.")
    ] = "command",
    server: Annotated[
        str,
        typer.Option(metavar="URL", help="Ask this shared brain too: https://HOST/v1/brains/NAME."),
    ] = "",
    token_file: Annotated[
        str,
        typer.Option(metavar="FILE", help="Its token, in a file that only you can read."),
    ] = "",
    dry_run: Dry = False,
    every: Every = False,
) -> None:
    """Connect a coding agent: add hooks and the MCP server.

    Comments and other entries stay. Running it twice changes nothing. `lessons uninstall` restores
    the former files. With `git`, git merges cards key by key: counts add up, lists are united.
    With `--server`, prompts are sent to a server, without secrets: see docs/server.md.

    Example: lessons install claude-code --dry-run
    """
    if token_file and not server:
        raise InputError("--token-file belongs to a server; add --server URL")
    if server:
        set_server(server, token_file, scope=scope, dry_run=dry_run)
        if agent is None and not every:  # hooks that are installed ask it from now on
            return
    if agent == GIT and not every:
        set_up(scope=scope, shared=shared, dry_run=dry_run, undo=False)
        return
    install_or_remove(
        agent, every, scope=scope, shared=shared, via=via, dry_run=dry_run, undo=False
    )

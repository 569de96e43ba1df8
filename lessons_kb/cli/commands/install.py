"""`lessons install`: connect one agent, git, or a shared server."""

from __future__ import annotations

from typing import Annotated

from typer import Argument, Option

from lessons_kb.agents.install.settings_files import ROUTES, SCOPES
from lessons_kb.agents.table import AGENTS
from lessons_kb.cli.connect_agents import change_connections
from lessons_kb.cli.declare import choose
from lessons_kb.cli.options import DryRun
from lessons_kb.cli.server_settings import set_server
from lessons_kb.errors import InputError
from lessons_kb.on_demand import CLOUD_SETUP, EXPORT_RULES, load

_IN_CLOUDS = [name for name, row in AGENTS.items() if row.cloud_template]


def install(
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
    via: Annotated[
        str,
        choose(
            "--via",
            ROUTES,
            metavar="VIA",
            help="command: one process per event; mcp: the MCP server answers.",
        ),
    ] = "command",
    server: Annotated[
        str,
        Option(
            "--server",
            metavar="URL",
            help="Also send prompts to this shared brain: https://HOST/v1/brains/NAME.",
        ),
    ] = "",
    token_file: Annotated[
        str,
        Option(
            "--token-file",
            metavar="FILE",
            help="File with the token of the server, readable only by you.",
        ),
    ] = "",
    skill: Annotated[
        bool,
        Option(
            "--skill",
            help="Write a skill with the cards, for agents without hooks.",
        ),
    ] = False,
    cloud: Annotated[
        str,
        Option(
            "--cloud",
            metavar="AGENT",
            help=f"Set up a cloud environment: {', '.join(_IN_CLOUDS)}.",
        ),
    ] = "",
    dry_run: DryRun = False,
    all_: Annotated[bool, Option("--all", help="All agents on this machine.")] = False,
) -> None:
    """Connect a coding agent: add hooks and the MCP server.

    Comments and other entries are preserved. A second run changes nothing. `lessons uninstall`
    restores the former files. With `git`, git merges cards key by key: counts are added, and lists
    are combined. With `--server`, prompts are sent to a server, without secrets. With `--cloud`,
    the setup script of a cloud environment is printed, or written where its agent reads it.

    Example: lessons install claude-code --dry-run
    """
    if skill:
        rules = load(EXPORT_RULES)
        rules.export_rules("skill", rules.BUDGET, check=dry_run)
        return
    if cloud:
        load(CLOUD_SETUP).write_cloud_setup(cloud, dry_run=dry_run)
        return
    if token_file and not server:
        raise InputError("--token-file belongs to a server; add --server URL")
    if server:
        set_server(server, token_file, scope=scope, dry_run=dry_run)
        if agent is None and not all_:  # installed hooks use the server from now on
            return
    change_connections(agent, dry_run, all_=all_, undo=False, via=via, scope=scope, shared=shared)

"""Commands that bring lessons into coding agents: install uninstall mcp."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lessons_kb.cli.options import options, print_json, say
from lessons_kb.cli.sharing import GIT, set_up
from lessons_kb.errors import InputError, LessonsError
from lessons_kb.model import as_data
from lessons_kb.text.visible import visible

if TYPE_CHECKING:
    from collections.abc import Callable

    from lessons_kb.agents.install.places import Request
    from lessons_kb.agents.install.setup import Change
    from lessons_kb.brain.workspace import Workspace

Agent = Annotated[
    str | None,
    typer.Argument(
        metavar="AGENT",
        help="claude-code, codex, gemini-cli, cursor, copilot-cli, vscode, opencode; or git.",
    ),
]
Scope = Annotated[str, typer.Option(help="user: all projects; project: this one.")]
Shared = Annotated[
    bool, typer.Option("--shared", help="Use the committed settings file of the project.")
]
Dry = Annotated[bool, typer.Option("--dry-run", help="Show the diff without writing.")]
Every = Annotated[bool, typer.Option("--all", help="Every agent found on this machine.")]

_WORDS = {
    "created": "created",
    "changed": "changed",
    "unchanged": "already up to date",
    "removed": "removed",
    "kept": "unchanged, because another agent uses the same entries",
}


def register(app: typer.Typer) -> None:
    """Add this noun's commands."""
    for command in (install, uninstall, mcp):
        app.command(command.__name__)(command)


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
    _run(agent, every, scope=scope, shared=shared, via=via, dry_run=dry_run, undo=False)


def uninstall(
    agent: Agent = None,
    scope: Scope = "user",
    shared: Shared = False,
    dry_run: Dry = False,
    every: Every = False,
) -> None:
    """Remove hooks and the MCP server from a coding agent's settings.

    Example: lessons uninstall --all
    """
    if agent == GIT and not every:
        set_up(scope=scope, shared=shared, dry_run=dry_run, undo=True)
        return
    _run(agent, every, scope=scope, shared=shared, via="command", dry_run=dry_run, undo=True)


def mcp(
    http: Annotated[
        bool, typer.Option("--http", help="Use streamable HTTP instead of stdio.")
    ] = False,
    host: Annotated[
        str, typer.Option(help="Address to listen on; other than loopback needs a token.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port to listen on.")] = 8765,
) -> None:
    """Serve lessons to MCP clients, over stdio by default.

    Over HTTP the address is http://HOST:PORT/mcp. Requests from web pages of other sites are
    refused. Every program and user of this machine can send requests, unless LESSONS_MCP_TOKEN
    sets a token that each request must carry. Example: lessons mcp --http --port 8765
    """
    from lessons_kb.agents.install.notes import HOW_TO_GET_SDK
    from lessons_kb.agents.install.programs import has_sdk

    if not has_sdk():
        raise InputError(f"the MCP server needs the `mcp` package: {HOW_TO_GET_SDK}")
    from lessons_kb.brain.workspace import Workspace
    from lessons_kb.service.mcp import build_server, serve_http
    from lessons_kb.service.mcp.http import PATH, TOKEN_VARIABLE

    workspace = Workspace(_working_directory(), roots=options().brains)
    server = build_server(workspace, answer_hook=_hook_answers(workspace))
    try:
        if http:
            token = os.environ.get(TOKEN_VARIABLE, "")
            whom = (
                ""
                if token
                else f"; {TOKEN_VARIABLE} is not set: any user of this machine can connect"
            )
            told = f"serving on http://{host}:{port}{PATH}, press Ctrl-C to stop{whom}"
            serve_http(server, host=host, port=port, token=token, ready=lambda: say(told))
        else:
            server.run()
    finally:
        workspace.close()


def _working_directory() -> str:
    """Return the agent's project where it names one to its servers, else the current folder."""
    from lessons_kb.agents.table import AGENTS

    for agent in AGENTS.values():
        for variable in agent.project:
            if os.path.isdir(folder := os.environ.get(variable, "")):
                return folder
    return os.getcwd()


def _hook_answers(workspace: Workspace) -> Callable[[str, dict[str, Any]], str]:
    from lessons_kb.service.hooks import answer_event

    def answer(agent: str, event: dict[str, Any]) -> str:
        placed = json.dumps({"cwd": workspace.directory, **event})
        return answer_event(agent, placed, os.environ, find=workspace.find)[0]

    return answer


def _run(agent: str | None, every: bool, *, dry_run: bool, undo: bool, **wanted: Any) -> None:
    from lessons_kb.agents.install.notes import find_notes
    from lessons_kb.agents.install.setup import install as set_up
    from lessons_kb.agents.install.setup import uninstall as take_out

    done: list[dict[str, Any]] = []
    failed = None
    for name in _agents(agent, every):
        try:
            request = _request(name, undo=undo, **wanted)
            changes = (take_out if undo else set_up)(request, dry_run=dry_run)
        except LessonsError as error:
            if not every:
                raise
            failed = error
            say(f"{name}: {error}")
            continue
        notes = [] if undo else list(find_notes(request))
        done.append(
            {"agent": name, "files": [as_data(change) for change in changes], "notes": notes}
        )
        if not options().json:
            _print(name, changes, notes, dry_run=dry_run)
    if options().json:
        print_json(done)
    if failed is not None:
        raise typer.Exit(2)


def _agents(agent: str | None, every: bool) -> list[str]:
    from lessons_kb.agents.install.places import is_present
    from lessons_kb.agents.table import AGENTS

    if every == (agent is not None):
        raise InputError(f"give one agent ({', '.join(AGENTS)}), or use --all")
    if agent is not None:
        return [agent]
    found = [name for name in AGENTS if is_present(name)]
    if not found:
        raise InputError(f"no agent found on this machine; give one of {', '.join(AGENTS)}")
    return found


def _request(name: str, *, undo: bool, **wanted: Any) -> Request:
    from lessons_kb.agents.install.places import Entries, Request, check_request, is_committed
    from lessons_kb.agents.install.programs import NAMES, find_entries, has_sdk
    from lessons_kb.store.locate import git_top

    here = os.path.realpath(os.getcwd())
    request = Request(agent=name, project=git_top(here) or here, entries=Entries(**NAMES), **wanted)
    check_request(request)
    if undo:
        return request
    bare = is_committed(request)
    if request.via == "mcp" and not has_sdk():
        raise InputError(
            "--via mcp needs the MCP server; run `pip install 'lessons-kb[mcp]'` first"
        )
    return replace(request, entries=find_entries(bare=bare), server=has_sdk())


def _print(name: str, changes: list[Change], notes: list[str], *, dry_run: bool) -> None:
    for change in changes:
        if change.diff:
            print(visible(change.diff))
    for change in changes:
        word = _WORDS[change.action]
        backup = f" (backup: {change.backup})" if change.backup else ""
        would = "would be " if dry_run and change.diff else ""
        print(visible(f"{name}: {change.path}: {would}{word}{backup}"))
    for note in notes:
        print(f"  → {note}")

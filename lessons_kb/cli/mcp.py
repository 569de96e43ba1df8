"""`lessons mcp`: start the MCP server."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lessons_kb.cli.options import options, say
from lessons_kb.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable

    from lessons_kb.brain.open_brains import Workspace


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
    from lessons_kb.agents.install.next_steps import HOW_TO_GET_SDK
    from lessons_kb.agents.install.own_programs import has_sdk

    if not has_sdk():
        raise InputError(f"the MCP server needs the `mcp` package: {HOW_TO_GET_SDK}")
    from lessons_kb.brain.open_brains import Workspace
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
    from lessons_kb.agents.capabilities import AGENTS

    for agent in AGENTS.values():
        for variable in agent.project:
            if os.path.isdir(folder := os.environ.get(variable, "")):
                return folder
    return os.getcwd()


def _hook_answers(workspace: Workspace) -> Callable[[str, dict[str, Any]], str]:
    from lessons_kb.service.hook_event import answer_event

    def answer(agent: str, event: dict[str, Any]) -> str:
        placed = json.dumps({"cwd": workspace.directory, **event})
        return answer_event(agent, placed, os.environ, find=workspace.find)[0]

    return answer

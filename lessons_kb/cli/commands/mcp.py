"""`lessons mcp`: serve lessons to MCP clients."""

from __future__ import annotations

import json
import os
from typing import Annotated, Any

from typer import Option

from lessons_kb.agents.install import install_agent
from lessons_kb.agents.table import AGENTS
from lessons_kb.cli.options import Host, Port
from lessons_kb.cli.output import options, say
from lessons_kb.errors import InputError
from lessons_kb.process.installation import install_command
from lessons_kb.service.hook_event import answer_event
from lessons_kb.service.open_brains import OpenBrains


def mcp(
    http: Annotated[bool, Option("--http", help="Use streamable HTTP instead of stdio.")] = False,
    host: Host = "127.0.0.1",
    port: Port = 8765,
) -> None:
    """Serve lessons to MCP clients, over stdio by default.

    Over HTTP, the address is http://HOST:PORT/mcp. The server refuses requests from web pages of
    other sites. Every program and user of this machine can send requests, unless LESSONS_MCP_TOKEN
    sets a token that each request must carry.

    Example: lessons mcp --http --port 8765
    """
    if not install_agent.has_sdk():
        raise InputError(
            f"the MCP server needs the `mcp` package: `{install_command('mcp')}`, "
            "then run this again"
        )
    from lessons_kb.service.mcp.server import (
        PATH,
        TOKEN_VARIABLE,
        build_server,
        serve_http,
        serve_stdio,
    )

    workspace = OpenBrains(_find_folder(), roots=options().brains)

    def answer(agent: str, event: dict[str, Any]) -> str:
        event_with_folder = json.dumps({"cwd": workspace.directory, **event})
        return answer_event(agent, event_with_folder, os.environ, find=workspace.find)[0]

    server = build_server(workspace, answer_hook=answer)
    try:
        if http:
            message = f"serving on http://{host}:{port}{PATH}, press Ctrl-C to stop"
            token = os.environ.get(TOKEN_VARIABLE, "")
            if not token:
                message += f"; {TOKEN_VARIABLE} is not set: any user of this machine can connect"
            serve_http(server, host=host, port=port, token=token, ready=lambda: say(message))
        else:
            serve_stdio(server)
    finally:
        workspace.close()


def _find_folder() -> str:
    """Return the project that the agent passes to its servers, or else the working directory."""
    for agent in AGENTS.values():
        for variable in agent.project:
            folder = os.environ.get(variable, "")
            if os.path.isdir(folder):
                return folder
    return os.getcwd()

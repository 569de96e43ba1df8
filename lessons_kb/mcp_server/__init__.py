"""The MCP server: the same questions and answers as everywhere, for any MCP client."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from lessons_kb.mcp_server.http import serve_http as serve_http
    from lessons_kb.mcp_server.server import build_server as build_server

_HOMES = {"build_server": "server", "serve_http": "http"}

__all__ = ["build_server", "serve_http"]


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(name)
    from importlib import import_module

    return getattr(import_module(f"lessons_kb.mcp_server.{_HOMES[name]}"), name)

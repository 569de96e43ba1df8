"""The MCP server: the same questions and answers as everywhere, for any MCP client."""

from __future__ import annotations

from importlib import import_module

from lessons_kb.service.mcp.http import serve_http as serve_http
from lessons_kb.service.mcp.server import build_server as build_server

_HOMES = {"build_server": "server", "serve_http": "http"}

__all__ = ["build_server", "serve_http"]


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(name)

    return getattr(import_module(f"lessons_kb.service.mcp.{_HOMES[name]}"), name)

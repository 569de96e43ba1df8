"""The MCP server: the same questions and answers as everywhere, for any MCP client."""

from __future__ import annotations

from lessons_kb.service.mcp.http import serve_http as serve_http
from lessons_kb.service.mcp.server import build_server as build_server

__all__ = ["build_server", "serve_http"]

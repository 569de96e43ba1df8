"""Whose call is it? One connection of a client is one session, unless the client names its own."""

from __future__ import annotations

import datetime as dt
import hashlib
import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from mcp.server.mcpserver import Context

from lessons_kb.brain.current_session import session_of

_HEADER = "mcp-session-id"


@asynccontextmanager
async def connect(_server: object) -> AsyncIterator[str]:
    """Give what the server runs for a name: over stdio one connection, over HTTP all of them."""
    yield f"mcp-{secrets.token_hex(8)}"


def session_of_call(context: Context[Any], named: str | None) -> str:
    """Return the session that a call belongs to, ``named`` or that of its connection.

    An agent that tells its processes the session says more than a connection over stdio. Of HTTP
    without the protocol's own sessions nothing tells the callers apart: there a day is one.
    """
    if named:
        return named
    running = str(context.request_context.lifespan_context)
    headers = context.headers
    if headers is None:
        return session_of()[0] or running
    if known := headers.get(_HEADER):
        return f"mcp-{hashlib.blake2b(known.encode(), digest_size=8).hexdigest()}"
    return f"{running}-{dt.datetime.now(tz=dt.UTC).astimezone().date()}"

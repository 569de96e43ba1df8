"""Streamable HTTP: on this machine alone, unless a token guards it."""

from __future__ import annotations

import hmac
import socket
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any
from urllib.parse import urlsplit

from mcp.server import MCPServer
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

from lessons_kb.errors import InputError
from lessons_kb.service.mcp.http_timeouts import TimedProtocol

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]


TOKEN_VARIABLE = "LESSONS_MCP_TOKEN"  # noqa: S105 the variable's name
MIN_TOKEN_CHARS = 16
LOOPBACK = ("127.0.0.1", "localhost", "::1")
PATH = "/mcp"


def serve_http(
    server: MCPServer,
    *,
    host: str,
    port: int,
    token: str = "",
    ready: Callable[[], None] = lambda: None,
) -> None:
    """Serve until stopped; every request must then carry ``token`` if there is one.

    ``ready`` is called once clients can connect. Raises InputError for an address that cannot be
    had, one beyond this machine without a token, or a token too short.
    """
    import uvicorn

    app = build_app(server, host=host, token=token)
    config = uvicorn.Config(
        app, host=host, port=port, http=TimedProtocol, log_level="warning", lifespan="on"
    )
    with listen(host, port) as listening:
        ready()
        uvicorn.Server(config).run(sockets=[listening])


def listen(host: str, port: int) -> socket.socket:
    """Return a socket that listens on an address; InputError where it cannot be had."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        listening = socket.create_server((host, port), family=family)
    except OSError as error:
        why = f"cannot serve on {host}:{port}: {error.strerror or error}"
        raise InputError(f"{why}; choose another --port, or --host") from None
    # What it accepts takes this over. Else an answer's second segment, its body, waits 40 ms for
    # the client to acknowledge the first; asyncio sees to it on sockets of its own alone.
    listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listening


def build_app(server: MCPServer, *, host: str, token: str = "") -> App:
    """Return the ASGI application that ``serve_http`` runs; errors as there."""
    from mcp.server.transport_security import TransportSecuritySettings

    local = host in LOOPBACK
    if not local and not token:
        raise InputError(
            f"{host} can be reached from other machines; set {TOKEN_VARIABLE} to a secret first"
        )
    if token and len(token) < MIN_TOKEN_CHARS:
        raise InputError(f"{TOKEN_VARIABLE} is too short; use {MIN_TOKEN_CHARS} characters or more")
    # On this machine the SDK admits loopback names only, so that no web page can rebind a name of
    # its own to us. Elsewhere any name may be right: there the token decides.
    guard = None if local else TransportSecuritySettings(enable_dns_rebinding_protection=False)
    inner: App = server.streamable_http_app(
        streamable_http_path=PATH, transport_security=guard, host=host
    )
    return _guarded(inner, token)


def _guarded(app: App, token: str) -> App:
    expected = f"Bearer {token}".encode()

    async def guarded(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            headers = {name.lower(): value for name, value in scope["headers"]}
            if not is_same_site(headers):
                await _refuse(send, 403, "requests from this origin are refused")
                return
            given = headers.get(b"authorization", b"")
            if token and not hmac.compare_digest(given, expected):
                await _refuse(
                    send, 401, "unauthorised; send `Authorization: Bearer` with the server's token"
                )
                return
        await app(scope, receive, send)

    return guarded


def build_endpoint(server: MCPServer, *, max_body: int) -> StreamableHTTPSessionManager:
    """Return what answers requests to ``server`` at any address, while its ``run()`` lasts.

    Whoever calls it has checked names of hosts, origins and tokens. There are no sessions of the
    protocol, so that none can be used with another token than it was opened with.
    """
    from mcp.server.transport_security import TransportSecuritySettings

    checked = TransportSecuritySettings(enable_dns_rebinding_protection=False)
    server.streamable_http_app(
        stateless_http=True,
        json_response=True,
        max_request_body_size=max_body,
        transport_security=checked,
    )
    return server.session_manager


def is_same_site(headers: dict[bytes, bytes]) -> bool:
    """Tell whether a request comes from no web page, or from one of this very server or machine."""
    origin = headers.get(b"origin", b"").decode("latin-1")
    if not origin:
        return True
    try:
        name = urlsplit(origin).hostname
        own = urlsplit("//" + headers.get(b"host", b"").decode("latin-1")).hostname
    except ValueError:
        return False
    return name is not None and (name in LOOPBACK or name == own)


async def _refuse(send: Send, status: int, why: str) -> None:
    headers = [(b"content-type", b"text/plain; charset=utf-8")]
    if status == 401:  # noqa: PLR2004 HTTP
        headers.append((b"www-authenticate", b"Bearer"))
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": f"{why}\n".encode()})

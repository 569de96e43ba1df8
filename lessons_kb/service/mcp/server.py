"""The server and its two ways to speak: stdio, and HTTP, on this machine alone without a token."""

from __future__ import annotations

import asyncio
import hmac
import re
import socket
from collections.abc import Callable, Mapping
from typing import Any

import uvicorn
from h11 import IDLE, SEND_BODY
from mcp.server import MCPServer
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import UnexpectedToolError
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings
from mcp.types import Tool
from pydantic import ValidationError
from starlette.exceptions import HTTPException
from starlette.middleware.exceptions import ExceptionMiddleware
from starlette.requests import Request
from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

from lessons_kb.errors import InputError
from lessons_kb.service.mcp.tools import UNLISTED, Answer, Brains, ToolError, Tools, connect
from lessons_kb.store.card_files import read_template
from lessons_kb.store.error_log import log_trouble
from lessons_kb.version import __version__

INSTRUCTIONS = read_template("instructions.md").strip()
"""Whole within 512 characters: some clients show the model no more."""


class LessonsMCPServer(MCPServer):
    """The MCP server of the user's own programs, which may do everything."""

    async def list_tools(self) -> list[Tool]:
        """Return the tools with as short schemas as say the same: each session pays for them."""
        return [
            tool.model_copy(
                update={
                    "input_schema": shorten(tool.input_schema),
                    "output_schema": tool.output_schema and {"type": "object"},
                }
            )
            for tool in await super().list_tools()
            if tool.name not in UNLISTED
        ]

    async def call_tool(
        self, name: str, arguments: dict[str, Any], context: Context[Any] | None = None
    ) -> Any:
        """Say in one line what was wrong with the arguments, or with us; that is logged too."""
        try:
            return await super().call_tool(name, arguments, context)
        except UnexpectedToolError as error:
            what = f"{type(error.__cause__).__name__}: {error.__cause__}".splitlines()[0]
            log_trouble("mcp", name, what)
            raise ToolError(f"internal error: {what}; run `lessons doctor`") from error
        except ToolError as error:
            if not isinstance(error.__cause__, ValidationError):
                raise
            wrong = say_invalid(error.__cause__)
            message = f"{name} invalid arguments: {wrong}; correct them and call it again"
            raise ToolError(message) from error.__cause__


def say_invalid(error: ValidationError) -> str:
    """Return what is wrong with the arguments of a tool."""
    wrong = (
        f"{'.'.join(map(str, one['loc'])) or 'body'}: {one['msg']}"
        for one in error.errors(include_url=False, include_input=False, include_context=False)
    )
    return "; ".join(wrong)


def shorten(schema: Any) -> Any:
    """Return a JSON schema that says the same in fewer words.

    Without generated titles, empty defaults, null as a second type, and the demand that a text or
    a list is not empty, which a call is held to all the same.
    """
    if isinstance(schema, list):
        return [shorten(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    kinds = [kind for kind in schema.get("anyOf", ()) if kind != {"type": "null"}]
    if len(kinds) == 1:
        schema = {**{k: v for k, v in schema.items() if k != "anyOf"}, **kinds[0]}
    return {
        key: {name: shorten(one) for name, one in value.items()}
        if key == "properties"
        else shorten(value)
        for key, value in schema.items()
        if not (key == "title" and isinstance(value, str)) and value not in _IMPLIED.get(key, ())
    }


_IMPLIED: Mapping[str, tuple[Any, ...]] = {
    "default": (None, "", False),
    **dict.fromkeys(("minLength", "minItems", "minimum"), (0, 1)),
    "additionalProperties": (True,),
}
"""Key of a schema → values that say nothing to a model."""


def build_server(
    workspace: Brains,
    *,
    answer_hook: Answer | None = None,
    kind: type[LessonsMCPServer] = LessonsMCPServer,
) -> MCPServer[str]:
    """Return the server over ``workspace``; ``answer_hook`` answers (agent, event) with text.

    Nothing runs yet: ``run()`` speaks over stdio.
    """
    server = kind(
        "lessons",
        title="Lessons",
        version=__version__,
        description="Lessons from mistakes, before they are made again",
        instructions=INSTRUCTIONS,
        # Standard error is for people: the SDK would print tracebacks of what a client did wrong.
        log_level="CRITICAL",
        lifespan=connect,
    )
    Tools(workspace, answer_hook).register(server)
    return server


REQUEST_SECONDS = 20.0
"""Within which a request must arrive whole, counted from the connection or its first byte."""


class TimedProtocol(H11Protocol):
    """HTTP/1.1 as uvicorn speaks it, with a deadline for each request."""

    _deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Wait for a request, but not for ever."""
        super().connection_made(transport)
        self._wait(unfinished=True)

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait no more."""
        self._wait(unfinished=False)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Wait for the rest of a request; more of it buys no time."""
        super().data_received(data)
        self._wait(unfinished=self.conn.their_state in {IDLE, SEND_BODY})

    def _wait(self, *, unfinished: bool) -> None:
        if not unfinished and self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None
        elif unfinished and self._deadline is None:
            self._deadline = self.loop.call_later(REQUEST_SECONDS, self.transport.abort)


TOKEN_VARIABLE = "LESSONS_MCP_TOKEN"  # noqa: S105 the variable's name
MIN_TOKEN_CHARS = 16
LOOPBACK = ("127.0.0.1", "localhost", "::1")
PATH = "/mcp"
_HOST = re.compile(r"([a-z0-9._-]+|\[[0-9a-f:.]+\])(?::[0-9]{1,5})?", re.IGNORECASE)
_NUL = re.compile(rb"\0|%00")
CLOSE = {"connection": "close"}


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


def build_app(server: MCPServer, *, host: str, token: str = "") -> ASGIApp:
    """Return the ASGI application that ``serve_http`` runs; errors as there.

    On this machine it answers to loopback names only, so that no web page can rebind a name of its
    own to us. Elsewhere any name may be right: there the token decides.
    """
    local, expected = host in LOOPBACK, f"Bearer {token}"
    if not local and not token:
        raise InputError(
            f"{host} can be reached from other machines; set {TOKEN_VARIABLE} to a secret first"
        )
    if token and len(token) < MIN_TOKEN_CHARS:
        raise InputError(f"{TOKEN_VARIABLE} is too short; use {MIN_TOKEN_CHARS} characters or more")
    app = server.streamable_http_app(
        streamable_http_path=PATH, transport_security=_CHECKED_BEFORE, host=host
    )

    async def guarded(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            request = Request(scope)
            check_request(request, local=local)
            if not is_same_site(request):
                raise HTTPException(403, "requests from this origin are refused")
            sent = request.headers.get("authorization", "")
            if token and not hmac.compare_digest(sent.encode("latin-1"), expected.encode()):
                told = "unauthorised; send `Authorization: Bearer` with the server's token"
                raise HTTPException(401, told, {"www-authenticate": "Bearer"})
        await app(scope, receive, send)

    return ExceptionMiddleware(guarded)


_CHECKED_BEFORE = TransportSecuritySettings(enable_dns_rebinding_protection=False)
"""Names of hosts and origins are checked before the SDK sees a request."""


def build_endpoint(server: MCPServer, *, max_body: int) -> StreamableHTTPSessionManager:
    """Return what answers requests to ``server`` at any address, while its ``run()`` lasts.

    Whoever calls it has checked names of hosts, origins and tokens. There are no sessions of the
    protocol, so that none can be used with another token than it was opened with.
    """
    server.streamable_http_app(
        stateless_http=True,
        json_response=True,
        max_request_body_size=max_body,
        transport_security=_CHECKED_BEFORE,
    )
    return server.session_manager


def check_request(request: Request, *, local: bool) -> None:
    """Raise HTTPException for a request that is refused whoever sent it.

    ``local`` says that only this machine reaches the server: by a loopback name, so that a web page
    cannot rebind a name of its own to it.
    """
    headers, host = request.headers, request.headers.get("host", "")
    if _NUL.search(request.scope["query_string"]) or "\0" in request.scope["path"]:
        raise HTTPException(400, "the address contains a NUL character; leave it out", CLOSE)
    if "transfer-encoding" in headers and "content-length" in headers:
        # A proxy may believe the other one, and take the rest of the body for another request.
        raise HTTPException(400, "send Content-Length or Transfer-Encoding, not both", CLOSE)
    named = _HOST.fullmatch(host)
    if host and not named:
        raise HTTPException(421, "the Host header is no name of a host", CLOSE)
    if local and (named is None or named[1].strip("[]").lower() not in LOOPBACK):
        raise HTTPException(421, "this server answers to names of this machine only", CLOSE)


def is_same_site(request: Request) -> bool:
    """Tell whether a request comes from no web page, or from one of this very server."""
    return "origin" not in request.headers or is_own_origin(request)


def is_own_origin(request: Request) -> bool:
    """Tell whether a request names this very server, its port included, as its origin."""
    scheme, _, name = request.headers.get("origin", "").lower().partition("://")
    is_web = scheme in ("http", "https")
    return is_web and bool(name) and name == request.headers.get("host", "").lower()

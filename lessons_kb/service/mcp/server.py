"""The MCP server over stdio and over HTTP. Over HTTP, other machines need a token."""

from __future__ import annotations

import asyncio
import hmac
import re
import socket
from collections.abc import Callable, Mapping, Sequence
from difflib import get_close_matches
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
from lessons_kb.service.mcp.request_filter import DEEP, filter_standard_input, has_lone_surrogate
from lessons_kb.service.mcp.tools import UNLISTED, Answer, Brains, ToolError, Tools, connect
from lessons_kb.store.card_files import read_template
from lessons_kb.store.error_log import log_trouble
from lessons_kb.version import __version__

INSTRUCTIONS = read_template("instructions.md").strip()
"""The instructions have at most 512 characters, because some clients cut off the rest."""

_ALIKE = 0.75
"""The least likeness, from 0 to 1, of a misspelt name and the name that is meant."""


class LessonsMCPServer(MCPServer):
    """The MCP server for the user's own programs, which may use every tool."""

    _parameters: Mapping[str, Sequence[str]] = {}
    """Mapping from the name of each tool to the names of its parameters."""

    async def list_tools(self) -> list[Tool]:
        """Return the listed tools with shortened schemas, because each session pays for every
        token.
        """
        return [_shorten_tool(tool) for tool in await super().list_tools() if _is_listed(tool)]

    async def call_tool(
        self, name: str, arguments: dict[str, Any], context: Context[Any] | None = None
    ) -> Any:
        """Call a tool. Raises ToolError with one line for invalid arguments and internal errors.

        Internal errors are also logged.
        """
        if DEEP in arguments:
            raise ToolError(f"{name} invalid arguments: they are nested too deeply; flatten them")
        directory = arguments.get("directory")
        if isinstance(directory, str) and "\0" in directory:
            raise ToolError(f"{name} invalid arguments: directory contains NUL; correct the path")
        if has_lone_surrogate(arguments):
            raise ToolError(
                f"{name} invalid arguments: an argument contains half a surrogate pair; "
                "send the whole character and call it again"
            )
        misspelt = await self._find_misspelt(name, arguments)
        if misspelt:
            raise ToolError(f"{name} invalid arguments: {misspelt}; correct it and call it again")
        try:
            return await super().call_tool(name, arguments, context)
        except UnexpectedToolError as error:
            cause = f"{type(error.__cause__).__name__}: {error.__cause__}".splitlines()[0]
            log_trouble("mcp", name, cause)
            raise ToolError(f"internal error: {cause}; run `lessons doctor`") from error
        except ToolError as error:
            if not isinstance(error.__cause__, ValidationError):
                raise
            problems = say_invalid(error.__cause__)
            message = f"{name} invalid arguments: {problems}; correct them and call it again"
            raise ToolError(message) from error.__cause__

    async def _find_misspelt(self, name: str, arguments: Mapping[str, Any]) -> str:
        """Return what is wrong with the name of an argument that is almost that of a parameter.

        The SDK drops arguments that no parameter has. Other names stay allowed, because some
        clients add their own.
        """
        if not self._parameters:
            tools = await super().list_tools()
            self._parameters = {tool.name: [*tool.input_schema["properties"]] for tool in tools}
        known = self._parameters.get(name, ())
        for argument in arguments:
            if argument not in known and (near := get_close_matches(argument, known, 1, _ALIKE)):
                return f"{argument} is no argument, {near[0]} is"
        return ""


def _is_listed(tool: Tool) -> bool:
    """Return whether clients see a tool in the list."""
    return tool.name not in UNLISTED


def _shorten_tool(tool: Tool) -> Tool:
    """Return a tool with a shortened input schema, and an output schema that says only "object"."""
    schemas = {
        "input_schema": shorten(tool.input_schema),
        "output_schema": tool.output_schema and {"type": "object"},
    }
    return tool.model_copy(update=schemas)


def say_invalid(error: ValidationError) -> str:
    """Return one line with the problems of a tool's arguments."""
    problems = []
    for detail in error.errors(include_url=False, include_input=False, include_context=False):
        field = ".".join(map(str, detail["loc"])) or "body"
        problems.append(f"{field}: {detail['msg']}")
    return "; ".join(problems)


def shorten(schema: Any) -> Any:
    """Return an equivalent JSON schema with fewer tokens.

    The result omits generated titles, empty defaults, null as a second type, and the requirement
    that a text or a list is not empty. A call is still checked against the complete schema.
    """
    if isinstance(schema, list):
        return [shorten(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    types = [part for part in schema.get("anyOf", ()) if part != {"type": "null"}]
    if len(types) == 1:
        schema = {key: value for key, value in schema.items() if key != "anyOf"} | types[0]
    shorter = {}
    for key, value in schema.items():
        if key == "title" and isinstance(value, str):
            continue
        if value in _IMPLIED.get(key, ()):
            continue
        if key == "properties":  # its keys are names of arguments, not keywords of a schema
            shorter[key] = {name: shorten(part) for name, part in value.items()}
        else:
            shorter[key] = shorten(value)
    return shorter


_IMPLIED: Mapping[str, tuple[Any, ...]] = {
    "default": (None, "", False),
    **dict.fromkeys(("minLength", "minItems", "minimum"), (0, 1)),
    "additionalProperties": (True,),
}
"""Mapping from a keyword of a schema to the values that a model does not need."""


def build_server(
    workspace: Brains,
    *,
    answer_hook: Answer | None = None,
    kind: type[LessonsMCPServer] = LessonsMCPServer,
) -> MCPServer[str]:
    """Return the server for ``workspace``. ``run()`` starts it over stdio.

    ``answer_hook`` returns the output of a hook for (agent, event). If it is None, hooks are not
    served.
    """
    server = kind(
        "lessons",
        title="Lessons",
        version=__version__,
        description="Lessons from mistakes, before they are made again",
        instructions=INSTRUCTIONS,
        # Standard error is for people. The SDK would print a traceback there for each invalid
        # request.
        log_level="CRITICAL",
        lifespan=connect,
    )
    Tools(workspace, answer_hook).register(server)
    return server


def serve_stdio(server: MCPServer) -> None:
    """Serve the client on standard input and output until the client leaves."""
    filter_standard_input()
    server.run()


REQUEST_SECONDS = 20.0
"""Time limit for the arrival of a whole request, from the connection or its first byte."""


class TimedProtocol(H11Protocol):
    """uvicorn's HTTP/1.1 protocol with a deadline for the arrival of each request."""

    _deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Set the deadline of the first request."""
        super().connection_made(transport)
        self._update_deadline(unfinished=True)

    def connection_lost(self, exc: Exception | None) -> None:
        """Cancel the deadline."""
        self._update_deadline(unfinished=False)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Keep the deadline of an unfinished request, and cancel the deadline of a finished
        request.
        """
        super().data_received(data)
        self._update_deadline(unfinished=self.conn.their_state in {IDLE, SEND_BODY})

    def _update_deadline(self, *, unfinished: bool) -> None:
        """Set the deadline of an unfinished request unless it is set, or cancel it."""
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
    """Serve until a signal stops the process. With a ``token``, every request must contain it.

    ``ready`` is called as soon as clients can connect. Raises InputError for an address that is
    not available, for an address that other machines can reach without a token, and for a token
    that is too short.
    """
    app = build_app(server, host=host, token=token)
    config = uvicorn.Config(
        app, host=host, port=port, http=TimedProtocol, log_level="warning", lifespan="on"
    )
    with listen(host, port) as listening:
        ready()
        uvicorn.Server(config).run(sockets=[listening])


def listen(host: str, port: int) -> socket.socket:
    """Return a socket that listens on an address. Raises InputError if it is not available."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        listening = socket.create_server((host, port), family=family)
    except OSError as error:
        problem = f"cannot serve on {host}:{port}: {error.strerror or error}"
        raise InputError(f"{problem}; choose another --port, or --host") from None
    # Accepted connections inherit this option. Without it the body of an answer waits 40 ms until
    # the client acknowledges the headers. asyncio sets it only on sockets that it creates itself.
    listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listening


def build_app(server: MCPServer, *, host: str, token: str = "") -> ASGIApp:
    """Return the ASGI application that ``serve_http`` runs. Raises InputError as it does.

    On a loopback address it accepts only loopback names, which stops DNS rebinding by web pages.
    On other addresses it accepts every name, and relies on the token.
    """
    local = host in LOOPBACK
    expected = f"Bearer {token}"
    if not local and not token:
        raise InputError(
            f"{host} can be reached from other machines; set {TOKEN_VARIABLE} to a secret first"
        )
    if token and len(token) < MIN_TOKEN_CHARS:
        raise InputError(f"{TOKEN_VARIABLE} is too short; use {MIN_TOKEN_CHARS} characters or more")
    app = server.streamable_http_app(
        streamable_http_path=PATH, transport_security=_CHECKED_BEFORE, host=host
    )

    async def checked(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            request = Request(scope)
            check_request(request, local=local)
            if not is_same_site(request):
                raise HTTPException(403, "requests from this origin are refused")
            header = request.headers.get("authorization", "")
            if token and not hmac.compare_digest(header.encode("latin-1"), expected.encode()):
                message = "unauthorised; send `Authorization: Bearer` with the server's token"
                raise HTTPException(401, message, {"www-authenticate": "Bearer"})
        await app(scope, receive, send)

    return ExceptionMiddleware(checked)


_CHECKED_BEFORE = TransportSecuritySettings(enable_dns_rebinding_protection=False)
"""Hosts and origins are checked before the SDK receives a request."""


def build_endpoint(server: MCPServer, *, max_body: int) -> StreamableHTTPSessionManager:
    """Return the request handler of ``server`` for any path. It works while its ``run()`` runs.

    Its caller checks hosts, origins and tokens. It is stateless, so there are no protocol sessions
    that a request could use with the token of another caller.
    """
    server.streamable_http_app(
        stateless_http=True,
        json_response=True,
        max_request_body_size=max_body,
        transport_security=_CHECKED_BEFORE,
    )
    return server.session_manager


def check_request(request: Request, *, local: bool) -> None:
    """Raise HTTPException for a request that must be refused regardless of its sender.

    ``local`` states that only this machine reaches the server. The request must then name a
    loopback host, which stops DNS rebinding by web pages.
    """
    headers = request.headers
    host = request.headers.get("host", "")
    if _NUL.search(request.scope["query_string"]) or "\0" in request.scope["path"]:
        raise HTTPException(400, "the address contains a NUL character; leave it out", CLOSE)
    if "transfer-encoding" in headers and "content-length" in headers:
        # A proxy may use the other header, and treat the rest of the body as another request.
        raise HTTPException(400, "send Content-Length or Transfer-Encoding, not both", CLOSE)
    named = _HOST.fullmatch(host)
    if host and not named:
        raise HTTPException(421, "the Host header is not a valid host name; correct it", CLOSE)
    if local and (named is None or named[1].strip("[]").lower() not in LOOPBACK):
        raise HTTPException(
            421, "this server answers only to local names; use localhost or 127.0.0.1", CLOSE
        )


def is_same_site(request: Request) -> bool:
    """Return whether a request comes from a page of this server, or not from a web page at all."""
    return "origin" not in request.headers or is_own_origin(request)


def is_own_origin(request: Request) -> bool:
    """Return whether the origin of a request is this server, including its port."""
    scheme, _, name = request.headers.get("origin", "").lower().partition("://")
    is_web = scheme in ("http", "https")
    return is_web and bool(name) and name == request.headers.get("host", "").lower()

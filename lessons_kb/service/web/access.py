"""In front of every request: who sent it, what it may ask for and how much.

Whoever may not ask a brain gets the answer for a brain that is not there, byte for byte.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Collection, Mapping, MutableMapping
from dataclasses import dataclass
from typing import Any

from lessons_kb.service.mcp.http import App, Receive, Scope, Send, find_refusal, is_same_site
from lessons_kb.service.web.callers import CALLER, Buckets, Caller, Tokens
from lessons_kb.store.settings import METRICS

OPEN = ("/health", "/ready", "/openapi.json")
"""What needs no token: nothing in them depends on any brain's content."""
METRICS_PATH = "/metrics"
BRAIN_PATH = re.compile(r"/v1/brains/([^/]+)/.+")
PAGE_PATH = re.compile(r"/(?:(?:login|logout|style\.css)?|brains/([^/]+)(?:/.*)?)", re.DOTALL)
NOT_FOUND = "not found"
_UNAUTHORISED, _FORBIDDEN, _TOO_LARGE, _TOO_MANY = 401, 403, 413, 429


@dataclass(frozen=True, kw_only=True, slots=True)
class Guard:
    """The ASGI application that lets a request through to another one, on behalf of a caller.

    ``local`` says that only this machine reaches the server, by a loopback name: a web page that
    rebinds a name of its own is refused. Nothing larger than ``max_body`` bytes is read. What
    people look at is left to ``pages``, which has a guard of its own.
    """

    app: App
    brains: Collection[str]
    tokens: Tokens
    buckets: Buckets
    max_body: int
    local: bool
    pages: App

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request, or say why not."""
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        if scope["type"] != "http":  # nothing here speaks over web sockets
            await send({"type": "websocket.close", "code": 1000})
            return
        headers = {name.lower(): value for name, value in scope["headers"]}
        if refused := find_refusal(scope, headers, local=self.local):
            await refuse(send, *refused, {"connection": "close"})
            return
        if PAGE_PATH.fullmatch(scope["path"]):
            await self.pages(scope, receive, send)
            return
        if not is_same_site(headers):
            await refuse(send, _FORBIDDEN, "requests from web pages of other sites are refused")
            return
        path = scope["path"]
        if path in OPEN:
            await self.app(scope, receive, send)
            return
        caller = self.tokens.find_caller(headers.get(b"authorization", b""))
        if caller is None:
            told = "unauthorised; send `Authorization: Bearer` with a token of this server"
            await refuse(send, _UNAUTHORISED, told, {"www-authenticate": "Bearer"})
            return
        if wait := self.buckets.take(caller.name):
            later = {"retry-after": str(math.ceil(wait))}
            await refuse(send, _TOO_MANY, "too many requests; wait a moment", later)
            return
        brain = BRAIN_PATH.fullmatch(path)
        known = brain is not None and brain[1] in self.brains and caller.may_ask(brain[1])
        if path == METRICS_PATH and METRICS not in caller.may:
            await refuse(send, _FORBIDDEN, "this token may not read metrics")
            return
        if path != METRICS_PATH and not known:
            await refuse_unknown(send)
            return
        body = await read_body(receive, headers, self.max_body)
        if body is None:
            told = f"the body is too large; at most {self.max_body:,} bytes are read"
            await refuse(send, _TOO_LARGE, told, {"connection": "close"})
            return
        CALLER.set(caller)
        scope.setdefault("state", {})["body"] = body
        await self.app(scope, replay_body(body, receive), _tell_stale(send, caller))


async def read_body(receive: Receive, headers: Mapping[bytes, bytes], most: int) -> bytes | None:
    """Return the whole body, None as soon as it is known to be larger than ``most`` bytes."""
    told = headers.get(b"content-length", b"0")
    if not told.isdigit() or int(told[:20]) > most:
        return None
    parts: list[bytes] = []
    size = 0
    while True:
        message = await receive()
        if message["type"] != "http.request":  # the client has gone
            return b"".join(parts)
        part = message.get("body", b"")
        size += len(part)
        if size > most:
            return None
        parts.append(part)
        if not message.get("more_body", False):
            return b"".join(parts)


def replay_body(body: bytes, receive: Receive) -> Receive:
    """Return what gives a body that was read already, then whatever comes."""
    waiting: list[MutableMapping[str, Any]] = [
        {"type": "http.request", "body": body, "more_body": False}
    ]

    async def replayed() -> MutableMapping[str, Any]:
        return waiting.pop() if waiting else await receive()

    return replayed


def _tell_stale(send: Send, caller: Caller) -> Send:
    async def told(message: MutableMapping[str, Any]) -> None:
        if message["type"] == "http.response.start" and caller.stale:
            reason = "; ".join(caller.stale).encode("latin-1", "replace")
            message["headers"] = [*message.get("headers", ()), (b"lessons-stale", reason)]
        await send(message)

    return told


async def refuse_unknown(send: Send) -> None:
    """Answer for what is not there, or is not the caller's to know of."""
    await refuse(send, 404, NOT_FOUND)


async def refuse(
    send: Send, status: int, why: str, headers: MutableMapping[str, str] | None = None
) -> None:
    """Answer with an error in JSON."""
    body = json.dumps({"error": why}, separators=(",", ":")).encode()
    sent = {"content-length": str(len(body)), "content-type": "application/json", **(headers or {})}
    raw = [(name.encode(), value.encode()) for name, value in sent.items()]
    await send({"type": "http.response.start", "status": status, "headers": raw})
    await send({"type": "http.response.body", "body": body})

"""Middleware: authentication, scopes, rate limit, body limit, CSRF.

For a brain that the caller may not see, the answer is byte for byte the same as for a brain that
does not exist.
"""

from __future__ import annotations

import asyncio
import contextlib
import hmac
import math
import re
import time
from collections.abc import Collection, MutableMapping
from http import HTTPStatus
from typing import Any
from urllib.parse import parse_qsl, quote

from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from lessons_kb.errors import StorageError
from lessons_kb.service.mcp.server import CLOSE, check_request, is_own_origin, is_same_site
from lessons_kb.service.web.authentication import CALLER, LOGIN_SECONDS, Caller, Shared, Tokens
from lessons_kb.service.web.pages import send_to, show
from lessons_kb.store.error_log import log_trouble
from lessons_kb.store.server_tokens import METRICS
from lessons_kb.values import frozen

BRAIN_PATH = re.compile(r"/v1/brains/([^/]+)/.+")
PAGE_PATH = re.compile(r"/(?:(?:login|logout|style\.css)?|brains/([^/]+)(?:/.*)?)", re.DOTALL)
_LOGIN, _LOGOUT, _STYLE, _METRICS = "/login", "/logout", "/style.css", "/metrics"
_OPEN = ("/health", "/ready", "/openapi.json")
"""Paths that need no token, because no answer there depends on the content of a brain."""
_NEXT = re.compile(r"/brains/[!-\[\]-~]*")
_LOGIN_BYTES = 4_000
_MAX_FIELDS = 20


@frozen
class Guard:
    """The ASGI application that checks a request and passes it to the application behind it.

    ``local`` states that only this machine reaches the server, under a loopback name. Other names
    are then refused, which stops DNS rebinding. ``secure`` states that browsers reach the server
    only by HTTPS. A caller may send ``rate`` requests per second. A body of more than ``max_body``
    bytes is refused.

    The state of a request that passes contains its ``body``. For a page, the state also contains
    the ``login``, the ``brains`` that the login may see, and the submitted ``form``.
    """

    app: ASGIApp
    brains: Collection[str]
    tokens: Tokens
    shared: Shared
    max_body: int
    local: bool
    secure: bool = False
    rate: float = 100.0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request to the application, or raise HTTPException."""
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        if scope["type"] != "http":  # this server has no web sockets
            await send({"type": "websocket.close", "code": 1000})
            return
        request = Request(scope, receive)
        request.state.body, request.state.login = b"", None
        check_request(request, local=self.local)
        admit = self._admit_browser if PAGE_PATH.fullmatch(scope["path"]) else self._admit_client
        answer = await admit(request)
        messages = iter([{"type": "http.request", "body": request.state.body}])

        async def replay() -> MutableMapping[str, Any]:
            """Return the body, which has already been read, and then the messages that follow
            it.
            """
            return next(messages, None) or await receive()

        await (answer or self.app)(scope, replay, send)

    async def _admit_client(self, request: Request) -> None:
        """Check a request of a program, which authenticates with a token. Raises HTTPException."""
        path = request.scope["path"]
        if not is_same_site(request):
            raise HTTPException(403, "requests from web pages of other sites are refused")
        if path in _OPEN:
            return
        caller = self.tokens.find_caller(request.headers.get("authorization", ""))
        if caller is None:
            message = "unauthorised; send `Authorization: Bearer` with a token of this server"
            raise HTTPException(401, message, {"www-authenticate": "Bearer"})
        self._count_request(caller, "too many requests; wait a moment")
        if path == _METRICS:
            if METRICS not in caller.may:
                raise HTTPException(403, "this token may not read metrics")
        else:
            brain = BRAIN_PATH.fullmatch(path)
            if brain is None or brain[1] not in self._list_brains(caller):
                raise HTTPException(404)
        message = f"the body is too large; at most {self.max_body:,} bytes are read"
        request.state.body = await _read_body(request, self.max_body, message)
        CALLER.set(caller)

    async def _admit_browser(self, request: Request) -> Response | None:
        """Check a request of a browser, which authenticates with the cookie of a login.

        Returns an answer if the request needs no page: a redirect, the login page, or a logout.
        Raises HTTPException.
        """
        state = request.state
        path = request.scope["path"]
        posted = request.method == "POST"
        if path == _STYLE:
            return None
        cookie = request.cookies.get(self._cookie, "")
        login = state.login = self.tokens.find_login(cookie)
        state.form = {}
        if posted:
            state.form = await self._read_form(request, login)
        elif request.method not in ("GET", "HEAD"):
            raise HTTPException(405)
        if path == _LOGIN:
            return self._log_in(request)
        if login is None:
            return self._ask_for_login(request)
        self._count_request(login)
        if path == _LOGOUT:
            return self._log_out(request, cookie)
        state.brains = self._list_brains(login)
        brain = PAGE_PATH.fullmatch(path)
        if brain and brain[1] is not None and brain[1] not in state.brains:
            raise HTTPException(404)
        CALLER.set(login)
        return None

    async def _read_form(self, request: Request, login: Caller | None) -> dict[str, str]:
        """Return the fields of a form. Raises HTTPException unless a page of this login sent it."""
        site = request.headers.get("sec-fetch-site")
        is_same_origin = site == "same-origin" if site else is_own_origin(request)
        if not is_same_origin:
            raise HTTPException(403, "The form was not sent by a page of this server.")
        limit = self.max_body if login else min(self.max_body, _LOGIN_BYTES)
        body = await _read_body(request, limit)
        try:
            text = body.decode("ascii", "replace")
            form = dict(parse_qsl(text, keep_blank_values=True, max_num_fields=_MAX_FIELDS))
        except ValueError:
            form = {}
        if any("\0" in value for value in form.values()):
            raise HTTPException(400)
        mark = form.get("mark", "").encode("utf-8", "replace")
        expected = login.mark.encode() if login and request.scope["path"] != _LOGIN else mark
        if not hmac.compare_digest(mark, expected):
            message = "The form belongs to another login. Go back, reload the page and try again."
            raise HTTPException(403, message)
        return form

    def _count_request(self, caller: Caller, message: str | None = None) -> None:
        """Raise HTTPException if a caller has exceeded its rate limit."""
        wait = self.shared.take(caller.place, self.rate, time.monotonic())
        if wait:
            raise HTTPException(429, message, {"retry-after": str(math.ceil(wait))})

    def _list_brains(self, caller: Caller) -> list[str]:
        """Return the names of the brains that a caller may see, in order."""
        if not caller.digest:
            return sorted(self.brains)
        return [brain for brain in sorted(self.brains) if brain in caller.brains]

    def _ask_for_login(self, request: Request) -> Response:
        """Return a redirect to the login page. After the login, the browser returns to the
        requested page.
        """
        posted = request.method == "POST"
        query = f"?{request.url.query}" if request.url.query else ""
        after = "" if posted else f"{quote(request.scope['path'])}{query}"
        lost = "&lost=1" if posted or self._cookie in request.cookies else ""
        return send_to(f"{_LOGIN}?next={quote(after, safe='')}{lost}")

    def _log_in(self, request: Request) -> Response:
        """Return the login page, or a redirect with a new cookie for a token that is valid."""
        form, query, problem = request.state.form, request.query_params, ""
        after = form.get("next", query.get("next", ""))
        if not _NEXT.fullmatch(after):
            after = ""
        if request.method == "POST":
            cookie = self.tokens.begin_login(form.get("token", ""))
            if cookie:
                return self._set_cookie(send_to(after or "/"), cookie, LOGIN_SECONDS)
            problem = "This server has no such token. Paste the whole token, from lsn_ on."
        lost = bool(query.get("lost")) and not problem
        status = 403 if problem else 200
        # A browser does not send the cookie after a link from another site, but it does so after
        # this page.
        return show("login.html", status=status, login=None, lost=lost, next=after, problem=problem)

    def _log_out(self, request: Request, cookie: str) -> Response:
        """End the login of a cookie. Return a redirect to the login page."""
        if request.method != "POST":
            raise HTTPException(405)
        try:
            self.tokens.end_login(cookie)
        except StorageError as error:
            log_trouble("server", "logout", str(error))
            raise HTTPException(503) from None
        return self._set_cookie(send_to(_LOGIN), "", 0)

    @property
    def _cookie(self) -> str:
        """The name of the cookie."""
        return "__Host-lessons" if self.secure else "lessons"

    def _set_cookie(self, answer: Response, value: str, seconds: int) -> Response:
        answer.set_cookie(
            self._cookie,
            value,
            max_age=seconds,
            path="/",
            secure=self.secure,
            httponly=True,
            samesite="strict",
        )
        return answer


async def show_error(request: Request, error: HTTPException) -> Response:
    """Return the answer for an error: JSON for a program, a page for a browser.

    The answer repeats nothing from the request.
    """
    status, message = error.status_code, error.detail
    phrase = HTTPStatus(status).phrase
    if not PAGE_PATH.fullmatch(request.scope["path"]):
        text = phrase.lower() if message == phrase else message
        return JSONResponse({"error": text}, status, error.headers)
    values = {"code": status, "message": "" if message == phrase else message}
    login = request.state.login
    return show("message.html", status=status, headers=error.headers, login=login, **values)


_DISCARDED_BYTES, _DISCARD_SECONDS = 16_000_000, 5.0
"""The number of bytes of an oversized body that are read before the answer, and the time limit in
seconds.
"""


async def _read_body(request: Request, limit: int, message: str | None = None) -> bytes:
    """Return the whole body. Raises HTTPException if it has more than ``limit`` bytes.

    A part of the rest is read and discarded first. A client that is still sending when the
    connection is closed often sees a reset connection instead of the answer.
    """
    length = request.headers.get("content-length", "0")
    body = bytearray()
    too_large = HTTPException(413, message, CLOSE)
    if not re.fullmatch("[0-9]{1,20}", length) or int(length) > limit + _DISCARDED_BYTES:
        raise too_large
    is_too_large = int(length) > limit
    if is_too_large and "expect" in request.headers:  # the client waits for our answer
        raise too_large
    size = 0
    with contextlib.suppress(ClientDisconnect, TimeoutError):
        async with asyncio.timeout(_DISCARD_SECONDS if is_too_large else None) as deadline:
            async for part in request.stream():
                size += len(part)
                if size > limit and not is_too_large:
                    is_too_large = True
                    deadline.reschedule(asyncio.get_running_loop().time() + _DISCARD_SECONDS)
                if size > limit + _DISCARDED_BYTES:
                    break
                if not is_too_large:
                    body += part
    if is_too_large:
        raise too_large
    return bytes(body)

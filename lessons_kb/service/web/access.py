"""In front of every request: who sent it, what it may ask for, how much, and by whose form.

Whoever may not ask a brain gets the answer for a brain that is not there, byte for byte.
"""

from __future__ import annotations

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
"""What needs no token: nothing in them depends on any brain's content."""
_NEXT = re.compile(r"/brains/[!-\[\]-~]*")
_LOGIN_BYTES = 4_000
_MAX_FIELDS = 20


@frozen
class Guard:
    """The ASGI application that lets a request through to another one, on behalf of a caller.

    ``local`` says that only this machine reaches the server, by a loopback name: a web page that
    rebinds a name of its own is refused. ``secure`` says that browsers reach it by HTTPS alone.
    A caller may send ``rate`` requests a second. Nothing larger than ``max_body`` bytes is read.
    The state of a request that is let through holds its ``body``, or that of a page the ``login``,
    the ``brains`` it may see and the ``form`` sent.
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
        """Answer one request, or say why not."""
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        if scope["type"] != "http":  # nothing here speaks over web sockets
            await send({"type": "websocket.close", "code": 1000})
            return
        request = Request(scope, receive)
        request.state.body, request.state.login = b"", None
        check_request(request, local=self.local)
        admit = self._admit_browser if PAGE_PATH.fullmatch(scope["path"]) else self._admit_client
        answer = await admit(request)
        sent = iter([{"type": "http.request", "body": request.state.body}])

        async def replayed() -> MutableMapping[str, Any]:
            """Return the body that was read already, then whatever comes."""
            return next(sent, None) or await receive()

        await (answer or self.app)(scope, replayed, send)

    async def _admit_client(self, request: Request) -> None:
        path = request.scope["path"]
        if not is_same_site(request):
            raise HTTPException(403, "requests from web pages of other sites are refused")
        if path in _OPEN:
            return
        caller = self.tokens.find_caller(request.headers.get("authorization", ""))
        if caller is None:
            told = "unauthorised; send `Authorization: Bearer` with a token of this server"
            raise HTTPException(401, told, {"www-authenticate": "Bearer"})
        self._take(caller, "too many requests; wait a moment")
        if path == _METRICS:
            if METRICS not in caller.may:
                raise HTTPException(403, "this token may not read metrics")
        elif (brain := BRAIN_PATH.fullmatch(path)) is None or brain[1] not in self._visible(caller):
            raise HTTPException(404)
        told = f"the body is too large; at most {self.max_body:,} bytes are read"
        request.state.body = await _read_body(request, self.max_body, told)
        CALLER.set(caller)

    async def _admit_browser(self, request: Request) -> Response | None:
        state, path, posted = request.state, request.scope["path"], request.method == "POST"
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
            lost = posted or self._cookie in request.cookies
            query = f"?{request.url.query}" if request.url.query else ""
            after = "" if posted else f"{quote(path)}{query}"
            return send_to(f"{_LOGIN}?next={quote(after, safe='')}{'&lost=1' if lost else ''}")
        self._take(login)
        if path == _LOGOUT and not posted:
            raise HTTPException(405)
        if path == _LOGOUT:
            try:
                self.tokens.end_login(cookie)
            except StorageError as error:
                log_trouble("server", "logout", str(error))
                raise HTTPException(503) from None
            return self._set_cookie(send_to(_LOGIN), "", 0)
        state.brains = self._visible(login)
        brain = PAGE_PATH.fullmatch(path)
        if brain and brain[1] is not None and brain[1] not in state.brains:
            raise HTTPException(404)
        CALLER.set(login)
        return None

    async def _read_form(self, request: Request, login: Caller | None) -> dict[str, str]:
        """Return the fields of a form that a page of this login sent; HTTPException for others."""
        site = request.headers.get("sec-fetch-site")
        if not (site == "same-origin" if site else is_own_origin(request)):
            raise HTTPException(403, "The form was not sent by a page of this server.")
        most = self.max_body if login else min(self.max_body, _LOGIN_BYTES)
        body = await _read_body(request, most)
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
            told = "The form belongs to another login. Go back, load the page and send it anew."
            raise HTTPException(403, told)
        return form

    def _take(self, caller: Caller, told: str | None = None) -> None:
        if wait := self.shared.take(caller.place, self.rate, time.monotonic()):
            raise HTTPException(429, told, {"retry-after": str(math.ceil(wait))})

    def _visible(self, caller: Caller) -> list[str]:
        return [one for one in sorted(self.brains) if not caller.digest or one in caller.brains]

    def _log_in(self, request: Request) -> Response:
        form, query, wrong = request.state.form, request.query_params, ""
        after = form.get("next", query.get("next", ""))
        after = after if _NEXT.fullmatch(after) else ""
        if request.method == "POST":
            if cookie := self.tokens.begin_login(form.get("token", "")):
                return self._set_cookie(send_to(after or "/"), cookie, LOGIN_SECONDS)
            wrong = "This is none of the server's tokens. Paste all of it, from lsn_ on."
        lost, status = bool(query.get("lost")) and not wrong, 403 if wrong else 200
        # A link from another site comes without the cookie; from here on it is sent again.
        return show("login.html", status=status, login=None, lost=lost, next=after, wrong=wrong)

    @property
    def _cookie(self) -> str:
        return "__Host-lessons" if self.secure else "lessons"

    def _set_cookie(self, answer: Response, value: str, seconds: int) -> Response:
        how: dict[str, Any] = {"secure": self.secure, "httponly": True, "samesite": "strict"}
        answer.set_cookie(self._cookie, value, max_age=seconds, path="/", **how)
        return answer


async def show_error(request: Request, error: HTTPException) -> Response:
    """Return what a client or a person is told, and nothing of what was asked for."""
    status, told = error.status_code, error.detail
    usual = HTTPStatus(status).phrase
    if not PAGE_PATH.fullmatch(request.scope["path"]):
        told = usual.lower() if told == usual else told
        return JSONResponse({"error": told}, status, error.headers)
    values = {"code": status, "told": "" if told == usual else told}
    login = request.state.login
    return show("message.html", status=status, headers=error.headers, login=login, **values)


async def _read_body(request: Request, most: int, told: str | None = None) -> bytes:
    """Return the whole body; HTTPException once it is known to be larger than ``most`` bytes."""
    length, body = request.headers.get("content-length", "0"), bytearray()
    too_large = HTTPException(413, told, CLOSE)
    if not re.fullmatch("[0-9]{1,20}", length) or int(length) > most:
        raise too_large
    with contextlib.suppress(ClientDisconnect):
        async for part in request.stream():
            body += part
            if len(body) > most:
                raise too_large
    return bytes(body)

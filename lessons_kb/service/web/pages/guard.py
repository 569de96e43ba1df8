"""In front of every page: who looks at it, and whether a form was sent by a page of ours.

Whoever may not see a brain gets the page for a brain that is not there, byte for byte.
"""

from __future__ import annotations

import hmac
import math
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from urllib.parse import parse_qsl, quote

from starlette.requests import Request
from starlette.responses import Response

from lessons_kb.errors import StorageError
from lessons_kb.service.mcp.http import App, Receive, Scope, Send, is_own_origin
from lessons_kb.service.web.access import PAGE_PATH, read_body
from lessons_kb.service.web.callers import (
    CALLER,
    LOGIN_SECONDS,
    Buckets,
    Caller,
    Login,
    Logins,
)
from lessons_kb.service.web.pages.view import send_to, show
from lessons_kb.store.user_state import log_trouble

LOGIN, LOGOUT, STYLE, HOME = "/login", "/logout", "/style.css", "/"
MARK = "mark"
"""The field of a form that proves that a page of ours sent it."""
_NEXT = re.compile(r"/brains/[!-\[\]-~]*")
_LOGIN_BYTES = 4_000
_MAX_FIELDS = 20
_MESSAGES = {
    400: ("Not possible", "The form contains a NUL character; leave it out."),
    403: ("Not allowed", "Your token may not do this."),
    404: ("Not found", "There is no such page."),
    405: ("Not allowed", "This page takes no such request."),
    413: ("Too large", "What you sent is too large."),
    429: ("Too many requests", "Wait a moment, then load the page again."),
    503: ("Not now", "The server cannot answer in time. Load the page again in a moment."),
}


@dataclass(frozen=True, kw_only=True, slots=True)
class PageGuard:
    """The ASGI application that lets a browser through to the pages, on behalf of a login.

    ``secure`` says that browsers reach it by HTTPS alone. The state of a request that is let
    through holds the ``login``, the ``brains`` that it may see and the ``form`` that was sent.
    """

    app: App
    brains: Collection[str]
    logins: Logins
    buckets: Buckets
    max_body: int
    secure: bool

    @property
    def cookie(self) -> str:
        """The name of the cookie of a login."""
        return "__Host-lessons" if self.secure else "lessons"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request, or say why not."""
        request = Request(scope)
        headers = {name.lower(): value for name, value in scope["headers"]}
        path, cookie = scope["path"], request.cookies.get(self.cookie, "")
        refused: Response | None
        if path == STYLE:
            await self.app(scope, receive, send)
            return
        login = self.logins.find(cookie)
        form: dict[str, str] = {}
        posted = request.method == "POST"
        if posted:
            most = self.max_body if login else min(self.max_body, _LOGIN_BYTES)
            body = await read_body(receive, headers, most) if is_own_page(headers) else b""
            form = _read_form(body or b"")
            refused = self._check_form(headers, body, form, path, login)
        else:
            refused = None if request.method in ("GET", "HEAD") else show_message(405, login)
        refused = refused or self._admit(request, path, login, form, cookie)
        if refused is not None or login is None:
            await (refused or show_message(403, None))(scope, receive, send)
            return
        CALLER.set(login.caller)
        visible = self._find_visible(login.caller)
        scope.setdefault("state", {}).update(form=form, login=login, brains=visible)
        await self.app(scope, receive, send)

    def _check_form(
        self,
        headers: Mapping[bytes, bytes],
        body: bytes | None,
        form: Mapping[str, str],
        path: str,
        login: Login | None,
    ) -> Response | None:
        """Return the refusal of a form that no page of ours sent, None for one of ours."""
        if body is None:
            return show_message(413, login, headers={"connection": "close"})
        if any("\0" in value for value in form.values()):
            return show_message(400, login)
        told = ""
        if not is_own_page(headers):
            told = "The form was not sent by a page of this server."
        elif path != LOGIN and login is not None and not _has_mark(form, login):
            told = "The form belongs to another login. Go back, load the page and send it anew."
        return show_message(403, login, told) if told else None

    def _admit(
        self, request: Request, path: str, login: Login | None, form: Mapping[str, str], cookie: str
    ) -> Response | None:
        """Answer what is about logins and what is not the caller's to see; None lets it through."""
        if path == LOGIN:
            return self._log_in(request, form)
        if login is None:
            lost = request.method == "POST" or self.cookie in request.cookies
            query = f"?{request.url.query}" if request.url.query else ""
            after = f"{quote(path)}{query}" if request.method != "POST" else ""
            return send_to(f"{LOGIN}?next={quote(after, safe='')}{'&lost=1' if lost else ''}")
        if wait := self.buckets.take(login.caller.name):
            return show_message(429, login, headers={"retry-after": str(math.ceil(wait))})
        if path == LOGOUT:
            return self._log_out(cookie) if request.method == "POST" else show_message(405, login)
        brain = PAGE_PATH.fullmatch(path)
        if brain and brain[1] is not None and brain[1] not in self._find_visible(login.caller):
            return show_message(404, login)
        return None

    def _find_visible(self, caller: Caller) -> list[str]:
        return [name for name in sorted(self.brains) if caller.may_ask(name)]

    def _log_in(self, request: Request, form: Mapping[str, str]) -> Response:
        query = request.query_params
        after = form.get("next", query.get("next", ""))
        after = after if _NEXT.fullmatch(after) else ""
        wrong = ""
        if request.method == "POST":
            if cookie := self.logins.begin(form.get("token", "")):
                answer = send_to(after or HOME)
                self._set_cookie(answer, cookie, LOGIN_SECONDS)
                return answer
            wrong = "This is none of the server's tokens. Paste all of it, from lsn_ on."
        lost = bool(query.get("lost")) and not wrong
        # A link from another site comes without the cookie; from here on it is sent again.
        status = 403 if wrong else 200
        return show("login.html", status=status, login=None, lost=lost, next=after, wrong=wrong)

    def _log_out(self, cookie: str) -> Response:
        try:
            self.logins.end(cookie)
        except StorageError as error:
            log_trouble("server", "logout", str(error))
            return show_message(503, self.logins.find(cookie))
        answer = send_to(LOGIN)
        self._set_cookie(answer, "", 0)
        return answer

    def _set_cookie(self, answer: Response, value: str, seconds: int) -> None:
        answer.set_cookie(
            self.cookie,
            value,
            max_age=seconds,
            path="/",
            secure=self.secure,
            httponly=True,
            samesite="strict",
        )


def show_message(
    status: int, login: Login | None, told: str = "", headers: Mapping[str, str] | None = None
) -> Response:
    """Return a page that says what went wrong, and nothing of what was asked for."""
    title, usual = _MESSAGES.get(status, ("Not possible", ""))
    values = {"title": title, "told": told or usual, "login": login}
    return show("message.html", status=status, headers=headers, **values)


def is_own_page(headers: Mapping[bytes, bytes]) -> bool:
    """Tell whether a form was sent by a page of this very server, its port included."""
    if site := headers.get(b"sec-fetch-site"):
        return site == b"same-origin"
    return is_own_origin(headers)


def _has_mark(form: Mapping[str, str], login: Login) -> bool:
    return hmac.compare_digest(form.get(MARK, "").encode("utf-8", "replace"), login.mark.encode())


def _read_form(body: bytes) -> dict[str, str]:
    try:
        fields = parse_qsl(
            body.decode("ascii", "replace"), keep_blank_values=True, max_num_fields=_MAX_FIELDS
        )
    except ValueError:
        return {}
    return dict(fields)

"""From a template to a page that a browser can only show, and the frame of the pages of a brain."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any
from urllib.parse import quote, urlencode

from jinja2 import Environment, FunctionLoader
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from lessons_kb.errors import GitError, LessonsError
from lessons_kb.report.page import make_environment
from lessons_kb.service.web.authentication import Caller
from lessons_kb.service.web.served_brain import ServedBrain
from lessons_kb.store.card_files import read_template
from lessons_kb.store.settings import REVIEW
from lessons_kb.store.user_state import log_trouble
from lessons_kb.text.sanitize import clean_line

ROWS = 50
"""Items on a page."""
_DIGITS = 7
_POLICY = (
    "default-src 'none'; style-src {style}; img-src data:; form-action 'self'; "
    "frame-ancestors 'none'; base-uri 'none'"
)
_HEADERS = {
    "x-content-type-options": "nosniff",
    # Without a referrer of its own, a form would be sent with the origin `null`.
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}
_PRIVATE = {**_HEADERS, "cache-control": "no-store"}


@dataclass(frozen=True, kw_only=True, slots=True)
class View:
    """A page of a brain that is asked for by somebody who may see it."""

    request: Request
    login: Caller
    form: Mapping[str, str]
    """What was sent; empty where the page is only looked at."""
    served: ServedBrain
    branch: str
    """Where the server commits what is accepted."""

    def show(self, template: str, *, status: int = 200, **values: Any) -> Response:
        """Return a page of the brain, in the frame that all of them have."""
        frame = {
            "login": self.login,
            "brain": self.served.name,
            "brains": self.request.state.brains,
            "stale": "; ".join(self.login.stale),
            "may_review": REVIEW in self.login.may,
            "address": self.address,
        }
        return show(template, status=status, **frame, **values)

    def address(self, *parts: str, **query: object) -> str:
        """Return the address of a page of the brain."""
        path = "/".join(quote(part) for part in ("/brains", self.served.name, *parts))
        given = {name: value for name, value in query.items() if value not in ("", None)}
        return f"{path}?{urlencode(given)}" if given else path

    def leaf(self, items: Sequence[Any], *parts: str, **query: object) -> dict[str, Any]:
        """Return the items of the part of a list that is asked for, and where the others are.

        ``parts`` and ``query`` are those of the list's address.
        """
        asked = self.request.query_params.get("page", "")
        number = int(asked) if asked.isascii() and asked.isdecimal() and len(asked) < _DIGITS else 1
        last = max(-(-len(items) // ROWS), 1)
        place = min(max(number, 1), last)
        first = (place - 1) * ROWS
        return {
            "items": items[first : first + ROWS],
            "first": first,
            "count": len(items),
            "newer": self.address(*parts, **query, page=place - 1) if place > 1 else "",
            "older": self.address(*parts, **query, page=place + 1) if place < last else "",
        }

    def say(self, error: LessonsError) -> str:
        """Return an error as a sentence that names no folder of the server."""
        text, folder = str(error), self.served.root
        if isinstance(error, GitError):
            log_trouble("server", self.served.name, f"GitError: {error}")
        while os.path.dirname(folder) != folder:
            text = text.replace(folder, "the clone")
            folder = os.path.dirname(folder)
        return f"{text[:1].upper()}{text[1:]}." if text else ""


def show(
    template: str, *, status: int = 200, headers: Mapping[str, str] | None = None, **values: Any
) -> Response:
    """Return a page made from one of ``templates/pages``; every value is shown as text."""
    html = _environment().get_template(template).render(**values)
    return show_html(html, status=status, headers=headers)


def show_html(
    html: str, *, style: str = "'self'", status: int = 200, headers: Mapping[str, str] | None = None
) -> Response:
    """Return a whole page; ``style`` is the source of style sheets that its policy allows."""
    policy = {"content-security-policy": _POLICY.format(style=style)}
    return HTMLResponse(html, status, headers={**_PRIVATE, **policy, **(headers or {})})


async def show_style(_request: Request) -> Response:
    """Return the one style sheet."""
    headers = {**_HEADERS, "cache-control": "max-age=300"}
    return Response(read_template("pages/style.css"), media_type="text/css", headers=headers)


def send_to(address: str) -> Response:
    """Return the answer that sends a browser to another address of this server."""
    return RedirectResponse(address, 303, headers=_PRIVATE)


@cache
def _environment() -> Environment:
    loader = FunctionLoader(lambda name: read_template(f"pages/{name}"))
    made = make_environment(loader=loader)
    made.filters["line"] = clean_line
    return made

"""From a template to an answer that a browser can do nothing with but show it."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from jinja2 import Environment, FunctionLoader, StrictUndefined
from starlette.responses import HTMLResponse, RedirectResponse, Response

from lessons_kb.store.card_files import read_template
from lessons_kb.text.sanitize import clean_line

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
_SEE_OTHER = 303


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


def show_style() -> Response:
    """Return the one style sheet."""
    headers = {**_HEADERS, "cache-control": "max-age=300"}
    return Response(read_template("pages/style.css"), media_type="text/css", headers=headers)


def send_to(address: str) -> Response:
    """Return the answer that sends a browser to another address of this server."""
    return RedirectResponse(address, _SEE_OTHER, headers=_PRIVATE)


@cache
def _environment() -> Environment:
    made = Environment(
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        loader=FunctionLoader(lambda name: read_template(f"pages/{name}")),
    )
    made.filters["line"] = clean_line
    return made

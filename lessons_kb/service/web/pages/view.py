"""What a page of a brain is made from: who asks for it, and the frame that all pages have."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, urlencode

from starlette.responses import Response

from lessons_kb.errors import GitError, LessonsError
from lessons_kb.service.web.callers import CALLER
from lessons_kb.service.web.pages.html_response import send_to, show
from lessons_kb.service.web.pages.logins import Login
from lessons_kb.service.web.served_brain import ServedBrain
from lessons_kb.store.settings import REVIEW
from lessons_kb.store.user_state import log_trouble

ROWS = 50
"""Items on a page."""
_DIGITS = 7


@dataclass(frozen=True, kw_only=True, slots=True)
class View:
    """A page of a brain that is asked for by somebody who may see it."""

    served: ServedBrain
    login: Login
    brains: tuple[str, ...]
    """Names of all brains that the login may see."""
    branch: str
    """Where the server commits what is accepted."""
    parameters: Mapping[str, str]
    """Of the address."""
    query: Mapping[str, str]
    form: Mapping[str, str]

    def show(self, template: str, *, status: int = 200, **values: Any) -> Response:
        """Return a page of the brain, in the frame that all of them have."""
        return show(
            template,
            status=status,
            login=self.login,
            brain=self.served.name,
            brains=self.brains,
            stale="; ".join(CALLER.get().stale),
            may_review=REVIEW in self.login.caller.may,
            address=self.address,
            **values,
        )

    def address(self, *parts: str, **query: object) -> str:
        """Return the address of a page of the brain."""
        path = "/".join(quote(part) for part in ("/brains", self.served.name, *parts))
        given = {name: value for name, value in query.items() if value not in ("", None)}
        return f"{path}?{urlencode(given)}" if given else path

    def leaf(self, items: Sequence[Any], *parts: str, **query: object) -> dict[str, Any]:
        """Return the items of the part of a list that is asked for, and where the others are.

        ``parts`` and ``query`` are those of the list's address.
        """
        asked = self.query.get("page", "")
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

    def send_to(self, *parts: str, **query: object) -> Response:
        """Return the answer that sends the browser to another page of the brain."""
        return send_to(self.address(*parts, **query))


def say(error: LessonsError, served: ServedBrain) -> str:
    """Return an error as a sentence that names no folder of the server."""
    text, folder = str(error), served.root
    if isinstance(error, GitError):
        log_trouble("server", served.name, f"GitError: {error}")
    while os.path.dirname(folder) != folder:
        text = text.replace(folder, "the clone")
        folder = os.path.dirname(folder)
    return f"{text[:1].upper()}{text[1:]}." if text else ""

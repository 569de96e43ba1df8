"""The table of pages, and how each of them is answered."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import quote

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from lessons_kb.errors import (
    AmbiguousCard,
    CardNotFound,
    EditRefused,
    GitError,
    InputError,
    LessonsError,
)
from lessons_kb.service.web.pages.browse import explain_prompt, show_card, show_cards, show_report
from lessons_kb.service.web.pages.inbox import edit_draft, show_draft, show_inbox, tell_outcome
from lessons_kb.service.web.pages.view import View, send_to, show, show_style
from lessons_kb.service.web.permissions import Forbidden, require_scope
from lessons_kb.service.web.served_brain import ServedBrain, explain
from lessons_kb.store.settings import READ, REVIEW

Page = Callable[[View], Response]
PAGES: Mapping[str, tuple[str, str, Page]] = {
    "": ("GET", READ, show_cards),
    "/cards/{card:path}": ("GET", READ, show_card),
    "/why": ("GET POST", READ, explain_prompt),
    "/report": ("GET", READ, show_report),
    "/inbox": ("GET", REVIEW, show_inbox),
    "/inbox/{draft}": ("GET POST", REVIEW, show_draft),
    "/inbox/{draft}/edit": ("GET POST", REVIEW, edit_draft),
}
"""Address below a brain's → methods, scope and page."""


def route_pages(brains: Mapping[str, ServedBrain], *, branch: str, run: Any) -> list[Route]:
    """Return the addresses of all pages; ``run`` does a page's work where it may take time."""

    def route(path: str, methods: str, scope: str, page: Page) -> Route:
        async def answer(request: Request) -> Response:
            served, state = brains[request.path_params["brain"]], request.state
            seen = {"login": state.login, "form": state.form, "branch": branch}
            view = View(request=request, served=served, **seen)
            answered: Response = await run(lambda: _work(page, scope, view))
            return answered

        return Route(f"/brains/{{brain}}{path}", answer, methods=methods.split())

    return [
        Route("/", _show_home),
        Route("/style.css", show_style),
        *(route(path, *row) for path, row in PAGES.items()),
    ]


async def _show_home(request: Request) -> Response:
    names = request.state.brains
    if len(names) == 1:
        return send_to(f"/brains/{quote(names[0])}")
    return show("home.html", login=request.state.login, brains=names)


def _work(page: Page, scope: str, view: View) -> Response:
    try:
        require_scope(READ)
        require_scope(scope)
        return page(view)
    except Forbidden as error:
        raise HTTPException(403, f"{error}.") from None
    except (CardNotFound, AmbiguousCard):
        told = tell_outcome(view)
        raise HTTPException(409 if told else 404, told or None) from None
    except (InputError, EditRefused, GitError) as error:
        raise HTTPException(422, view.say(error)) from None
    except LessonsError as error:
        view.served.note_stale(error)
        raise HTTPException(503, f"No answer now: {explain(error)}.") from None

"""The table of pages, and how each of them is answered."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from urllib.parse import quote

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
from lessons_kb.service.web.pages.guard import HOME, STYLE, show_message
from lessons_kb.service.web.pages.inbox import edit_draft, show_draft, show_inbox, tell_outcome
from lessons_kb.service.web.pages.view import View, say, send_to, show, show_style
from lessons_kb.service.web.permissions import Forbidden, require_scope
from lessons_kb.service.web.served_brain import ServedBrain, explain
from lessons_kb.store.settings import READ, REVIEW

Run = Callable[[Callable[[], Response]], Awaitable[Response | None]]
"""Does a page's work where it may take time; None where that takes too long."""
_UNUSABLE, _DECIDED = 422, 409


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


class Site:
    """The pages over some brains."""

    def __init__(self, brains: Mapping[str, ServedBrain], *, branch: str, run: Run) -> None:
        self._brains = brains
        self._branch = branch
        self._run = run

    def routes(self) -> list[Route]:
        """Return all addresses."""
        made = [Route(HOME, self._home), Route(STYLE, self._style)]
        for path, (methods, scope, page) in PAGES.items():
            answer = partial(self._answer, page, scope)
            address = f"/brains/{{brain}}{path}"
            made.append(Route(address, answer, methods=methods.split()))
        return made

    async def _home(self, request: Request) -> Response:
        names = request.state.brains
        if len(names) == 1:
            return send_to(f"/brains/{quote(names[0])}")
        return show("home.html", login=request.state.login, brains=names)

    async def _style(self, _request: Request) -> Response:
        return show_style()

    async def _answer(self, page: Page, scope: str, request: Request) -> Response:
        login = request.state.login
        served = self._brains[request.path_params["brain"]]
        view = View(
            served=served,
            login=login,
            brains=tuple(request.state.brains),
            branch=self._branch,
            parameters=request.path_params,
            query=dict(request.query_params),
            form=request.state.form,
        )

        def work() -> Response:
            try:
                require_scope(READ)
                require_scope(scope)
                return page(view)
            except Forbidden as error:
                return show_message(403, login, f"{error}.")
            except (CardNotFound, AmbiguousCard):
                told = tell_outcome(view)
                return show_message(_DECIDED if told else 404, login, told)
            except (InputError, EditRefused, GitError) as error:
                return show_message(_UNUSABLE, login, say(error, served))
            except LessonsError as error:
                served.note_stale(error)
                return show_message(503, login, f"No answer now: {explain(error)}.")

        return await self._run(work) or show_message(503, login)

"""The pages for people, who search the cards, see why a prompt gets its lessons, and review
drafts.
"""

from __future__ import annotations

import datetime as dt
import os
import posixpath
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache, partial
from typing import Any
from urllib.parse import quote, unquote, urlencode

from jinja2 import Environment, FunctionLoader
from markupsafe import Markup
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Route

from lessons_kb.cards.parse import parse_card
from lessons_kb.cards.sections import render_html
from lessons_kb.collection.branch_review import BranchReview
from lessons_kb.collection.draft_lookup import Draft, describe_source
from lessons_kb.collection.lookup import names
from lessons_kb.collection.near_duplicates import RELATED
from lessons_kb.errors import (
    AmbiguousCard,
    CardNotFound,
    Contradiction,
    DuplicateCard,
    EditRefused,
    GitError,
    InputError,
    LessonsError,
)
from lessons_kb.model import KINDS, NOTE, STATUSES, Card, Hit
from lessons_kb.outcome import why as verdicts
from lessons_kb.process.git import Author
from lessons_kb.render import in_words, words_by_term
from lessons_kb.report.page import build_page, make_environment, style_hash
from lessons_kb.service.web.authentication import Caller
from lessons_kb.service.web.served_brain import ServedBrain, explain
from lessons_kb.service.web.tool_access import Forbidden, require_scope
from lessons_kb.store.card_files import read_template
from lessons_kb.store.error_log import log_trouble
from lessons_kb.store.server_tokens import READ, REVIEW
from lessons_kb.text.sanitize import clean_line, counted, visible
from lessons_kb.text.times import age
from lessons_kb.values import frozen, replace

ROWS = 50
"""Number of items on a page."""
_POLICY = (
    "default-src 'none'; style-src {style}; img-src data:; form-action 'self'; "
    "frame-ancestors 'none'; base-uri 'none'"
)
_HEADERS = {
    "x-content-type-options": "nosniff",
    # With "no-referrer" a browser would send a form with the origin `null`.
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}
_PRIVATE = {**_HEADERS, "cache-control": "no-store"}


@frozen
class View:
    """A request for a page of a brain, by a caller who may see the brain."""

    request: Request
    login: Caller
    form: Mapping[str, str]
    """The submitted fields, which are empty for a GET request."""
    served: ServedBrain
    branch: str
    """The branch on which the server commits accepted drafts."""

    def show(self, template: str, *, status: int = 200, **values: Any) -> Response:
        """Return a page of the brain, in the frame that all its pages share."""
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
        # A draft's file may have a name that is not UTF-8.
        quoted = [quote(part, errors="replace") for part in parts]
        path = "/".join(("/brains", quote(self.served.name), *quoted))
        fields = {name: value for name, value in query.items() if value not in ("", None)}
        return f"{path}?{urlencode(fields, errors='replace')}" if fields else path

    def paginate(self, items: Sequence[Any], *parts: str, **query: object) -> dict[str, Any]:
        """Return the items on the requested page of a list, and links to the previous and next
        pages.

        ``parts`` and ``query`` form the list's address; see ``address``.
        """
        requested = self.request.query_params.get("page", "")
        last = -(-len(items) // ROWS)
        page = int(requested) if re.fullmatch("[0-9]{1,6}", requested) else 1
        page = max(min(page, last), 1)
        first = (page - 1) * ROWS
        return {
            "items": items[first : first + ROWS],
            "first": first,
            "count": len(items),
            "newer": self.address(*parts, **query, page=page - 1) if page > 1 else "",
            "older": self.address(*parts, **query, page=page + 1) if page < last else "",
        }

    def describe_error(self, error: LessonsError) -> str:
        """Return an error as a sentence that does not name a folder of the server."""
        text = str(error)
        folder = self.served.root
        while os.path.dirname(folder) != folder:
            text = text.replace(folder, "the clone")
            folder = os.path.dirname(folder)
        return f"{text[:1].upper()}{text[1:]}." if text else ""

    def log_git_error(self, error: GitError) -> None:
        """Write a failure of git to the server's error log. Never raises."""
        log_trouble("server", self.served.name, f"GitError: {error}")


def show(
    template: str, *, status: int = 200, headers: Mapping[str, str] | None = None, **values: Any
) -> Response:
    """Return a page from a template in ``templates/pages``. Every value is escaped."""
    html = _environment().get_template(template).render(**values)
    return HTMLResponse(html, status, headers={**_PRIVATE, **_allow("'self'"), **(headers or {})})


def _allow(style: str) -> dict[str, str]:
    """Return the header that allows a page to load style sheets from one source, and nothing
    else.
    """
    return {"content-security-policy": _POLICY.format(style=style)}


def send_to(address: str) -> Response:
    """Return a redirect to another address of this server."""
    return RedirectResponse(address, 303, headers=_PRIVATE)


@cache
def _environment() -> Environment:
    loader = FunctionLoader(lambda name: read_template(f"pages/{name}"))
    environment = make_environment(loader=loader)
    environment.filters["line"] = clean_line
    return environment


_MAX_HITS = 50
_MAX_PROJECTS = 30
_MAX_QUERY = 4_000
MAX_PROMPT = 100_000
"""The maximum number of characters of a prompt that are used."""


def show_cards(view: View) -> Response:
    """Show the cards that a search finds, best first, or all cards, most recent first."""
    fields = view.request.query_params
    query = fields.get("q", "").strip()[:_MAX_QUERY]
    kind, status, project = (fields.get(name, "") for name in ("kind", "status", "project"))
    kinds = (kind,) if kind in (*KINDS, NOTE) else KINDS
    all_cards = view.served.find().cards.all(notes=kind == NOTE)
    projects = find_projects(all_cards)
    matched: dict[str, str] = {}
    if query:
        searched = [project] if project else ["", *projects[:_MAX_PROJECTS]]
        hits = _search_projects(view.served, query, kinds=kinds, projects=searched)
        matched = _describe_matches(hits, query)
        cards = [hit.card for hit in hits[:_MAX_HITS]]
    else:
        cards = [card for card in all_cards if card.kind in kinds]
        cards = [card for card in cards if names(card, project=project or None)]
        cards.sort(key=lambda card: card.id)
        cards.sort(key=lambda card: card.latest_day, reverse=True)
    cards = [card for card in cards if status in ("", card.status)]
    chosen: dict[str, Any] = {"q": query, "kind": kind, "project": project}
    page = view.paginate(cards, **chosen, status=status)
    today = dt.datetime.now(tz=dt.UTC).date()
    rows = [
        (card, _describe_card(card, today), matched.get(card.id, "")) for card in page.pop("items")
    ]
    page |= {"kinds": (*KINDS, NOTE), "statuses": STATUSES, "projects": projects}
    return view.show("cards.html", rows=rows, **page, **chosen, status_chosen=status)


def _search_projects(
    served: ServedBrain, query: str, *, kinds: Sequence[str], projects: Iterable[str]
) -> list[Hit]:
    """Search a brain for each project. Return the first hit of each card, with the best hit
    first.
    """
    hits: dict[str, Hit] = {}
    for project in projects:
        brains = served.open(_name_directory(project))
        project_hits = brains.search(query, kinds=kinds, limit=_MAX_HITS)
        for hit in project_hits:
            hits.setdefault(hit.card.id, hit)
    return sorted(hits.values(), key=lambda hit: -hit.score)


def _describe_matches(hits: Iterable[Hit], query: str) -> dict[str, str]:
    """Return a mapping from the id of each hit's card to the words of the query that match the
    card.
    """
    words = words_by_term(query)
    matches = {}
    for hit in hits:
        matching_words = [words.get(term, term) for term in hit.matched]
        matches[hit.card.id] = ", ".join(dict.fromkeys(matching_words))
    return matches


def show_card(view: View) -> Response:
    """Show one card."""
    document = view.served.find().cards.read(view.request.path_params["card"])[1]
    card = document.card
    if card is None:
        raise CardNotFound("the card cannot be read any more; run `lessons lint`")
    return view.show(
        "card.html",
        card=card,
        body=render_body(view, card, document.body),
        findings=[f"{finding.message}: {finding.fix}" for finding in document.findings],
    )


def find_projects(cards: Iterable[Card]) -> list[str]:
    """Return the projects of some cards, sorted without regard to case."""
    return sorted({card.project for card in cards if card.project}, key=str.casefold)


def render_body(view: View, card: Card, body: str, *, top: int = 2) -> Markup:
    """Return a card's Markdown as safe HTML. Links to other cards lead to the pages of those cards.

    ``top`` is the level of the highest heading.
    """

    def link(target: str) -> str:
        path = unquote(target.partition("#")[0])
        full = posixpath.normpath(posixpath.join(posixpath.dirname(card.id), path))
        inside = full.endswith((".md", ".markdown")) and not full.startswith("../")
        return view.address("cards", full) if inside else ""

    html = render_html(body, title=card.title, top=top, link=link)
    return Markup(html)  # noqa: S704 ``render_html`` has removed everything unsafe


def _describe_card(card: Card, today: dt.date) -> str:
    """Return a line with a card's kind and the properties in which the card differs from most
    cards.
    """
    past = age(card.latest_day, today)
    parts = (
        card.kind,
        card.severity if card.severity != "medium" else "",
        f"seen {card.occurrences:,}×" if card.occurrences > 1 else "",
        f"{past} ago" if past else "",
        card.project,
        card.status if card.status != "active" else "",
    )
    return " · ".join(filter(None, parts))


def _name_directory(project: str) -> str:
    """Return a client's directory with the name of a project, for ``ServedBrain.find``.

    A served brain takes the last name of the directory as the current project, unless its own
    settings name a project. The directory is never opened, so any text is accepted as a project.
    """
    return f"/{project}"


def explain_prompt(view: View) -> Response:
    """Show the lessons that a prompt gets, and why it gets no other lessons.

    Without a submitted prompt, the page shows only the form; for an empty prompt, it also shows
    what is missing. The index may be refreshed, but the prompt is not stored. A project that no
    card names is not an error. Raises BrainNotFound if the brain's folder no longer exists.
    """
    form = view.form
    prompt = form.get("prompt", "")[:MAX_PROMPT]
    paths = form.get("paths", "").split()
    stage = form.get("stage", "").strip()
    project = form.get("project", "").strip()
    brains = view.served.find(_name_directory(project))
    values: dict[str, Any] = {
        "prompt": prompt,
        "paths": " ".join(paths),
        "stage": stage,
        "project": project,
        "projects": find_projects(brains.cards.all()),
        "problem": "",
        "explanation": None,
    }
    if prompt.strip():
        explanation = verdicts.explain_prompt(
            brains, prompt, paths=tuple(paths), stage=stage or None
        )
        words = words_by_term(prompt)
        reasons = [in_words(clean_line(row.reason), words) for row in explanation.verdicts]
        rows = list(zip(explanation.verdicts, reasons, strict=True))
        values |= {"explanation": explanation, "rows": rows}
    elif "prompt" in form:
        values["problem"] = "Paste a prompt to explain."
    return view.show("why.html", **values)


def show_report(view: View) -> Response:
    """Show the report of ``lessons report``, with links to the pages of the cards."""
    template = read_template("report.html")
    page = build_page(
        view.served.find().stats.overview(),
        template=template,
        brain=view.served.name,
        made=dt.datetime.now(tz=dt.UTC).date().isoformat(),
        link=lambda effect: view.address("cards", effect.card.id),
        home=view.address(),
    )
    policy = _allow(f"'sha256-{style_hash(template)}'")
    return HTMLResponse(page, headers={**_PRIVATE, **policy})


def show_inbox(view: View) -> Response:
    """Show the drafts that wait for a decision, and the accepted cards that wait for a merge."""
    review = _open_review(view)
    page = view.paginate(review.all(), "inbox")
    state, card = review.find_outcome(view.request.query_params.get("done", ""))
    rows = [
        {
            "id": draft.id,
            "title": clean_line(draft.title) or draft.id,
            "about": _describe_draft(draft),
            "lacks": _describe_lacks(draft),
        }
        for draft in page.pop("items")
    ]
    page |= {"done": state, "done_card": card, **_describe_branch(view, review)}
    return view.show("inbox.html", rows=rows, **page)


def show_draft(view: View) -> Response:
    """Show a draft, or carry out the decision about it and redirect to the inbox."""
    review = _open_review(view)
    problem = ""
    is_opposed = False
    draft = review.get(view.request.path_params["draft"])
    choice = view.form.get("do", "")
    if choice in ("accept", "merge", "discard"):
        try:
            _decide(review, draft, choice, view)
            return send_to(view.address("inbox", done=draft.id))
        except Contradiction as error:
            is_opposed, reason = True, str(error).partition(";")[0]
            problem = (
                f"{reason}. Tick that you accept it all the same: an agent then gets only one of "
                "the two."
            )
        except DuplicateCard as error:
            problem = (
                f"{error.existing} may be the same lesson. Merge the draft into it, or tick that "
                "you accept it all the same."
            )
        except (CardNotFound, EditRefused, InputError) as error:
            problem = view.describe_error(error)
        draft = review.get(draft.id)
    folders = view.served.find().members[0].settings.folders
    document = parse_card(draft.text, path=f"lessons/{draft.id}.md", folders=folders)
    branch = _describe_branch(view, review)
    card = document.card
    near_duplicates = [] if branch["trouble"] else review.find_near_duplicates(draft)
    return view.show(
        "draft.html",
        status=422 if problem else 200,
        draft=draft,
        problem=problem,
        about=_describe_draft(draft),
        text=visible(draft.text),
        card=card,
        body=render_body(view, card, document.body, top=3) if card else "",
        near_duplicates=near_duplicates,
        opposed=is_opposed,
        duplicate=any(card.level != RELATED for card in near_duplicates),
        **branch,
    )


def edit_draft(view: View) -> Response:
    """Show a draft's file in a form, or save the submitted text."""
    review = _open_review(view)
    problem = ""
    other = ""
    draft = review.get(view.request.path_params["draft"])
    text = view.form.get("text", draft.text).replace("\r\n", "\n")
    if "text" in view.form:
        try:
            review.rewrite(draft.id, text, digest=view.form.get("seen", ""))
            return send_to(view.address("inbox", draft.id))
        except EditRefused:
            other = visible(draft.text)
            problem = (
                "The draft was changed while you wrote. Copy the changes you need, then save again."
            )
        except InputError as error:
            problem = view.describe_error(error)
    values = {"draft": draft, "text": text, "problem": problem, "other": other}
    return view.show("edit.html", status=422 if problem else 200, **values)


def _open_review(view: View) -> BranchReview:
    """Return the review of the brain's drafts, with the caller as the author of commits."""
    author = Author(name=view.login.person, email=view.login.email)
    return BranchReview(view.served.find(), branch=view.branch, author=author)


def _decide(review: BranchReview, draft: Draft, choice: str, view: View) -> None:
    """Carry out the decision about a draft: discard, merge or accept it."""
    form = view.form
    digest = view.form.get("seen", "")
    if choice == "discard":
        review.discard(draft.id, digest=digest)
    elif choice == "merge":
        card = form.get("other", "").strip() or form.get("card", "")
        if not card:
            raise InputError("choose the card that the draft is to be merged into")
        cards = (*view.served.find().cards.all(), *review.find_waiting())
        if card not in {existing.id for existing in cards}:
            raise CardNotFound(f"no card has the id {clean_line(card)}; copy it from its page")
        review.merge(draft.id, card, digest=digest)
    elif draft.missing and not draft.trouble:
        raise InputError(f"the draft is incomplete; add {'; '.join(draft.missing)}")
    else:
        # It is the same as "new" for a card that contradicts no other.
        on_duplicate = "contradicts" if form.get("anyway") else "fail"
        review.accept(draft.id, on_duplicate=on_duplicate, digest=digest)


def _describe_draft(draft: Draft) -> str:
    """Return a line with the source of a draft, its date, and how often its mistake was seen."""
    date = dt.datetime.fromtimestamp(draft.at, tz=dt.UTC).date().isoformat()
    times = f", seen {draft.seen:,}×" if draft.seen > 1 else ""
    return f"{describe_source(draft)} on {date}{times}"


def _describe_lacks(draft: Draft) -> str:
    """Return a text with the number of missing parts of a draft, or "" if the draft is complete."""
    if draft.trouble:
        return "can only be discarded"
    return f"lacks {counted(len(draft.missing), 'thing')}" if draft.missing else ""


def _describe_branch(view: View, review: BranchReview) -> dict[str, Any]:
    """Return the values for ``branch.html``.

    The values are the branch, whether it is checked out here, the accepted cards that wait for a
    merge, and the error that prevents drafts from being accepted. A failure of git is also written
    to the error log.
    """
    values: dict[str, Any] = {"branch": view.branch, "here": False, "waiting": [], "trouble": ""}
    try:
        review.check_writable()
        values["here"] = review.is_checked_out()
        values["waiting"] = [] if values["here"] else review.find_waiting()
    except LessonsError as error:
        if isinstance(error, GitError):
            view.log_git_error(error)
        values["trouble"] = view.describe_error(error)
    return values


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
"""Mapping from a path below a brain's address to the methods, the scope and the page."""


def route_pages(served_brains: Mapping[str, ServedBrain], *, branch: str, run: Any) -> list[Route]:
    """Return the routes of all pages. ``run`` calls a page's function in a thread."""

    def route(path: str, methods: str, scope: str, page: Page) -> Route:
        async def answer(request: Request) -> Any:
            served, state = served_brains[request.path_params["brain"]], request.state
            view = View(
                request=request, login=state.login, form=state.form, served=served, branch=branch
            )
            return await run(partial(_answer, page, scope, view))

        return Route(f"/brains/{{brain}}{path}", answer, methods=methods.split())

    async def answer_home(request: Request) -> Any:
        return await run(partial(show_home, request, served_brains))

    headers = {**_HEADERS, "cache-control": "max-age=300"}
    style = Response(read_template("pages/style.css"), media_type="text/css", headers=headers)
    return [
        Route("/", answer_home),
        Route("/style.css", style, methods=["GET"]),
        *(route(path, *row) for path, row in PAGES.items()),
    ]


def show_home(request: Request, served_brains: Mapping[str, ServedBrain]) -> Response:
    """Show a description of this server, and a row for each brain that the caller may see."""
    login = request.state.login
    rows = [_describe_brain(served_brains[name], login) for name in request.state.brains]
    return show("home.html", login=login, brains=rows)


@frozen
class BrainRow:
    """One brain on the start page."""

    name: str
    address: str
    is_readable: bool = True
    """Whether the caller may read it."""
    may_review: bool = False
    trouble: str = ""
    cards: int = 0
    drafts: int = 0
    changed: str = ""
    """ISO date of the last change to a file."""
    changed_title: str = ""
    changed_address: str = ""


def _describe_brain(served: ServedBrain, login: Caller) -> BrainRow:
    row = BrainRow(
        name=served.name,
        address=f"/brains/{quote(served.name)}",
        is_readable=READ in login.may,
        may_review=REVIEW in login.may,
    )
    if not row.is_readable:
        return row
    try:
        summary = served.summarise()
    except LessonsError as error:
        served.note_stale(error)
        return replace(row, trouble=f"No answer now: {explain(error)}.")
    row = replace(row, cards=summary.cards, drafts=summary.drafts)
    card = summary.changed
    if card is None:
        return row
    changed = dt.datetime.fromtimestamp(summary.changed_at, tz=dt.UTC)
    return replace(
        row,
        changed=changed.date().isoformat(),
        changed_title=clean_line(card.title) or clean_line(card.id),
        changed_address=f"{row.address}/cards/{quote(card.id, errors='replace')}",
    )


def _answer(page: Page, scope: str, view: View) -> Response:
    """Return a page. Any LessonsError of the page becomes an HTTPException.

    The status is 403 if the caller lacks READ or ``scope``. If no card or draft has the name, or
    several cards have it, the status is 404, or 409 if the name is that of a draft that was already
    decided. It is 422 for a refused input, a refused edit and a failure of git, and 503 for every
    other error.

    A failure of git is also written to the error log. For an error with the status 503,
    ``ServedBrain.note_stale`` writes it to the error log and records it for the caller. An error
    while the decision about a draft is read is not converted.
    """
    try:
        require_scope(READ)
        require_scope(scope)
        return page(view)
    except Forbidden as error:
        raise HTTPException(403, f"{error}.") from None
    except (CardNotFound, AmbiguousCard):
        message = _describe_decision(view)
        if not message:
            raise HTTPException(404) from None
        raise HTTPException(409, message) from None
    except (InputError, EditRefused) as error:
        raise HTTPException(422, view.describe_error(error)) from None
    except GitError as error:
        view.log_git_error(error)
        raise HTTPException(422, view.describe_error(error)) from None
    except LessonsError as error:
        view.served.note_stale(error)
        raise HTTPException(503, f"No answer now: {explain(error)}.") from None


def _describe_decision(view: View) -> str:
    """Return how the requested draft was decided, or "" if it was not or none is requested."""
    draft = view.request.path_params.get("draft", "")
    state, card = _open_review(view).find_outcome(draft)
    if state == "accepted":
        decision = f"accepted as {card}"
    elif state == "merged":
        decision = f"merged into {card}"
    elif state == "discarded":
        decision = "discarded"
    else:
        return ""
    return clean_line(f"This draft was already {decision}.")

"""The pages for people: search the cards, see what a prompt draws, review what was proposed."""

from __future__ import annotations

import datetime as dt
import os
import posixpath
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
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
from lessons_kb.collection.drafts import Draft, tell_source
from lessons_kb.collection.lookup import names
from lessons_kb.collection.near_duplicates import RELATED
from lessons_kb.errors import (
    AmbiguousCard,
    CardNotFound,
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
from lessons_kb.values import frozen

ROWS = 50
"""Items on a page."""
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


@frozen
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
        # A draft's file may have a name that is not UTF-8.
        quoted = [quote(part, errors="replace") for part in parts]
        path = "/".join(("/brains", quote(self.served.name), *quoted))
        given = {name: value for name, value in query.items() if value not in ("", None)}
        return f"{path}?{urlencode(given)}" if given else path

    def leaf(self, items: Sequence[Any], *parts: str, **query: object) -> dict[str, Any]:
        """Return the items of the part of a list that is asked for, and where the others are.

        ``parts`` and ``query`` are those of the list's address.
        """
        asked, last = self.request.query_params.get("page", ""), max(-(-len(items) // ROWS), 1)
        place = min(max(int(asked), 1), last) if re.fullmatch("[0-9]{1,6}", asked) else 1
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
    return HTMLResponse(html, status, headers={**_PRIVATE, **_allow("'self'"), **(headers or {})})


def _allow(style: str) -> dict[str, str]:
    """Return the policy that allows a page nothing but style sheets from one source."""
    return {"content-security-policy": _POLICY.format(style=style)}


def send_to(address: str) -> Response:
    """Return the answer that sends a browser to another address of this server."""
    return RedirectResponse(address, 303, headers=_PRIVATE)


@cache
def _environment() -> Environment:
    loader = FunctionLoader(lambda name: read_template(f"pages/{name}"))
    made = make_environment(loader=loader)
    made.filters["line"] = clean_line
    return made


_MOST_HITS = 50
_MOST_PROJECTS = 30
_MAX_QUERY = 4_000
MAX_PROMPT = 100_000
"""Characters of a prompt that are looked at."""


def show_cards(view: View) -> Response:
    """Show the cards that a search finds, best first, or all of them, most recent first."""
    query = view.request.query_params
    asked = query.get("q", "").strip()[:_MAX_QUERY]
    kind, status, project = (query.get(name, "") for name in ("kind", "status", "project"))
    kinds = (kind,) if kind in (*KINDS, NOTE) else KINDS
    everything = view.served.find().cards.all(notes=kind == NOTE)
    projects = find_projects(everything)
    matched: dict[str, str] = {}
    if asked:
        hits = dict[str, Hit]()  # each card once
        for one in [project] if project else ["", *projects[:_MOST_PROJECTS]]:
            own = view.served.open(f"/{one}").search(asked, kinds=kinds, limit=_MOST_HITS)
            hits = {hit.card.id: hit for hit in own} | hits
        best, words = sorted(hits.values(), key=lambda hit: -hit.score), words_by_term(asked)
        found = [hit.card for hit in best[:_MOST_HITS]]
        for hit in best:
            terms = dict.fromkeys(words.get(term, term) for term in hit.matched)
            matched[hit.card.id] = ", ".join(terms)
    else:
        chosen = [one for one in everything if one.kind in kinds]
        found = [one for one in chosen if names(one, project=project or None)]
        found.sort(key=lambda one: one.id)
        found.sort(key=lambda one: one.last_seen or one.created or "", reverse=True)
    found = [one for one in found if status in ("", one.status)]
    given: dict[str, Any] = {"q": asked, "kind": kind, "project": project}
    leaf = view.leaf(found, **given, status=status)
    today = dt.datetime.now(tz=dt.UTC).date()
    rows = [
        (card, _describe_card(card, today), matched.get(card.id, "")) for card in leaf.pop("items")
    ]
    leaf |= {"kinds": (*KINDS, NOTE), "statuses": STATUSES, "projects": projects}
    return view.show("cards.html", rows=rows, **leaf, **given, status_chosen=status)


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
        findings=[f"{one.message}: {one.fix}" for one in document.findings],
    )


def find_projects(cards: Iterable[Card]) -> list[str]:
    """Return the projects that some cards are for, in order."""
    return sorted({card.project for card in cards if card.project}, key=str.casefold)


def render_body(view: View, card: Card, body: str, *, top: int = 2) -> Markup:
    """Return a card's Markdown as HTML that is safe to show; links to other cards stay here."""

    def link(target: str) -> str:
        path = unquote(target.partition("#")[0])
        full = posixpath.normpath(posixpath.join(posixpath.dirname(card.id), path))
        inside = full.endswith((".md", ".markdown")) and not full.startswith("../")
        return view.address("cards", full) if inside else ""

    return Markup(render_html(body, title=card.title, top=top, link=link))  # noqa: S704 tamed there


def _describe_card(card: Card, today: dt.date) -> str:
    past = age(card.last_seen or card.created or "", today)
    parts = (
        card.kind,
        card.severity if card.severity != "medium" else "",
        f"seen {card.occurrences:,}×" if card.occurrences > 1 else "",
        f"{past} ago" if past else "",
        card.project,
        card.status if card.status != "active" else "",
    )
    return " · ".join(filter(None, parts))


def explain_prompt(view: View) -> Response:
    """Show what a prompt would be given and what held the other lessons back; it is not kept."""
    form = view.form
    prompt, paths = form.get("prompt", "")[:MAX_PROMPT], form.get("paths", "").split()
    stage, project = (form.get(name, "").strip() for name in ("stage", "project"))
    brains = view.served.find(f"/{project}")
    projects = find_projects(brains.cards.all())
    shown: dict[str, Any] = {"prompt": prompt, "paths": " ".join(paths), "stage": stage}
    shown |= {"project": project, "projects": projects, "problem": "", "told": None}
    if prompt.strip():
        told = verdicts.explain_prompt(brains, prompt, paths=tuple(paths), stage=stage or None)
        words = words_by_term(prompt)
        reasons = [in_words(clean_line(one.reason), words) for one in told.verdicts]
        shown |= {"told": told, "rows": list(zip(told.verdicts, reasons, strict=True))}
    elif "prompt" in form:
        shown["problem"] = "Paste a prompt to explain."
    return view.show("why.html", **shown)


def show_report(view: View) -> Response:
    """Show the report of ``lessons report``, its links leading to the pages of the cards."""
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
    """Show what waits for a decision, and what waits on the branch for being merged."""
    review = _open(view)
    leaf = view.leaf(review.all(), "inbox")
    state, card = review.find_outcome(view.request.query_params.get("done", ""))
    rows = [
        {
            "id": draft.id,
            "title": clean_line(draft.title) or draft.id,
            "about": _describe_draft(draft),
            "lacks": _describe_lacks(draft),
        }
        for draft in leaf.pop("items")
    ]
    leaf |= {"done": state, "done_card": card, **_describe_branch(view, review)}
    return view.show("inbox.html", rows=rows, **leaf)


def show_draft(view: View) -> Response:
    """Show one draft, or do what was decided about it and show the inbox."""
    review, problem = _open(view), ""
    draft = review.get(view.request.path_params["draft"])
    choice = view.form.get("do", "")
    if choice in ("accept", "merge", "discard"):
        try:
            _decide(review, draft, choice, view)
            return send_to(view.address("inbox", done=draft.id))
        except DuplicateCard as error:
            problem = (
                f"{error.existing} may be the same lesson. Merge the draft into it, or tick that "
                "you accept it all the same."
            )
        except (CardNotFound, EditRefused, InputError) as error:
            problem = view.say(error)
        draft = review.get(draft.id)
    folders = view.served.find().members[0].settings.folders
    document = parse_card(draft.text, path=f"lessons/{draft.id}.md", folders=folders)
    branch, card = _describe_branch(view, review), document.card
    alike = [] if branch["trouble"] else review.find_near_duplicates(draft)
    return view.show(
        "draft.html",
        status=422 if problem else 200,
        draft=draft,
        problem=problem,
        about=_describe_draft(draft),
        text=visible(draft.text),
        card=card,
        body=render_body(view, card, document.body, top=3) if card else "",
        near_duplicates=alike,
        duplicate=any(one.level != RELATED for one in alike),
        **branch,
    )


def edit_draft(view: View) -> Response:
    """Show a draft's file in a form, or save what was written there."""
    review, problem, other = _open(view), "", ""
    draft = review.get(view.request.path_params["draft"])
    text = view.form.get("text", draft.text).replace("\r\n", "\n")
    if "text" in view.form:
        try:
            review.rewrite(draft.id, text, digest=view.form.get("seen", ""))
            return send_to(view.address("inbox", draft.id))
        except EditRefused:
            other = visible(draft.text)
            problem = (
                "The draft was changed while you wrote. Take over what you need, then save again."
            )
        except InputError as error:
            problem = view.say(error)
    shown = {"draft": draft, "text": text, "problem": problem, "other": other}
    return view.show("edit.html", status=422 if problem else 200, **shown)


def _open(view: View) -> BranchReview:
    author = Author(name=view.login.person, email=view.login.email)
    return BranchReview(view.served.find(), branch=view.branch, author=author)


def _decide(review: BranchReview, draft: Draft, choice: str, view: View) -> None:
    form, digest = view.form, view.form.get("seen", "")
    if choice == "discard":
        review.discard(draft.id, digest=digest)
    elif choice == "merge":
        card = form.get("other", "").strip() or form.get("card", "")
        if not card:
            raise InputError("choose the card that the draft is to be merged into")
        cards = (*view.served.find().cards.all(), *review.find_waiting())
        if card not in {one.id for one in cards}:
            raise CardNotFound(f"no card has the id {clean_line(card)}; copy it from its page")
        review.merge(draft.id, card, digest=digest)
    elif draft.missing and not draft.trouble:
        raise InputError(f"the draft is incomplete; add {'; '.join(draft.missing)}")
    else:
        anyway = "new" if form.get("anyway") else "fail"
        review.accept(draft.id, on_duplicate=anyway, digest=digest)


def _describe_draft(draft: Draft) -> str:
    when = dt.datetime.fromtimestamp(draft.at, tz=dt.UTC).date().isoformat()
    often = f", seen {draft.seen:,}×" if draft.seen > 1 else ""
    return f"{tell_source(draft)} on {when}{often}"


def _describe_lacks(draft: Draft) -> str:
    if draft.trouble:
        return "can only be discarded"
    return f"lacks {counted(len(draft.missing), 'thing')}" if draft.missing else ""


def _describe_branch(view: View, review: BranchReview) -> dict[str, Any]:
    """Return what becomes of what is accepted here, and why nothing can be if that is so."""
    told: dict[str, Any] = {"branch": view.branch, "here": False, "waiting": [], "trouble": ""}
    try:
        review.check_writable()
        told["here"] = review.is_checked_out()
        told["waiting"] = [] if told["here"] else review.find_waiting()
    except LessonsError as error:
        told["trouble"] = view.say(error)
    return told


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


def route_pages(served_brains: Mapping[str, ServedBrain], *, branch: str, run: Any) -> list[Route]:
    """Return the addresses of all pages; ``run`` does a page's work where it may take time."""

    def route(path: str, methods: str, scope: str, page: Page) -> Route:
        async def answer(request: Request) -> Any:
            served, state = served_brains[request.path_params["brain"]], request.state
            view = View(
                request=request, login=state.login, form=state.form, served=served, branch=branch
            )
            return await run(partial(_work, page, scope, view))

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
    """Show what this server is, and what each brain holds that may be seen."""
    login = request.state.login
    rows = [_describe_brain(served_brains[name], login) for name in request.state.brains]
    return show("home.html", login=login, brains=rows)


@frozen
class BrainRow:
    """What the start page shows of a brain."""

    name: str
    address: str
    is_readable: bool = True
    """Whether the caller may read it."""
    may_review: bool = False
    trouble: str = ""
    cards: int = 0
    drafts: int = 0
    changed: str = ""
    """ISO date on which a file was last written."""
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


def _work(page: Page, scope: str, view: View) -> Response:
    try:
        require_scope(READ)
        require_scope(scope)
        return page(view)
    except Forbidden as error:
        raise HTTPException(403, f"{error}.") from None
    except (CardNotFound, AmbiguousCard):
        draft = view.request.path_params.get("draft", "")
        state, card = _open(view).find_outcome(draft)
        places = {"accepted": f" as {card}", "merged": f" into {card}", "discarded": ""}
        if state not in places:
            raise HTTPException(404) from None
        told = clean_line(f"This draft was already {state}{places[state]}.")
        raise HTTPException(409, told) from None
    except (InputError, EditRefused, GitError) as error:
        raise HTTPException(422, view.say(error)) from None
    except LessonsError as error:
        view.served.note_stale(error)
        raise HTTPException(503, f"No answer now: {explain(error)}.") from None

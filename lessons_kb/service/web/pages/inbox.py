"""The inbox: read what was proposed, change it, accept it, count it at another card, discard it."""

from __future__ import annotations

import datetime as dt
from typing import Any

from starlette.responses import Response

from lessons_kb.brain.drafts import BranchReview, Draft, tell_source
from lessons_kb.cards.parse import parse_card
from lessons_kb.duplicates.near_duplicates import RELATED
from lessons_kb.errors import CardNotFound, DuplicateCard, EditRefused, InputError, LessonsError
from lessons_kb.process.git import Author
from lessons_kb.service.web.pages.browse import render_body
from lessons_kb.service.web.pages.view import View, send_to
from lessons_kb.text.sanitize import clean_line, counted, visible


def show_inbox(view: View) -> Response:
    """Show what waits for a decision, and what waits on the branch for being merged."""
    review = _open(view)
    leaf = view.leaf(review.all(), "inbox")
    state, card = review.find_outcome(view.request.query_params.get("done", ""))
    rows = [
        {
            "id": draft.id,
            "title": clean_line(draft.title) or draft.id,
            "about": _about(draft),
            "lacks": draft.missing and f"lacks {counted(len(draft.missing), 'thing')}",
        }
        for draft in leaf.pop("items")
    ]
    leaf |= {"done": state, "done_card": card, **_describe_branch(view, review)}
    return view.show("inbox.html", rows=rows, **leaf)


def tell_outcome(view: View) -> str:
    """Return what was decided about the draft that is asked for, "" while nothing is."""
    state, card = _open(view).find_outcome(view.request.path_params.get("draft", ""))
    places = {"accepted": f" as {card}", "merged": f" into {card}", "discarded": ""}
    decided = f"This draft was already {state}{places[state]}." if state in places else ""
    return clean_line(decided)


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
    folders = view.served.find().layers[0].settings.folders
    document = parse_card(draft.text, path=f"lessons/{draft.id}.md", folders=folders)
    branch, card = _describe_branch(view, review), document.card
    alike = [] if branch["trouble"] else review.find_near_duplicates(draft)
    return view.show(
        "draft.html",
        status=422 if problem else 200,
        draft=draft,
        problem=problem,
        about=_about(draft),
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
    elif draft.missing:
        raise InputError(f"the draft is incomplete; add {'; '.join(draft.missing)}")
    else:
        anyway = "new" if form.get("anyway") else "fail"
        review.accept(draft.id, on_duplicate=anyway, digest=digest)


def _about(draft: Draft) -> str:
    when = dt.datetime.fromtimestamp(draft.at, tz=dt.UTC).date().isoformat()
    often = f", seen {draft.seen:,}×" if draft.seen > 1 else ""
    return f"{tell_source(draft)} on {when}{often}"


def _describe_branch(view: View, review: BranchReview) -> dict[str, Any]:
    """Return what becomes of what is accepted here, and why nothing can be if that is so."""
    told: dict[str, Any] = {"branch": view.branch, "here": False, "waiting": [], "trouble": ""}
    try:
        told["here"] = review.is_checked_out()
        told["waiting"] = [] if told["here"] else review.find_waiting()
    except LessonsError as error:
        told["trouble"] = view.say(error)
    return told

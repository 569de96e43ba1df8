"""Search the cards, read one, see why a prompt draws what it draws, and the report."""

from __future__ import annotations

import datetime as dt
import posixpath
from collections.abc import Iterable, Sequence
from typing import Any
from urllib.parse import unquote

from markupsafe import Markup
from starlette.responses import Response

from lessons_kb.brain import verdicts
from lessons_kb.brain.cards import names
from lessons_kb.cards.sections import render_html
from lessons_kb.errors import CardNotFound
from lessons_kb.model import KINDS, NOTE, STATUSES, Card, Hit
from lessons_kb.render import age, in_words, words_by_term
from lessons_kb.report import build_page, style_hash
from lessons_kb.service.web.pages.view import View, show_html
from lessons_kb.store.card_files import read_template
from lessons_kb.text.sanitize import clean_line

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
        hits = _search(view, asked, kinds, [project] if project else ["", *projects])
        words = words_by_term(asked)
        for hit in hits:
            terms = dict.fromkeys(words.get(term, term) for term in hit.matched)
            matched[hit.card.id] = ", ".join(terms)
        found = [hit.card for hit in hits]
    else:
        chosen = [one for one in everything if one.kind in kinds]
        found = [one for one in chosen if names(one, project=project or None)]
        found.sort(key=lambda one: one.id)
        found.sort(key=lambda one: one.last_seen or one.created or "", reverse=True)
    found = [one for one in found if status in ("", one.status)]
    given: dict[str, Any] = {"q": asked, "kind": kind, "project": project}
    leaf = view.leaf(found, **given, status=status)
    today = dt.datetime.now(tz=dt.UTC).date()
    rows = [(card, _about(card, today), matched.get(card.id, "")) for card in leaf.pop("items")]
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


def _search(view: View, asked: str, kinds: Sequence[str], projects: Sequence[str]) -> list[Hit]:
    """Return what is found in any of some projects, each card once."""
    found: dict[str, Hit] = {}
    for project in projects[:_MOST_PROJECTS]:
        hits = view.served.open(f"/{project}").search(asked, kinds=kinds, limit=_MOST_HITS)
        found = {hit.card.id: hit for hit in hits} | found
    return sorted(found.values(), key=lambda hit: -hit.score)[:_MOST_HITS]


def render_body(view: View, card: Card, body: str, *, top: int = 2) -> Markup:
    """Return a card's Markdown as HTML that is safe to show; links to other cards stay here."""

    def link(target: str) -> str:
        path = unquote(target.partition("#")[0])
        full = posixpath.normpath(posixpath.join(posixpath.dirname(card.id), path))
        inside = full.endswith((".md", ".markdown")) and not full.startswith("../")
        return view.address("cards", full) if inside else ""

    return Markup(render_html(body, title=card.title, top=top, link=link))  # noqa: S704 tamed there


def _about(card: Card, today: dt.date) -> str:
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
    brain = view.served.find(f"/{project}")
    projects = find_projects(brain.cards.all())
    shown: dict[str, Any] = {"prompt": prompt, "paths": " ".join(paths), "stage": stage}
    shown |= {"project": project, "projects": projects, "problem": "", "told": None}
    if prompt.strip():
        told = verdicts.explain_prompt(brain, prompt, paths=tuple(paths), stage=stage or None)
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
    return show_html(page, style=f"'sha256-{style_hash(template)}'")

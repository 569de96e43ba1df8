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


def show_cards(view: View) -> Response:
    """Show the cards that a search finds, best first, or all of them, most recent first."""
    asked = view.query.get("q", "").strip()[:_MAX_QUERY]
    kind, status, project = (view.query.get(name, "") for name in ("kind", "status", "project"))
    kinds = (kind,) if kind in (*KINDS, NOTE) else KINDS
    everything = view.served.find().cards.all(notes=kind == NOTE)
    projects = find_projects(everything)
    matched: dict[str, str] = {}
    if asked:
        hits = _search(view, asked, kinds, [project] if project else ["", *projects])
        words = words_by_term(asked)
        matched = {
            hit.card.id: ", ".join(dict.fromkeys(words.get(term, term) for term in hit.matched))
            for hit in hits
        }
        found = [hit.card for hit in hits]
    else:
        found = [one for one in everything if one.kind in kinds]
        found = [one for one in found if names(one, project=project or None)]
        found.sort(key=lambda one: one.id)
        found.sort(key=lambda one: one.last_seen or one.created or "", reverse=True)
    found = [one for one in found if status in ("", one.status)]
    given = {"q": asked, "kind": kind, "status": status, "project": project}
    leaf = view.leaf(found, **given)
    today = dt.datetime.now(tz=dt.UTC).date()
    rows = [
        {
            "title": clean_line(card.title) or card.id,
            "id": card.id,
            "about": _about(card, today),
            "why": card.why,
            "matched": matched.get(card.id, ""),
        }
        for card in leaf.pop("items")
    ]
    return view.show(
        "cards.html",
        rows=rows,
        **leaf,
        kinds=(*KINDS, NOTE),
        statuses=STATUSES,
        projects=projects,
        q=asked,
        kind=kind,
        status_chosen=status,
        project=project,
    )


def show_card(view: View) -> Response:
    """Show one card."""
    document = view.served.find().cards.read(view.parameters["card"])[1]
    card = document.card
    if card is None:
        raise CardNotFound("the card cannot be read any more; run `lessons lint`")
    return view.show(
        "card.html",
        card=card,
        facts=find_facts(card),
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


def find_facts(card: Card) -> list[tuple[str, tuple[str, ...]]]:
    """Return what a card's header says, in words: name → values."""
    often = "once" if card.occurrences == 1 else f"{card.occurrences:,} times"
    last = f", last on {card.last_seen[:10]}" if card.last_seen else ""
    facts: list[tuple[str, tuple[str, ...]]] = [
        ("Kind", (card.kind,)),
        ("Severity", (card.severity,)),
        ("Seen", (f"{often}{last}",)),
        ("Status", () if card.status == "active" else (card.status,)),
        ("Project", (card.project,) if card.project else ()),
        ("Topics", card.topics),
        ("Stages", card.stages),
        ("Guards", card.paths),
        ("Symptoms", card.symptoms),
        ("Not for", card.not_for),
        ("Detects", tuple(f"{one.kind}: {one.text}" for one in card.detect)),
        ("Asks first", ("before a matching change",) if card.gate == "ask" else ()),
        ("Refuses once", ("a matching change",) if card.gate == "once" else ()),
        ("Evidence", (card.evidence,) if card.evidence else ()),
        ("Happened in", card.examples),
        ("Source", ("auto",) if card.source == "auto" else ()),
        ("Created", (card.created,) if card.created else ()),
    ]
    return [(name, values) for name, values in facts if values]


def _about(card: Card, today: dt.date) -> str:
    parts = [card.kind]
    parts += [card.severity] if card.severity != "medium" else []
    parts += [f"seen {card.occurrences:,}×"] if card.occurrences > 1 else []
    when = card.last_seen or card.created or ""
    parts += [f"{told} ago"] if (told := age(when, today)) else []
    parts += [card.project] if card.project else []
    parts += [card.status] if card.status != "active" else []
    return " · ".join(parts)


MAX_PROMPT = 100_000
"""Characters of a prompt that are looked at."""


def explain_prompt(view: View) -> Response:
    """Show what a prompt would be given and what held the other lessons back; it is not kept."""
    form = view.form
    prompt, paths = form.get("prompt", "")[:MAX_PROMPT], form.get("paths", "").split()
    stage, project = (form.get(name, "").strip() for name in ("stage", "project"))
    brain = view.served.find(f"/{project}")
    asked: dict[str, Any] = {"prompt": prompt, "paths": " ".join(paths), "stage": stage}
    asked |= {"project": project, "projects": find_projects(brain.cards.all())}
    if not prompt.strip():
        problem = "Paste a prompt to explain." if "prompt" in form else ""
        return view.show("why.html", problem=problem, told=False, **asked)
    told = verdicts.explain_prompt(brain, prompt, paths=tuple(paths), stage=stage or None)
    words = words_by_term(prompt)
    given, held = (
        [
            {
                "id": one.id,
                "title": one.title,
                "confidence": "" if one.confidence is None else f"{one.confidence:.2f}",
                "reason": in_words(clean_line(one.reason), words).removeprefix("suppressed: "),
                "rule": one.rule,
            }
            for one in told.verdicts
            if one.given == was_given
        ]
        for was_given in (True, False)
    )
    return view.show(
        "why.html", problem="", told=True, given=given, held=held, tokens=told.tokens, **asked
    )


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

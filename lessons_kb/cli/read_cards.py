"""`lessons list`: list cards."""

from __future__ import annotations

import datetime as dt
import shutil
import sys
from typing import Annotated

import typer

from lessons_kb import render
from lessons_kb.brain.cards import names_project, names_stage, names_topic
from lessons_kb.cli.options import (
    Paths,
    Stage,
    check_choice,
    check_kind,
    open_brain,
    options,
    print_json,
    print_table,
    read_text,
    say,
    say_stale,
)
from lessons_kb.errors import InputError
from lessons_kb.model import KINDS, NOTE, STATUSES, Card, as_data
from lessons_kb.preflight.block import shown_name
from lessons_kb.render import age
from lessons_kb.store.files import open_regular
from lessons_kb.text.sanitize import clean, counted

ROWS = 20
"""Rows of ``list`` unless asked otherwise."""
_COLUMNS = ("id", "stage", "count", "title", "project", "last task", "age")
_WIDE = ("title", "id", "count", "age", "stage", "project", "last task")
_NARROW = ("title", "id", "count", "age")
"""Columns when piped, on a terminal of at least _ROOM columns, and on others."""
_ROOM = 120


def list_cards(
    kind: Annotated[str | None, typer.Option("--type", help="Only this kind.")] = None,
    status: Annotated[str | None, typer.Option(help="active, ignored, archived or all.")] = None,
    project: Annotated[str | None, typer.Option(help="Only this project's.")] = None,
    stage: Annotated[str | None, typer.Option(help="Only this stage's.")] = None,
    tag: Annotated[str | None, typer.Option(help="Only with this topic.")] = None,
    severity: Annotated[str | None, typer.Option(help="Only this severity.")] = None,
    sort: Annotated[str, typer.Option(help="recent, count, title or id.")] = "recent",
    limit: Annotated[int, typer.Option(min=1, help="Maximum number of rows.")] = ROWS,
    everything: Annotated[bool, typer.Option("--all", help="Every row.")] = False,
) -> None:
    """List cards, most recent first.

    Example: lessons list --severity high --sort count
    """
    check_kind(kind, severity)
    check_choice("--sort", sort, tuple(_ORDERS))
    check_choice("--status", status, (*STATUSES, "all"))
    filters = {"kind": kind, "severity": severity}
    brain = open_brain()
    known = brain.cards.all(aliased=True)
    cards = [
        card
        for card in known
        if all(value is None or getattr(card, name) == value for name, value in filters.items())
        and (status in (None, "all") or card.status == status)
        and names_project(card, project)
        and names_stage(card, stage)
        and names_topic(card, tag)
    ]
    cards.sort(key=_ORDERS["id"])
    cards.sort(key=_ORDERS[sort], reverse=sort in ("recent", "count"))
    shown = cards if everything else cards[:limit]
    say_stale(brain)
    if options().json:
        print_json([as_data(card) for card in shown])
        return
    if not cards:
        first = 'no cards yet; `lessons add "what went wrong"` writes the first'
        say(f"none of {counted(len(known), 'card')} matches; remove a filter" if known else first)
        return
    today = dt.datetime.now(tz=dt.UTC).astimezone().date()
    rows = [_row(card, today) for card in shown]
    columns: tuple[str, ...] = _COLUMNS
    if sys.stdout.isatty():
        # A line a card: the title first, and of its name what commands need to find it.
        short = brain.cards.shorten_ids(shown)
        rows = [{**row, "id": short[row["id"]]} for row in rows]
        columns = _WIDE if shutil.get_terminal_size().columns >= _ROOM else _NARROW
    print_table(columns, [[row[name] for name in columns] for row in rows], right="count age")
    if len(shown) < len(cards):
        say(f"{len(cards) - len(shown)} more; use --all")


_ORDERS = {
    "recent": lambda card: card.last_seen or card.created or "",
    "count": lambda card: card.occurrences,
    "title": lambda card: card.title.casefold(),
    "id": lambda card: card.id,
}


def _row(card: Card, today: dt.date) -> dict[str, str]:
    marks = [mark for mark in (card.status, "template" if card.template else "") if mark]
    told = ", ".join(mark for mark in marks if mark != "active")
    return {
        "id": card.id,
        "stage": ",".join(card.stages),
        "count": str(card.occurrences),
        "title": f"{card.title} [{told}]" if told else card.title,
        "project": card.project or "",
        "last task": card.examples[-1] if card.examples else "",
        "age": age(card.last_seen or card.created or "", today),
    }


def show(
    card_id: Annotated[str, typer.Argument(metavar="ID", help="Path, slug, or prefix.")],
) -> None:
    """Print a card's file.

    Example: lessons show telegram-allowlist
    """
    path, document = open_brain().cards.read(card_id)
    if options().json:
        card = as_data(document.card) if document.card else {}
        print_json({**card, "file": path, "body": document.body})
        return
    with open_regular(path) as file:
        print(clean(file.read().decode("utf-8", "replace")).rstrip("\n"))


def search(
    words: Annotated[
        list[str] | None,
        typer.Argument(metavar="QUERY", help="What to search for; default: stdin."),
    ] = None,
    kind: Annotated[
        str | None, typer.Option("--type", help=f"Only {', '.join(KINDS)} or {NOTE}.")
    ] = None,
    path: Paths = None,
    stage: Stage = None,
    limit: Annotated[int, typer.Option(min=1, help="Maximum number of hits.")] = 10,
    explain: Annotated[
        bool, typer.Option("--explain", help="Show score, factors and terms.")
    ] = False,
) -> None:
    """Search cards and notes; nothing is suppressed.

    Example: lessons search "allow list" --explain
    """
    check_choice("--type", kind, (*KINDS, NOTE))
    query = read_text(words or [], what="query")
    if not query.strip():
        raise InputError("query missing; pass it as an argument or on stdin")
    brain = open_brain()
    hits = brain.search(
        query,
        kinds=(kind,) if kind else (*KINDS, NOTE),
        stage=stage,
        paths=tuple(path or ()),
        limit=limit,
    )
    if options().json:
        print_json([render.hit_data(hit) for hit in hits])
    elif explain:
        for place, hit in enumerate(hits, 1):
            print(f"{place}. {hit.card.title} ({hit.card.id})")
            print(render.explain_hit(hit, query))
    elif hits:
        columns = ("score", "kind", "title", "id")
        names = [shown_name(hit) for hit in hits]
        if sys.stdout.isatty():  # as `list` does: a line a hit
            columns = ("score", "title", "id", "kind")
            short = brain.cards.shorten_ids([hit.card for hit in hits])
            names = [
                name if hit.brain else short[name] for name, hit in zip(names, hits, strict=True)
            ]
        rows = [
            {
                "score": f"{hit.score:.2f}",
                "kind": hit.card.kind,
                "title": hit.card.title,
                "id": name,
            }
            for name, hit in zip(names, hits, strict=True)
        ]
        print_table(columns, [[row[name] for name in columns] for row in rows], right="score")
    else:
        say("nothing found")
    say_stale(brain)

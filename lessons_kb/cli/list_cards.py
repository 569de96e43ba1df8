"""`lessons list`: list cards."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING, Annotated

import typer

from lessons_kb.cli.card_lines import check_kind
from lessons_kb.cli.options import check_choice, open_brain, options, print_json, print_table, say
from lessons_kb.model import STATUSES, as_data
from lessons_kb.render import age
from lessons_kb.text.plurals import counted

if TYPE_CHECKING:
    from lessons_kb.model import Card

ROWS = 20
"""Rows of ``list`` unless asked otherwise."""


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
    from lessons_kb.brain.card_filters import names_project, names_stage, names_topic

    check_kind(kind, severity)
    check_choice("--sort", sort, tuple(_ORDERS))
    check_choice("--status", status, (*STATUSES, "all"))
    wanted = {"kind": kind, "severity": severity}
    known = open_brain().cards.all(aliased=True)
    cards = [
        card
        for card in known
        if all(value is None or getattr(card, name) == value for name, value in wanted.items())
        and (status in (None, "all") or card.status == status)
        and names_project(card, project)
        and names_stage(card, stage)
        and names_topic(card, tag)
    ]
    cards.sort(key=_ORDERS["id"])
    cards.sort(key=_ORDERS[sort], reverse=sort in ("recent", "count"))
    shown = cards if everything else cards[:limit]
    if options().json:
        print_json([as_data(card) for card in shown])
        return
    if not cards:
        first = "no cards yet; `lessons create TITLE` writes the first"
        say(f"none of {counted(len(known), 'card')} matches; remove a filter" if known else first)
        return
    today = dt.datetime.now(tz=dt.UTC).astimezone().date()
    columns = ("id", "stage", "count", "title", "project", "last task", "age")
    print_table(columns, [_row(card, today) for card in shown], right="count age")
    if len(shown) < len(cards):
        say(f"{len(cards) - len(shown)} more; use --all")


_ORDERS = {
    "recent": lambda card: card.last_seen or card.created or "",
    "count": lambda card: card.occurrences,
    "title": lambda card: card.title.casefold(),
    "id": lambda card: card.id,
}


def _row(card: Card, today: dt.date) -> tuple[str, ...]:
    marked = card.title if card.status == "active" else f"{card.title} [{card.status}]"
    return (
        card.id,
        ",".join(card.stages),
        str(card.occurrences),
        marked,
        card.project or "",
        card.examples[-1] if card.examples else "",
        age(card.last_seen or card.created or "", today),
    )

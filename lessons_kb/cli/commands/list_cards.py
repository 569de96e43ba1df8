"""`lessons list`: list the cards of all brains that apply here."""

from __future__ import annotations

import datetime as dt
from typing import Annotated

from typer import Option

from lessons_kb.cards.standings import list_remarks
from lessons_kb.cli.declare import choose
from lessons_kb.cli.options import OnlyProject, OnlyStage, advise_add, say_stale
from lessons_kb.cli.output import options, print_json, print_table, say, terminal_width
from lessons_kb.cli.untrusted_cards import open_to_read
from lessons_kb.collection.lookup import CardLookup, names
from lessons_kb.model import KINDS, SEVERITIES, STATUSES, Card, as_data
from lessons_kb.on_demand import FRESHNESS_REFRESH, load
from lessons_kb.text.sanitize import counted
from lessons_kb.text.times import age

ROWS = 20
"""The default of ``--limit``."""


_COLUMNS = ("id", "stage", "count", "title", "project", "last task", "last seen")


_WIDE = ("title", "id", "count", "age", "stage", "project", "last task")


_NARROW = ("title", "id", "count", "age")
"""The columns on a narrow terminal. A terminal of _ROOM columns shows _WIDE, a pipe _COLUMNS."""


_ROOM = 120


_ORDERS = {
    "recent": lambda card: card.latest_day,
    "count": lambda card: card.occurrences,
    "title": lambda card: card.title.casefold(),
    "id": lambda card: card.id,
}


def list_cards(
    type_: Annotated[
        str | None, choose("--type", KINDS, metavar="TYPE", help="Only cards of this type.")
    ] = None,
    status: Annotated[
        str | None,
        choose(
            "--status",
            (*STATUSES, "all"),
            metavar="STATUS",
            help="active, ignored, archived, draft or all.",
        ),
    ] = None,
    project: OnlyProject = None,
    stage: OnlyStage = None,
    tag: Annotated[
        str | None, Option("--tag", metavar="TAG", help="Only cards with this tag.")
    ] = None,
    severity: Annotated[
        str | None,
        choose("--severity", SEVERITIES, metavar="SEVERITY", help="Only cards of this severity."),
    ] = None,
    sort: Annotated[
        str, choose("--sort", tuple(_ORDERS), metavar="SORT", help="recent, count, title or id.")
    ] = "recent",
    limit: Annotated[
        int, Option("--limit", metavar="N", min=1, help="Maximum number of results.")
    ] = ROWS,
    all_: Annotated[bool, Option("--all", help="List every card.")] = False,
    stale: Annotated[
        bool,
        Option(
            "--stale",
            help="Only cards whose code changed or whose `stale-after` passed.",
        ),
    ] = False,
) -> None:
    """List cards, most recent first.

    Example: lessons list --severity high --sort count
    """
    brains, untrusted = open_to_read()
    for brain in brains.members if stale else ():
        brain.refresh()
        load(FRESHNESS_REFRESH).refresh_standings(brain)
    today = read_today().isoformat()
    by_alias = CardLookup(brains).list_aliased()
    every_card = [card for _alias, card in by_alias]
    brain_of = {card.id: alias for alias, card in by_alias}
    has_several = len(set(brain_of.values())) > 1

    def is_wanted(card: Card) -> bool:
        return (
            type_ in (None, card.kind)
            and severity in (None, card.severity)
            and status in (None, "all", card.status)
            and names(card, stage=stage, topic=tag, project=project)
            and (not stale or bool(list_remarks(card, today)))
        )

    cards = [card for card in every_card if is_wanted(card)]
    cards.sort(key=_ORDERS["id"])
    cards.sort(key=_ORDERS[sort], reverse=sort in ("recent", "count"))
    shown = cards if all_ else cards[:limit]
    say_stale(brains)
    if options().json:
        print_json([{**as_data(card), "brain": brain_of[card.id]} for card in shown])
        return
    if not cards:
        if stale and every_card:
            say("no stale cards")
        elif every_card:
            say(f"none of {counted(len(every_card), 'card')} matches; remove a filter")
        else:
            say(f"no cards yet; `{advise_add()}` writes the first")
        return
    brain_column = ("brain",) if has_several else ()
    if stale:
        remarks: list[tuple[str, ...]] = []
        for card in shown:
            title = untrusted.mark(card.id, card.title)
            cells = (card.id, "; ".join(list_remarks(card, today)), title, brain_of[card.id])
            remarks.append(cells if has_several else cells[:-1])
        print_table(("id", "why", "title", *brain_column), remarks)
        return
    rows: list[dict[str, str]] = []
    for card in shown:
        row = _describe(card, untrusted.mark(card.id, card.title))
        rows.append({**row, "brain": brain_of[card.id]})
    columns: tuple[str, ...] = _COLUMNS
    if width := terminal_width():
        # Each card has one line, with its title first, and the shortest id that commands accept.
        short = CardLookup(brains).shorten_ids(shown)
        rows = [{**row, "id": short[row["id"]]} for row in rows]
        columns = _WIDE if width >= _ROOM else _NARROW
    columns += brain_column
    print_table(columns, [[row[name] for name in columns] for row in rows], right="count age")
    if len(shown) < len(cards):
        say(f"{len(cards) - len(shown)} more; use --all")


def read_today() -> dt.date:
    """Return today's date in the local time zone."""
    return dt.datetime.now(tz=dt.UTC).astimezone().date()


def _describe(card: Card, title: str) -> dict[str, str]:
    """Return a mapping from columns to the cells of a card's row."""
    states = [card.status] if card.status != "active" else []
    states += ["template"] if card.template else []
    today = read_today()
    states += ["gone"] if card.standing.silenced and card.status == "active" else []
    states += ["unmet"] if card.standing.unmet and card.status == "active" else []
    states += ["stale"] if "" < card.waits_from <= today.isoformat() else []
    return {
        "id": card.id,
        "stage": ",".join(card.stages),
        "count": str(card.occurrences),
        "title": f"[{', '.join(states)}] {title}" if states else title,
        "project": card.project or "",
        "last task": card.examples[-1] if card.examples else "",
        "age": age(card.latest_day, today),
        "last seen": card.latest_day[:10],
    }

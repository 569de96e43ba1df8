"""`lessons archive`: put cards away that are no longer of use."""

from __future__ import annotations

import datetime as dt
import sys
from typing import TYPE_CHECKING, Annotated

import typer

from lessons_kb.cli.options import open_brain, options, print_json, print_table, say
from lessons_kb.errors import InputError
from lessons_kb.model import as_data
from lessons_kb.text.plurals import counted
from lessons_kb.text.sanitize import clean_line

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from lessons_kb.brain.stale_cards import Stale


def archive(
    ids: Annotated[
        list[str] | None, typer.Argument(metavar="ID", help="Path, slug, or prefix.")
    ] = None,
    stale: Annotated[
        bool, typer.Option("--stale", help="Archive cards that were seen once and long unused.")
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show which, change nothing.")] = False,
    yes: Annotated[
        bool,
        typer.Option("--yes", "-y", help="Do not ask about cards from triggers (source: auto)."),
    ] = False,
    curated: Annotated[
        bool, typer.Option("--curated", help="With --yes: nor about cards written by a human.")
    ] = False,
) -> None:
    """Retire cards; `restore` undoes it.

    Example: lessons archive --stale --dry-run
    """
    if bool(ids) == stale:
        raise InputError("give either the cards to archive or --stale")
    brain = open_brain()
    if not stale:
        cards = brain.cards.set_status("archived", *(ids or ()))
        for card in cards if not options().json else ():
            print(f"{clean_line(card.id)} {card.status}")
        if options().json:
            print_json([as_data(card) for card in cards])
        return
    from lessons_kb.brain.stale_cards import find_stale

    found = find_stale(brain, today=dt.datetime.now(tz=dt.UTC).astimezone().date().isoformat())
    chosen = [] if dry_run else _choose_stale(found, yes=yes, curated=curated)
    archived = {card.id for card in brain.cards.set_status("archived", *chosen)}
    if options().json:
        print_json([_stale_data(one, archived) for one in found])
        return
    if not found:
        say("no stale cards")
        return
    rows = [_stale_row(one, archived) for one in found]
    print_table(("id", "source", "days", "done", "title"), rows, right="days")
    if not dry_run and len(archived) < len(found):
        say(
            f"{len(found) - len(archived)} not archived; --yes archives those from triggers, "
            "--curated also those written by a human"
        )


def _choose_stale(found: Sequence[Stale], *, yes: bool, curated: bool) -> list[str]:
    """Return the ids to archive: as the flags say, else as the user answers on a terminal."""
    ask = sys.stdin.isatty() and sys.stderr.isatty()
    chosen = []
    for one in found:
        sure = yes and (curated or one.card.source == "auto")
        unused = f"unused for {counted(one.days, 'day')}"
        question = f"Archive {one.card.id} ({one.card.source}, {unused})?"
        if sure or (ask and typer.confirm(clean_line(question), default=False, err=True)):
            chosen.append(one.card.id)
    return chosen


def _stale_data(one: Stale, archived: set[str]) -> dict[str, Any]:
    card = one.card
    done = "archived" if card.id in archived else "kept"
    return {"id": card.id, "source": card.source, "days": one.days, "done": done}


def _stale_row(one: Stale, archived: set[str]) -> tuple[str, ...]:
    done = "archived" if one.card.id in archived else ""
    return (one.card.id, one.card.source, str(one.days), done, one.card.title)

"""`lessons archive`: retire cards that hold no more."""

from __future__ import annotations

from typing import Annotated

from typer import Option

from lessons_kb.cli.card_status import set_status
from lessons_kb.cli.options import OptionalIds, open_brain
from lessons_kb.cli.output import confirm, options, pick, print_json, print_table, say
from lessons_kb.collection.cards import Cards
from lessons_kb.collection.stale_cards import find_gone, find_stale
from lessons_kb.errors import InputError
from lessons_kb.text.sanitize import clean_line, counted


def archive(
    ids: OptionalIds = None,
    stale: Annotated[
        bool,
        Option(
            "--stale", help="Archive cards that do harm, or were seen once and are long unused."
        ),
    ] = False,
    gone: Annotated[
        bool, Option("--gone", help="Archive cards that name only code that is gone.")
    ] = False,
    dry_run: Annotated[bool, Option("--dry-run", help="Show which, change nothing.")] = False,
    yes: Annotated[
        bool, Option("--yes", "-y", help="Do not ask about cards from triggers (source: auto).")
    ] = False,
    curated: Annotated[
        bool, Option("--curated", help="With --yes: nor about cards written by a human.")
    ] = False,
) -> None:
    """Retire cards that hold no more; `restore` undoes it.

    Example: lessons archive --stale --dry-run
    """
    if [bool(ids), stale, gone].count(True) != 1:
        raise InputError("give either the cards to archive or --stale or --gone")
    if ids:
        set_status("archived", ids)
        return
    if gone:
        _archive_gone(dry_run=dry_run, yes=yes)
        return
    brains = open_brain()
    found = find_stale(brains)
    chosen = []
    for one in found if not dry_run else ():
        name, source = one.card.id, one.card.source
        why = one.harm or f"unused for {counted(one.days, 'day')}"
        question = f"Archive {name} ({source}, {why})?"
        if (yes and (curated or source == "auto")) or confirm(clean_line(question)):
            chosen.append(name)
    done = {card.id for card in Cards(brains).set_status("archived", *chosen)}
    states = ["archived" if one.card.id in done else "kept" for one in found]
    if options().json:
        facts = [{**pick(one.card, "id", "source"), **pick(one, "days", "harm")} for one in found]
        print_json([{**one, "done": state} for one, state in zip(facts, states, strict=True)])
    elif not found:
        say("no stale cards")
    else:
        rows = []
        for one, state in zip(found, states, strict=True):
            title = f"harms: {one.harm}" if one.harm else one.card.title
            name, source, days = one.card.id, one.card.source, str(one.days)
            rows.append((name, source, days, state if state == "archived" else "", title))
        print_table(("id", "source", "days", "done", "title"), rows, right="days")
        if not dry_run and len(done) < len(found):
            say(
                f"{len(found) - len(done)} not archived; --yes archives those from triggers, "
                "--curated also those written by a human"
            )


def _archive_gone(*, dry_run: bool, yes: bool) -> None:
    """Archive, after a question about each, the cards that name only code that is gone."""
    brains = open_brain()
    found = find_gone(brains)
    chosen = []
    for card in found if not dry_run else ():
        question = f"Archive {clean_line(card.id)} ({clean_line(card.standing.silenced)})?"
        if yes or confirm(question):
            chosen.append(card.id)
    done = {card.id for card in Cards(brains).set_status("archived", *chosen)}
    states = ["archived" if card.id in done else "kept" for card in found]
    if options().json:
        facts = [{"id": card.id, "why": card.standing.silenced} for card in found]
        print_json([{**fact, "done": state} for fact, state in zip(facts, states, strict=True)])
    elif not found:
        say("no card names only code that is gone")
    else:
        rows = [
            (card.id, state if state == "archived" else "", card.standing.silenced)
            for card, state in zip(found, states, strict=True)
        ]
        print_table(("id", "done", "why"), rows)

"""`lessons archive`: retire cards that no longer apply."""

from __future__ import annotations

from collections.abc import Container
from typing import Annotated, Any

from typer import Option

from lessons_kb.cli.card_status import set_status
from lessons_kb.cli.options import DryRun, OptionalIds, open_brain
from lessons_kb.cli.output import confirm, options, pick, print_json, print_table, say
from lessons_kb.collection.cards import Cards
from lessons_kb.collection.stale_cards import Stale, find_gone, find_stale
from lessons_kb.errors import InputError
from lessons_kb.text.sanitize import clean_line, counted


def archive(
    ids: OptionalIds = None,
    stale: Annotated[
        bool,
        Option(
            "--stale",
            help="Archive harmful and long unused cards.",
        ),
    ] = False,
    gone: Annotated[bool, Option("--gone", help="Archive cards whose code is gone.")] = False,
    dry_run: DryRun = False,
    yes: Annotated[
        bool, Option("--yes", "-y", help="Do not ask about cards from triggers.")
    ] = False,
    curated: Annotated[
        bool,
        Option("--curated", help="With --yes: do not ask about other cards either."),
    ] = False,
) -> None:
    """Retire cards that no longer apply; `restore` undoes it.

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
    brains = open_brain(for_one="archived")
    candidates = find_stale(brains)
    chosen = []
    if not dry_run:
        for stale_card in candidates:
            agreed = yes and (curated or stale_card.card.source == "auto")
            if agreed or confirm(_ask_to_archive(stale_card)):
                chosen.append(stale_card.card.id)
    archived = {card.id for card in Cards(brains).set_status("archived", *chosen)}
    if options().json:
        print_json([_as_json(stale_card, archived) for stale_card in candidates])
    elif not candidates:
        say("no stale cards")
    else:
        rows = [_as_row(stale_card, archived) for stale_card in candidates]
        print_table(("id", "source", "days", "done", "title"), rows, right="days")
        if not dry_run and len(archived) < len(candidates):
            say(
                f"{len(candidates) - len(archived)} not archived; --yes archives cards from "
                "triggers, and with --curated also cards written by people"
            )


def _ask_to_archive(stale_card: Stale) -> str:
    card = stale_card.card
    reason = stale_card.harm or f"unused for {counted(stale_card.days, 'day')}"
    return clean_line(f"Archive {card.id} ({card.source}, {reason})?")


def _as_json(stale_card: Stale, archived: Container[str]) -> dict[str, Any]:
    card = stale_card.card
    outcome = "archived" if card.id in archived else "kept"
    return {**pick(card, "id", "source"), **pick(stale_card, "days", "harm"), "done": outcome}


def _as_row(stale_card: Stale, archived: Container[str]) -> tuple[str, ...]:
    card = stale_card.card
    title = f"harms: {stale_card.harm}" if stale_card.harm else card.title
    outcome = "archived" if card.id in archived else ""
    return (card.id, card.source, str(stale_card.days), outcome, title)


def _archive_gone(*, dry_run: bool, yes: bool) -> None:
    """Archive the cards that name only code that is gone, after a question about each card."""
    brains = open_brain(for_one="archived")
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
        say("there is no card whose code is all gone")
    else:
        rows = [
            (card.id, state if state == "archived" else "", card.standing.silenced)
            for card, state in zip(found, states, strict=True)
        ]
        print_table(("id", "done", "why"), rows)

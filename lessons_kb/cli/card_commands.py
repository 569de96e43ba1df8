"""Commands that change cards by name: count, put away, bring back, rename."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Annotated

import typer

from lessons_kb.cli.options import ID, CardId, Ids, open_brain
from lessons_kb.cli.output import (
    confirm,
    options,
    pick,
    print_answer,
    print_cards,
    print_json,
    print_table,
    say,
)
from lessons_kb.collection.cards import find_stale, rename_card
from lessons_kb.errors import InputError, LessonsError
from lessons_kb.model import as_data
from lessons_kb.store.trash import entries
from lessons_kb.text.sanitize import clean_line, counted, shell_word


def archive(
    ids: Annotated[list[str] | None, ID] = None,
    stale: bool = False,
    dry_run: bool = False,
    yes: bool = False,
    curated: bool = False,
) -> None:
    """Retire cards that hold no more; `restore` undoes it.

    Example: lessons archive --stale --dry-run

    --stale    Archive cards that do harm, or were seen once and are long unused.
    --dry-run  Show which, change nothing.
    --yes, -y  Do not ask about cards from triggers (source: auto).
    --curated  With --yes: nor about cards written by a human.
    """
    if bool(ids) == stale:
        raise InputError("give either the cards to archive or --stale")
    if not stale:
        _set_status("archived", ids or ())
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
    done = {card.id for card in brains.cards.set_status("archived", *chosen)}
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


def bump(ids: Ids, task: str | None = None) -> None:
    """Count a mistake that happened again.

    Adds 1 to `occurrences`, and sets `last-seen` to today.

    Example: lessons bump telegram-allowlist --task "Add /restart command"

    --task  What was to be done when it happened again; kept as one of the card's `examples`.
    """
    cards = open_brain().bump(*ids, task=task)
    print_cards(cards, lambda card: f"{clean_line(card.id)} seen {card.occurrences}×")
    for card in cards:
        if card.status != "active":
            back = f"`lessons restore {shell_word(card.id)}` makes it active"
            say(f"{clean_line(card.id)} is {card.status}: no agent is given it; {back}")


def delete(ids: Ids, yes: bool = False) -> None:
    """Move cards to the trash; `restore` brings them back.

    Example: lessons delete telegram-allowlist --yes

    --yes, -y  Do not ask for confirmation.
    """
    brains = open_brain()
    names = [brains.cards.find(name, notes=False)[1].id for name in ids]
    if not yes:
        if not sys.stdin.isatty():
            command = " ".join(map(shell_word, ["lessons", "delete", *names, "--yes"]))
            raise InputError(f"delete needs confirmation; run `{command}`")
        typer.confirm(f"Move {', '.join(names)} to the trash?", abort=True, err=True)
    print_cards(brains.cards.delete(*ids), lambda card: f"{clean_line(card.id)} moved to the trash")


def ignore(ids: Ids) -> None:
    """Silence cards that do not fit here; `restore` undoes it.

    Example: lessons ignore telegram-allowlist
    """
    _set_status("ignored", ids)


def _set_status(status: str, ids: Sequence[str]) -> None:
    cards = open_brain().cards.set_status(status, *ids)
    print_cards(cards, lambda card: f"{clean_line(card.id)} {card.status}")


def rename(card: CardId, title: list[str]) -> None:
    """Give a card another title; file name, links and journal follow.

    Example: lessons rename telegram-allowlist "Anyone in the group could run commands"

    TITLE  The new title.
    """
    done = rename_card(open_brain(), card, " ".join(title))
    old, new = clean_line(done.old), clean_line(done.card.id)
    print_answer(as_data(done), f"{old} → {new}")
    if done.linked:
        files = ", ".join(map(clean_line, done.linked))
        say(f"links followed in {counted(len(done.linked), 'file')}: {files}")
    for line in done.failed:
        say(f"write {new} for {old}: {clean_line(line)}")
    if done.failed:
        raise typer.Exit(1)


_RESTORED = {
    "activated": "is active again",
    "undeleted": "restored from the trash",
    "unchanged": "is already active",
}


def restore(ids: Annotated[list[str] | None, ID] = None) -> None:
    """Make ignored, archived or deleted cards active again.

    Without an ID it lists the trash.

    Example: lessons restore telegram-allowlist
    """
    brains = open_brain()
    done, failed = list[tuple[str, str]](), list[LessonsError]()
    if not ids:
        trashed = [one for brain in brains.members for one in entries(brain.root)]
        if options().json:
            print_json([as_data(one) for one in trashed])
        elif trashed:
            rows = [(one.path, one.when[:10], one.why) for one in trashed]
            print_table(("id", "since", "why"), rows)
        else:
            say("the trash is empty; name an ignored or archived card, which `lessons list` shows")
        return
    for name in ids:
        try:
            done.append(brains.cards.restore(name))
        except LessonsError as error:
            failed.append(error)
    data = [{"id": card_id, "done": what} for card_id, what in done]
    print_answer(data, *(f"{clean_line(card_id)} {_RESTORED[what]}" for card_id, what in done))
    for other in failed[1:]:
        say(str(other))
    if failed:
        raise failed[0]

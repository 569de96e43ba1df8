"""`lessons bump`: count a mistake that happened again."""

from __future__ import annotations

from typing import Annotated

from typer import Option

from lessons_kb.cli.options import Ids, open_brain
from lessons_kb.cli.output import print_cards, say
from lessons_kb.collection.card_edits import CardEdits
from lessons_kb.errors import InputError
from lessons_kb.text.sanitize import clean_line, shell_word


def bump(
    ids: Ids,
    task: Annotated[
        str | None,
        Option(
            "--task",
            metavar="TASK",
            help="Task to add to the card's `examples`.",
        ),
    ] = None,
    undo: Annotated[bool, Option("--undo", help="Take back the last count.")] = False,
) -> None:
    """Count a mistake that happened again.

    The command adds 1 to `occurrences`, and sets `last-seen` to today.

    Example: lessons bump telegram-allowlist --task "Add /restart command"
    """
    if undo and task is not None:
        raise InputError("--undo takes no --task; `lessons edit` removes an example")
    edits = CardEdits(open_brain())
    cards = edits.uncount(*ids) if undo else edits.bump(*ids, task=task)
    print_cards(cards, lambda card: f"{clean_line(card.id)} seen {card.occurrences}×")
    for card in cards:
        if card.template:
            say(f"{clean_line(card.id)} is still the template, so no agent gets it; fill it in")
        if card.status != "active":
            fix = f"`lessons restore {shell_word(card.id)}` makes it active"
            say(f"{clean_line(card.id)} is {card.status}, so no agent gets it; {fix}")

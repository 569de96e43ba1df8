"""`lessons bump`: count a mistake that happened again."""

from __future__ import annotations

from typing import Annotated

import typer

from lessons_kb.cli.card_lines import Ids, report_cards
from lessons_kb.cli.options import open_brain, say
from lessons_kb.text.escape_controls import shell_word
from lessons_kb.text.sanitize import clean_line


def bump(
    ids: Ids,
    task: Annotated[str | None, typer.Option(help="The task in which it happened again.")] = None,
) -> None:
    """Count a mistake that happened again.

    Adds 1 to `occurrences`, and sets `last-seen` to today.

    Example: lessons bump telegram-allowlist --task "Add /restart command"
    """
    cards = open_brain().bump(*ids, task=task)
    report_cards(cards, lambda card: f"{clean_line(card.id)} seen {card.occurrences}×")
    for card in cards:
        if card.status != "active":
            back = f"`lessons restore {shell_word(card.id)}` makes it active"
            say(f"{clean_line(card.id)} is {card.status}: no agent is given it; {back}")

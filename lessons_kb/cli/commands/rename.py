"""`lessons rename`: give a card another title."""

from __future__ import annotations

from typing import Annotated

import typer
from typer import Argument

from lessons_kb.cli.options import CardId, open_brain
from lessons_kb.cli.output import print_answer, say
from lessons_kb.collection.rename_card import rename_card
from lessons_kb.model import as_data
from lessons_kb.text.sanitize import clean_line, counted


def rename(
    card: CardId, title: Annotated[list[str], Argument(metavar="TITLE...", help="New title.")]
) -> None:
    """Give a card a new title; update file name, links and journal.

    Example: lessons rename telegram-allowlist "Anyone in the group could run commands"
    """
    renaming = rename_card(open_brain(), card, " ".join(title))
    old, new = clean_line(renaming.old), clean_line(renaming.card.id)
    print_answer(as_data(renaming), f"{old} → {new}")
    if renaming.linked:
        files = ", ".join(map(clean_line, renaming.linked))
        say(f"links updated in {counted(len(renaming.linked), 'file')}: {files}")
    for line in renaming.failed:
        say(f"replace {old} by {new} yourself: {clean_line(line)}")
    if renaming.failed:
        raise typer.Exit(1)

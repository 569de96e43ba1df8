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
    card: CardId, title: Annotated[list[str], Argument(metavar="TITLE...", help="The new title.")]
) -> None:
    """Give a card another title; file name, links and journal follow.

    Example: lessons rename telegram-allowlist "Anyone in the group could run commands"
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

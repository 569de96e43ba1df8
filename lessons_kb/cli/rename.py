"""`lessons rename`: give a card another title."""

from __future__ import annotations

from typing import Annotated

import typer

from lessons_kb.cli.options import open_brain, options, print_json, say
from lessons_kb.model import as_data
from lessons_kb.text.plurals import counted
from lessons_kb.text.sanitize import clean_line


def rename(
    card: Annotated[str, typer.Argument(metavar="ID", help="Path, slug, or prefix.")],
    title: Annotated[list[str], typer.Argument(metavar="TITLE", help="The new title.")],
) -> None:
    """Give a card another title; file name, links and journal follow.

    Example: lessons rename telegram-allowlist "Anyone in the group could run commands"
    """
    from lessons_kb.brain.rename import rename_card

    done = rename_card(open_brain(), card, " ".join(title))
    if options().json:
        print_json(as_data(done))
        raise typer.Exit(1 if done.failed else 0)
    print(f"{clean_line(done.old)} → {clean_line(done.card.id)}")
    if done.linked:
        files = ", ".join(map(clean_line, done.linked))
        say(f"links followed in {counted(len(done.linked), 'file')}: {files}")
    for line in done.failed:
        say(f"write {clean_line(done.card.id)} for {clean_line(done.old)}: {clean_line(line)}")
    if done.failed:
        raise typer.Exit(1)

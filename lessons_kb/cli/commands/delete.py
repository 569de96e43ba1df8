"""`lessons delete`: move cards to the trash."""

from __future__ import annotations

import sys
from typing import Annotated

import typer
from typer import Option

from lessons_kb.cli.options import Ids, open_brain
from lessons_kb.cli.output import print_cards
from lessons_kb.collection.cards import Cards
from lessons_kb.errors import InputError
from lessons_kb.text.sanitize import clean_line, shell_word


def delete(
    ids: Ids,
    yes: Annotated[bool, Option("--yes", "-y", help="Do not ask for confirmation.")] = False,
) -> None:
    """Move cards to the trash; `restore` brings them back.

    Example: lessons delete telegram-allowlist --yes
    """
    brains = open_brain()
    names = [Cards(brains).find(name, notes=False)[1].id for name in ids]
    if not yes:
        if not sys.stdin.isatty():
            command = " ".join(map(shell_word, ["lessons", "delete", *names, "--yes"]))
            raise InputError(f"delete needs confirmation; run `{command}`")
        typer.confirm(f"Move {', '.join(names)} to the trash?", abort=True, err=True)
    print_cards(
        Cards(brains).delete(*ids), lambda card: f"{clean_line(card.id)} moved to the trash"
    )

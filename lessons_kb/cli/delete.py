"""`lessons delete`: move cards to the trash."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from lessons_kb.cli.card_lines import Ids, report_cards
from lessons_kb.cli.options import open_brain
from lessons_kb.errors import InputError
from lessons_kb.text.escape_controls import shell_word
from lessons_kb.text.sanitize import clean_line


def delete(
    ids: Ids,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask for confirmation.")] = False,
) -> None:
    """Move cards to the trash; `restore` brings them back.

    Example: lessons delete telegram-allowlist --yes
    """
    brain = open_brain()
    names = [brain.cards.get(name).id for name in ids]
    if not yes:
        if not sys.stdin.isatty():
            command = " ".join(map(shell_word, ["lessons", "delete", *names, "--yes"]))
            raise InputError(f"delete needs confirmation; run `{command}`")
        typer.confirm(f"Move {', '.join(names)} to the trash?", abort=True, err=True)
    report_cards(brain.cards.delete(*ids), lambda card: f"{clean_line(card.id)} moved to the trash")

"""`lessons delete`: move cards to the trash."""

from __future__ import annotations

import sys
from collections.abc import Sequence

import typer

from lessons_kb.cli.options import Ids, Yes, open_brain
from lessons_kb.cli.output import print_cards
from lessons_kb.collection.cards import Cards
from lessons_kb.errors import InputError
from lessons_kb.text.sanitize import clean_line, shell_word


def delete(
    ids: Ids,
    yes: Yes = False,
) -> None:
    """Move cards to the trash; `restore` brings them back.

    Example: lessons delete telegram-allowlist --yes
    """
    cards = Cards(open_brain())
    full_ids = [cards.find(name, notes=False)[1].id for name in ids]
    if not yes:
        _confirm(full_ids)
    deleted = cards.delete(*ids)
    print_cards(deleted, lambda card: f"{clean_line(card.id)} moved to the trash")


def _confirm(full_ids: Sequence[str]) -> None:
    """Ask on stderr whether to delete the cards. Return only if the user agrees.

    Raises Abort if the user does not agree, and InputError, which names the command with ``--yes``,
    if stdin is not a terminal.
    """
    if not sys.stdin.isatty():
        command = " ".join(map(shell_word, ["lessons", "delete", *full_ids, "--yes"]))
        raise InputError(f"delete needs confirmation; run `{command}`")
    # The name of a file can contain characters that nobody sees.
    printable_ids = ", ".join(map(clean_line, full_ids))
    typer.confirm(f"Move {printable_ids} to the trash?", abort=True, err=True)

"""`lessons edit`: open a card in the user's editor."""

from __future__ import annotations

from typing import Annotated

import typer

from lessons_kb.cli.card_parts import is_interactive
from lessons_kb.cli.editing import edit_card
from lessons_kb.cli.options import open_brain
from lessons_kb.errors import InputError


def edit(
    card: Annotated[str, typer.Argument(metavar="ID", help="Path, slug, or prefix.")],
) -> None:
    """Open a card in your editor, and say what it still needs.

    Example: lessons edit telegram-allowlist
    """
    brain = open_brain()
    if not is_interactive():
        path = brain.cards.read(card)[0]
        raise InputError(f"an editor needs a terminal; edit {path} yourself")
    edit_card(brain, card)

"""`lessons edit`: open a card in the user's editor."""

from __future__ import annotations

import os

from lessons_kb.cli.options import OptionalId, open_brain
from lessons_kb.cli.output import is_interactive
from lessons_kb.cli.write_card import edit_file, say_complete, say_paths, say_unfinished
from lessons_kb.collection.lookup import CardLookup
from lessons_kb.errors import InputError
from lessons_kb.on_demand import PICK_CARD, load


def edit(card: OptionalId = None) -> None:
    """Open a card in your editor, and list what it still needs.

    Without an ID, choose from a list.

    Example: lessons edit telegram-allowlist
    """
    brains = open_brain()
    card = card or load(PICK_CARD).pick_card(brains, "edit")
    brain, match = CardLookup(brains).find(card, notes=False)
    name = f"{brain.alias}:{match.id}"
    path = os.path.join(brain.root, *match.id.split("/"))
    if not is_interactive():
        raise InputError(f"an editor needs a terminal; edit {path} yourself")
    edit_file(path)
    is_complete = say_unfinished(brains, name)
    edited = CardLookup(brains).get(name)
    say_paths(brains, edited)
    if is_complete:
        say_complete(edited)

"""`lessons edit`: open a card in the user's editor."""

from __future__ import annotations

import os

from lessons_kb.cli.options import OptionalId, open_brain
from lessons_kb.cli.output import is_interactive, say
from lessons_kb.cli.write_card import (
    edit_file,
    say_complete,
    say_cut_cause,
    say_paths,
    say_unfinished,
)
from lessons_kb.collection.cards import Cards
from lessons_kb.collection.lookup import CardLookup
from lessons_kb.errors import InputError
from lessons_kb.on_demand import PICK_CARD, load
from lessons_kb.store.card_files import MAX_BYTES, read_bytes
from lessons_kb.text.sanitize import clean_line


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
    was_complete = not Cards(brains).find_lacks(name)
    before = read_bytes(brain.root, match.id, limit=MAX_BYTES)
    edit_file(path)
    if not os.path.exists(path):
        say(f"{clean_line(match.id)} no longer exists")
        return
    is_complete = say_unfinished(brains, name)
    edited = CardLookup(brains).get(name)
    say_cut_cause(edited)
    say_paths(brains, edited)
    if not is_complete:
        return
    if read_bytes(brain.root, match.id, limit=MAX_BYTES) == before:
        say(f"{clean_line(edited.id)} was not changed")
    elif was_complete and edited.status == match.status == "active":
        say(f"{clean_line(edited.id)} is saved")
    else:
        say_complete(edited)

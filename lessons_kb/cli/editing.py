"""What `create`, `edit` and `review` share: the user's editor, and what a card still needs."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from lessons_kb.cli.options import say
from lessons_kb.process.editor import find_editor, open_editor
from lessons_kb.text.sanitize import clean_line

if TYPE_CHECKING:
    from lessons_kb.brain.brain import Brain


def edit_file(path: str) -> None:
    """Open a file in the user's editor and wait; say which one where the user named none."""
    if (editor := find_editor()) and editor not in map(os.environ.get, ("VISUAL", "EDITOR")):
        say(f"opening {editor}, because $EDITOR is not set")
    open_editor(path)


def edit_card(brain: Brain, name: str) -> None:
    """Open a card in the user's editor; say before what to fill in, and after what is missing."""
    say_unfinished(brain, name, before=True)
    edit_file(brain.cards.read(name)[0])
    say_unfinished(brain, name)


def say_unfinished(brain: Brain, name: str, *, before: bool = False) -> None:
    """Say what a card still needs, nothing where it is complete."""
    missing = brain.cards.find_lacks(name)
    if not missing:
        return
    card = brain.cards.get(name)
    state = "still the template, so it is not injected" if card.template else "not complete"
    say("fill in:" if before else f"{clean_line(card.id)} is {state}; it needs:")
    for line in missing:
        say(f"  {line}")

"""Open the brains whose cards other people may read, for `report` and `export`."""

from __future__ import annotations

import os

from lessons_kb.brain.brains import Brains
from lessons_kb.brain.make_brain import count_cards
from lessons_kb.cli.options import open_brain
from lessons_kb.cli.output import options, say
from lessons_kb.store.locations import user_brain
from lessons_kb.text.sanitize import shell_word


def open_shared_brains() -> Brains:
    """Open the brains that apply here.

    The user's own brain is left out if there are other brains, unless ``--brain`` names it.
    """
    brains = open_brain()
    *others, last = brains.members
    if options().brains or not others or last.root != os.path.realpath(user_brain()):
        return brains
    if count_cards(last.root):
        say(f"your own brain is left out; `--brain {shell_word(last.root)}` names it")
    last.close()
    brains.members = tuple(others)
    return brains

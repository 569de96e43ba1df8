"""Let the user choose a card on a terminal, for a command without a card."""

from __future__ import annotations

import os

import typer

from lessons_kb.brain.brains import Brains
from lessons_kb.cli.options import advise_add
from lessons_kb.cli.output import is_interactive, options
from lessons_kb.errors import InputError
from lessons_kb.on_demand import ROWS, load


def pick_card(brains: Brains, verb: str) -> str:
    """Return the name of the card that the user chooses. ``verb`` is the name of the command.

    Raises InputError without a terminal, and typer.Exit if the user chooses none.
    """
    if options().json or not is_interactive() or os.environ.get("TERM") == "dumb":
        raise InputError(f"name a card, as in `lessons {verb} ID`; `lessons list` shows the ids")
    from lessons_kb.tui.pick_card import PickApp

    source = load(ROWS).RowSource(brains)
    rows = [row for row in source.load() if row.card is not None]
    if not rows:
        raise InputError(f"no cards yet; `{advise_add()}` writes the first")
    if options().no_color:
        os.environ["NO_COLOR"] = "1"  # the user's editor inherits it
    chosen = PickApp(source, rows, verb=verb).run()
    if not chosen:
        raise typer.Exit
    return chosen

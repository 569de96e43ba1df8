"""`lessons manage`: browse and edit cards and drafts in full screen."""

from __future__ import annotations

import typer

from lessons_kb.cli.options import open_brain
from lessons_kb.cli.output import options, pick, print_json
from lessons_kb.cli.show_rows import show_rows
from lessons_kb.model import as_data
from lessons_kb.tui.rows import CARDS, RowSource


def manage() -> None:
    """Browse and edit cards and drafts in full screen.

    Press ? for the keys. Without a terminal, the command reads commands from stdin.

    Example: lessons manage
    """
    with open_brain() as brains:
        if options().json:
            source = RowSource(brains)
            source.load_effects()
            cards = []
            for row in source.load():
                names, card = ("severity", "occurrences", "last_seen"), row.card
                facts = pick(card, *names) if card else dict.fromkeys(names)
                about = {"id": row.name, **pick(row, "title", "status"), **facts}
                cards.append({**about, "effect": row.effect, "problems": row.troubles})
            drafts = [as_data(row.draft) for row in source.load_drafts() if row.draft]
            print_json({"cards": cards, "drafts": drafts})
        elif code := show_rows(brains, CARDS):
            raise typer.Exit(code)

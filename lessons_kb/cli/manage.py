"""The full-screen command: manage."""

from __future__ import annotations

import os
import sys
from typing import Any

import typer

from lessons_kb.cli.options import open_brain, options, print_json
from lessons_kb.model import as_data
from lessons_kb.tui.line_mode import run_prompt
from lessons_kb.tui.rows import Row, RowSource


def manage() -> None:
    """Browse and edit cards and drafts on a full screen.

    Press ? for the keys.

    Without a terminal, read plain commands from stdin, one per line; `help` lists them.

    Example: lessons manage
    """
    with open_brain() as brain:
        source = RowSource(brain)
        if options().json:
            _print_rows(source)
            return
        interactive = sys.stdin.isatty() and sys.stdout.isatty()
        if interactive and os.environ.get("TERM") != "dumb":
            from lessons_kb.tui.app import ManageApp

            if options().no_color:
                os.environ["NO_COLOR"] = "1"  # the editor inherits the wish
            full_screen = ManageApp(source)
            full_screen.run()
            if full_screen.return_code:
                raise typer.Exit(full_screen.return_code)
            return

        refused = run_prompt(source, sys.stdin, lambda text: print(text, flush=True))
        if refused and not interactive:
            raise typer.Exit(2)


def _print_rows(source: RowSource) -> None:
    source.load_effects()
    print_json(
        {
            "cards": [_card_data(row) for row in source.load()],
            "drafts": [as_data(row.draft) for row in source.load_drafts() if row.draft],
        }
    )


def _card_data(row: Row) -> dict[str, Any]:
    card = row.card
    return {
        "id": row.name,
        "title": row.title,
        "status": row.status,
        "severity": card.severity if card else None,
        "occurrences": card.occurrences if card else None,
        "last_seen": card.last_seen if card else None,
        "effect": row.effect,
        "problems": row.troubles,
    }

"""The full-screen command: manage."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

import typer

from lessons_kb.cli.options import open_brain, options, print_json
from lessons_kb.model import as_data

if TYPE_CHECKING:
    from lessons_kb.tui.row_source import Desk
    from lessons_kb.tui.rows import Row


def manage() -> None:
    """Browse and edit cards and drafts on a full screen; press ? for the keys.

    Without a terminal, read plain commands from stdin, one per line; `help` lists them.

    Example: lessons manage
    """
    from lessons_kb.tui.row_source import Desk

    with open_brain() as brain:
        desk = Desk(brain)
        if options().json:
            _print_rows(desk)
            return
        interactive = sys.stdin.isatty() and sys.stdout.isatty()
        if interactive and os.environ.get("TERM") != "dumb":
            from lessons_kb.tui.app import ManageApp

            if options().no_color:
                os.environ["NO_COLOR"] = "1"  # the editor inherits the wish
            full_screen = ManageApp(desk)
            full_screen.run()
            if full_screen.return_code:
                raise typer.Exit(full_screen.return_code)
            return
        from lessons_kb.tui.line_mode import run_prompt

        refused = run_prompt(desk, sys.stdin, lambda text: print(text, flush=True))
        if refused and not interactive:
            raise typer.Exit(2)


def _print_rows(desk: Desk) -> None:
    desk.load_effects()
    print_json(
        {
            "cards": [_card_data(row) for row in desk.load()],
            "drafts": [as_data(row.draft) for row in desk.load_drafts() if row.draft],
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

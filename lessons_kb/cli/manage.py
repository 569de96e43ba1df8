"""`lessons manage`: cards and drafts on a full screen, or line by line."""

from __future__ import annotations

import os
import sys

import typer

from lessons_kb.brain.brain import Brain
from lessons_kb.cli.options import open_brain
from lessons_kb.cli.output import is_interactive, options, pick, print_json
from lessons_kb.model import as_data
from lessons_kb.tui.line_mode import run_prompt
from lessons_kb.tui.rows import CARDS, RowSource


def manage() -> None:
    """Browse and edit cards and drafts on a full screen.

    Press ? for the keys.

    Without a terminal, read plain commands from stdin, one per line; `help` lists them.

    Example: lessons manage
    """
    with open_brain() as brain:
        if options().json:
            _print_rows(RowSource(brain))
        elif code := show_rows(brain, CARDS):
            raise typer.Exit(code)


def show_rows(brain: Brain, tab: str) -> int:
    """Let the user work on a brain, one of the lists in view; return the exit code."""
    source = RowSource(brain)
    if not is_interactive() or os.environ.get("TERM") == "dumb":
        refused = run_prompt(source, sys.stdin, lambda text: print(text, flush=True), tab=tab)
        return 2 if refused and not is_interactive() else 0
    from lessons_kb.tui.app import ManageApp

    if options().no_color:
        os.environ["NO_COLOR"] = "1"  # the editor inherits the wish
    full_screen = ManageApp(source, tab=tab)
    full_screen.run()
    return full_screen.return_code or 0


def _print_rows(source: RowSource) -> None:
    source.load_effects()
    cards = [
        {
            "id": row.name,
            **pick(row, "title", "status"),
            "severity": row.card.severity if row.card else None,
            "occurrences": row.card.occurrences if row.card else None,
            "last_seen": row.card.last_seen if row.card else None,
            "effect": row.effect,
            "problems": row.troubles,
        }
        for row in source.load()
    ]
    drafts = [as_data(row.draft) for row in source.load_drafts() if row.draft]
    print_json({"cards": cards, "drafts": drafts})

"""Open the screen of cards and drafts, or read plain commands without a terminal."""

from __future__ import annotations

import os
import sys

from lessons_kb.brain.brains import Brains
from lessons_kb.cli.output import is_interactive, options
from lessons_kb.tui.line_mode import run_prompt
from lessons_kb.tui.rows import RowSource


def show_rows(brains: Brains, tab: str) -> int:
    """Let the user work on cards and drafts, beginning at ``tab``. Return an exit code."""
    source = RowSource(brains)
    if not is_interactive() or os.environ.get("TERM") == "dumb":
        refused = run_prompt(source, sys.stdin, lambda text: print(text, flush=True), tab)
        return 2 if refused and not is_interactive() else 0
    from lessons_kb.tui.app import ManageApp

    if options().no_color:
        os.environ["NO_COLOR"] = "1"  # the user's editor inherits it
    full_screen = ManageApp(source, tab=tab)
    full_screen.run()
    return full_screen.return_code or 0

"""`lessons merge-driver`, which git calls where two sides changed a card."""

from __future__ import annotations

from typing import Annotated

import typer


def merge_driver(words: Annotated[list[str], typer.Argument(metavar="%O %A %B %L %P …")]) -> None:
    """Merge three versions of a card into the second file; git calls this."""
    from lessons_kb.cli.run_merge_driver import run

    raise typer.Exit(run(words))

"""`lessons merge-driver`: merge a card for git."""

from __future__ import annotations

from typing import Annotated

import typer
from typer import Argument

from lessons_kb.cli.merge import run


def merge_driver(words: Annotated[list[str], Argument(metavar="%O %A %B %L %P …")]) -> None:
    """Merge three versions of a card into the second file, for git."""
    raise typer.Exit(run(words))

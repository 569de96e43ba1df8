"""`lessons mark`: mark a card as helpful or harmful."""

from __future__ import annotations

from typing import Annotated

import typer

from lessons_kb.cli.options import open_brain, options, print_json
from lessons_kb.learn.effect import (
    MARKS,
)
from lessons_kb.model import as_data
from lessons_kb.text.sanitize import clean_line


def mark(
    card: Annotated[str, typer.Argument(metavar="ID", help="Path, slug, or prefix.")],
    what: Annotated[str, typer.Argument(metavar="MARK", help="helpful or harmful.")],
    session: Annotated[
        str | None, typer.Option(help="Session that the mark is about; one mark per session.")
    ] = None,
) -> None:
    """Record that a lesson helped or misled; the card itself stays unchanged.

    Example: lessons mark telegram-allowlist helpful
    """
    effect = open_brain().stats.mark(card, what, session=session)
    if options().json:
        print_json(as_data(effect))
        return
    counts = ", ".join(f"{name} {getattr(effect, name)}×" for name in MARKS)
    print(f"{clean_line(effect.name)} marked {what} ({counts})")

"""`lessons show`: show one card."""

from __future__ import annotations

from typing import Annotated

import typer

from lessons_kb.cli.options import open_brain, options, print_json
from lessons_kb.model import as_data
from lessons_kb.store.disk import open_regular
from lessons_kb.text.sanitize import clean


def show(
    card_id: Annotated[str, typer.Argument(metavar="ID", help="Path, slug, or prefix.")],
) -> None:
    """Print a card's file.

    Example: lessons show telegram-allowlist
    """
    path, document = open_brain().cards.read(card_id)
    if options().json:
        card = as_data(document.card) if document.card else {}
        print_json({**card, "file": path, "body": document.body})
        return
    with open_regular(path) as file:
        print(clean(file.read().decode("utf-8", "replace")).rstrip("\n"))

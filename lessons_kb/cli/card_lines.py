"""What commands about single cards share: their arguments, and a line for each card."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from lessons_kb.cli.options import check_choice, options, print_json
from lessons_kb.model import KINDS, SEVERITIES, as_data

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from lessons_kb.model import Card

Ids = Annotated[list[str], typer.Argument(metavar="ID", help="Path, slug, or prefix.")]


def check_kind(kind: str | None, severity: str | None) -> None:
    """Raise InputError for a kind or a severity that does not exist."""
    check_choice("--type", kind, KINDS)
    check_choice("--severity", severity, SEVERITIES)


def report_cards(cards: Sequence[Card], line: Callable[[Card], str]) -> None:
    """Print a line for each card, or all of them as JSON."""
    if options().json:
        print_json([as_data(card) for card in cards])
        return
    for card in cards:
        print(line(card))

"""`lessons ignore`: take cards out of the preflight."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lessons_kb.cli.card_lines import Ids, report_cards
from lessons_kb.cli.options import open_brain
from lessons_kb.text.sanitize import clean_line

if TYPE_CHECKING:
    from collections.abc import Sequence


def ignore(ids: Ids) -> None:
    """Stop injecting cards; `restore` undoes it.

    Example: lessons ignore telegram-allowlist
    """
    _set_status("ignored", ids)


def _set_status(status: str, ids: Sequence[str]) -> None:
    cards = open_brain().cards.set_status(status, *ids)
    report_cards(cards, lambda card: f"{clean_line(card.id)} {card.status}")

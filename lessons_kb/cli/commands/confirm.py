"""`lessons confirm`: record that a card is still true."""

from __future__ import annotations

from lessons_kb.cli.options import Ids, open_brain
from lessons_kb.cli.output import print_cards, say
from lessons_kb.collection.card_edits import CardEdits
from lessons_kb.text.sanitize import clean_line, shell_word


def confirm(ids: Ids) -> None:
    """Record that cards are still true: set `confirmed` to today.

    A card that was not injected because its code is gone, or because its `stale-after` date had
    passed, is injected again.

    Example: lessons confirm telegram-allowlist
    """
    cards = CardEdits(open_brain()).confirm(*ids)
    print_cards(cards, lambda card: f"{clean_line(card.id)} confirmed {card.confirmed}")
    for card in cards:
        name = clean_line(card.id)
        if card.status != "active":
            back = f"`lessons restore {shell_word(card.id)}` makes it active"
            say(f"{name} is {card.status}, so agents do not get it; {back}")
        elif card.waits_from:
            say(f"{name}: confirm it again by {card.waits_from}, or agents no longer get it")

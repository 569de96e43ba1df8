"""Read the names by which the header of a card names other cards.

Such a name is a path, the end of a path, or a file name. The suffix may be missing.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Sequence

from lessons_kb.model import Card

SUFFIX = re.compile(r"\.(?:md|markdown)\Z")


def fits_card(name: str, card: str) -> bool:
    """Return whether a name fits a card, by the rules of ``Catalogue.successors``."""
    path = SUFFIX.sub("", name)
    if card in (name, f"{path}.md", f"{path}.markdown"):
        return True
    return posixpath.join("/", card).endswith(f"/{path}.md")


def find_linked(cards: Sequence[Card]) -> Iterator[tuple[Card, Card]]:
    """Yield each card that has ``contradicts``, with each card of the list that it names.

    A name that fits no card, or several cards, is ignored.
    """
    for card in cards:
        for name in card.contradicts:
            fitting = [other for other in cards if fits_card(name, other.id)]
            if len(fitting) == 1 and fitting[0].id != card.id:
                yield card, fitting[0]


def are_linked(first: Card, second: Card) -> bool:
    """Return whether one of two cards names the other in its ``contradicts``."""
    return any(fits_card(name, second.id) for name in first.contradicts) or any(
        fits_card(name, first.id) for name in second.contradicts
    )

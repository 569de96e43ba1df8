"""Where a card was imported from, as its header says it."""

from __future__ import annotations

from lessons_kb.cards.header import canonical, split_header
from lessons_kb.cards.read_header import read_header

ORIGIN_KEY = "imported-from"
"""Key of a header that says where a card, or a count on it, came from."""


def read_origins(text: str) -> tuple[str, ...]:
    """Return what the header of a card says about where it came from: ``system:source#digest``."""
    for entry in read_header(split_header(text)).entries:
        if canonical(entry.key) == ORIGIN_KEY:
            return tuple(item for item in entry.texts if item)
    return ()


def read_sources(text: str) -> frozenset[str]:
    """Return the names of the files that a card was imported from, without their folders."""
    return frozenset(
        origin.partition(":")[2].rpartition("#")[0] for origin in read_origins(text)
    ) - {""}

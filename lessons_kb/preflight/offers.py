"""Offers: titles of possible lessons that a block names, for the agent to open."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache

from lessons_kb.model import Hit
from lessons_kb.text.sanitize import defang_line, shorten
from lessons_kb.values import frozen

OFFER_OPEN = "[LESSON_OFFER]"
OFFER_CLOSE = "[/LESSON_OFFER]"
OFFERED = "offered: "
"""How the reason of a hit begins whose title is offered."""
IN_CONTEXT = "already in this session"
MAX_OFFERS = 3

_TITLES = "Does each concern the task, yes or no? Open every yes before you change anything."
_FILES = (
    "Does each of these concern the task, yes or no? Open every yes before you change anything:"
)
_BESIDE = (
    "If the lessons above miss the task: does one of these concern it? Open that before you change"
    " anything:"
)
_MAX_TITLE = 160
_ON_PURPOSE = (
    "suppressed by",
    "suppressed: nearly one of",
    "suppressed: it is still",
    IN_CONTEXT,
    "does not",
    "contradicts",
)
"""How the reasons begin for which not even a title is shown."""
safe_line = lru_cache(maxsize=2048)(defang_line)


def shown_name(hit: Hit) -> str:
    """Return the name a block gives a card: its id, the brain's alias in front where it has one."""
    return f"{hit.brain}:{hit.card.id}" if hit.brain else hit.card.id


@frozen
class Offers:
    """Which cards a block may offer by their titles, for the agent to open."""

    least: float
    """Confidence from which a card that has no place in the block is offered."""
    place: Callable[[Hit], str] = shown_name
    """Returns the file for the agent to open, "" where it cannot."""
    held: Callable[[Hit], str] = lambda _hit: ""
    """Returns why a card is not offered now, "" where it is."""
    titled: bool = False
    """The titles of all cards are in view: their files are enough."""


NO_OFFERS = Offers(least=2.0)


def is_possible(hit: Hit, offers: Offers) -> bool:
    """Return whether a card that was held back may be offered by its title."""
    return hit.confidence >= offers.least and not hit.reason.startswith(_ON_PURPOSE)


def format_offer(hit: Hit, place: str, *, titled: bool) -> str:
    """Return the line of one offer: the file to open, and the title unless it is in view."""
    if titled:
        return place
    return f"{place}: {shorten(safe_line(hit.card.title), _MAX_TITLE)}"


def format_offers(lines: Sequence[str], *, titled: bool, beside_lessons: bool) -> list[str]:
    """Return the lines of the part of a block that offers titles."""
    if beside_lessons:
        question = _BESIDE
    elif titled:
        question = _FILES
    else:
        question = _TITLES
    if titled:
        return [f"{OFFER_OPEN} {question} {', '.join(lines)} {OFFER_CLOSE}"]
    return [OFFER_OPEN, question, *lines, OFFER_CLOSE]

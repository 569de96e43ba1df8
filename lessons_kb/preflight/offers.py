"""Offers, which are titles of possible lessons that a block names for the agent to open."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache

from lessons_kb.model import Hit
from lessons_kb.text.sanitize import defang_line, shorten
from lessons_kb.values import frozen

OFFER_OPEN = "[LESSON_OFFER]"
OFFER_CLOSE = "[/LESSON_OFFER]"
OFFERED = "offered: "
"""The beginning of a hit's reason if its title is offered."""
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
"""The beginnings of the reasons for which not even the title is shown."""
safe_line = lru_cache(maxsize=2048)(defang_line)


def shown_name(hit: Hit) -> str:
    """Return the name of a card in a block. It is the card's id, after the brain's alias if there
    is one.
    """
    return f"{hit.brain}:{hit.card.id}" if hit.brain else hit.card.id


@frozen
class Offers:
    """Decides which cards a block offers by their titles, so that the agent can open them."""

    least: float = 0.0
    """The lowest confidence of an offer, whatever the settings of its brain."""
    place: Callable[[Hit], str] = shown_name
    """Returns the file for the agent to open, or "" if the agent cannot open it."""
    why_not_now: Callable[[Hit], str] = lambda _hit: ""
    """Returns why a card is not offered now, or "" if it can be offered."""
    titled: bool = False
    """Whether the session already has the titles of all cards, so that their files are enough."""


NO_OFFERS = Offers(least=2.0)


def is_possible(hit: Hit, offers: Offers) -> bool:
    """Return whether a withheld card may be offered by its title."""
    least = max(offers.least, hit.title_at)
    return hit.confidence >= least and not hit.reason.startswith(_ON_PURPOSE)


def format_offer(hit: Hit, file: str, *, titled: bool) -> str:
    """Return the line of one offer, with the file to open, and the title unless the session has
    it.
    """
    if titled:
        return file
    return f"{file}: {shorten(safe_line(hit.card.title), _MAX_TITLE)}"


def format_offers(lines: Sequence[str], *, titled: bool, beside_lessons: bool) -> list[str]:
    """Return the lines of the section that offers titles."""
    if beside_lessons:
        question = _BESIDE
    elif titled:
        question = _FILES
    else:
        question = _TITLES
    if titled:
        return [f"{OFFER_OPEN} {question} {', '.join(lines)} {OFFER_CLOSE}"]
    return [OFFER_OPEN, question, *lines, OFFER_CLOSE]

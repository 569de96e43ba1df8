"""When a turn ends: what became of the lessons that the session was given, for ``brain.stats``."""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Mapping

from lessons_kb.brain.injected import find_cards
from lessons_kb.brain.layer import Layer
from lessons_kb.brain.occurrences_before_card import read_signs
from lessons_kb.learn.lesson_effect import RECURRED
from lessons_kb.learn.lesson_verdicts import find_marks
from lessons_kb.learn.signs_of_recurrence import Sign, is_about, phrases_of
from lessons_kb.session.open_session import OpenSession
from lessons_kb.store.scan import SUFFIXES

_MAX_SIGNS = 300


def note_effects(
    open_session: OpenSession, session: str, answer: str, *, after: int, at: float
) -> None:
    """Note the lessons that the answer judges, and those whose mistake was seen in this turn.

    ``after`` is the number of the turn's prompt among the events.
    """
    layers = open_session.brain.layers
    given = {layer: layer.session_journal.outcomes.given(session) for layer in layers}
    if not session or not any(given.values()):
        return
    _note_words(given, session, answer, at)
    _note_signs(open_session, given, session, after)


def note_return(layer: Layer, session: str, card: str, *, at: float) -> None:
    """Note that a card's mistake was seen again, if the session was given the card before."""
    outcomes = layer.session_journal.outcomes
    if session and card in outcomes.given(session):
        outcomes.note(session, card, RECURRED, at=at)


def _note_words(
    given: Mapping[Layer, Mapping[str, float]], session: str, answer: str, at: float
) -> None:

    for what, mark in find_marks(answer):
        if what.isdecimal():
            named = _numbered(given, session, int(what))
        else:
            named = [(x, card) for x in given for card in given[x] if _is_called(card, what)]
        if len(named) == 1:  # whoever could mean two lessons means none
            layer, card = named[0]
            layer.session_journal.outcomes.note(session, card, mark, at=at)


def _numbered(layers: Iterable[Layer], session: str, rank: int) -> list[tuple[Layer, str]]:
    """Return the lessons of a number in the blocks of the latest turn that had any, of all brains.

    Each brain counts turns from when it was first asked: how many came since is comparable.
    """
    ranked = [(x, one) for x in layers for one in x.session_journal.injections.ranked(session)]
    latest = min((since for _layer, (since, _rank, _card) in ranked), default=0)
    return [
        (layer, card)
        for layer, (since, number, card) in ranked
        if since == latest and number == rank
    ]


def _is_called(card: str, name: str) -> bool:
    bare, wanted = (_bare(text) for text in (card.lower(), name.strip("./")))
    return wanted in (bare, posixpath.basename(bare))


def _bare(name: str) -> str:
    """Return a file's name without its suffix, if it has that of a card: slugs hold dots."""
    return next((name.removesuffix(end) for end in SUFFIXES if name.endswith(end)), name)


def _note_signs(
    open_session: OpenSession, given: Mapping[Layer, Mapping[str, float]], session: str, after: int
) -> None:

    signs = read_signs(open_session.journal.events, session, after=after - 1, limit=_MAX_SIGNS)
    if not signs:
        return
    for layer, firsts in given.items():
        for card in find_cards(layer, set(firsts)):
            phrases = phrases_of(card)
            for sign in signs:
                if _follows(sign, firsts[card.id]) and is_about(sign, phrases):
                    layer.session_journal.outcomes.note(session, card.id, RECURRED, at=sign.at)
                    break


def _follows(sign: Sign, first: float) -> bool:
    """Return whether a sign came after a card was given.

    The journal gives whole seconds; the complaint that brought the card up is no recurrence.
    """
    return sign.at >= first + 1 if sign.spoken else sign.at >= first

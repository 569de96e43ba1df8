"""When a turn ends: what became of the lessons that the session was given, for ``brain.stats``."""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Mapping

from lessons_kb.brain.injected import find_cards
from lessons_kb.brain.layer import Layer
from lessons_kb.brain.stats import read_signs
from lessons_kb.learn.failure_signs import is_about, phrases_of
from lessons_kb.learn.lesson_effect import RECURRED, find_marks
from lessons_kb.session.state import Hook
from lessons_kb.store.scan import SUFFIXES

_MAX_SIGNS = 300


def note_effects(hook: Hook, *, after: int) -> None:
    """Note the lessons that the answer judges, and those whose mistake was seen in this turn.

    ``after`` is the number of the turn's prompt among the events.
    """
    session = hook.event.session
    layers = hook.brain.layers
    given = {layer: layer.hook_journal.outcomes.given(session) for layer in layers}
    if not session or not any(given.values()):
        return
    for name, mark in find_marks(hook.event.text):
        if name.isdecimal():
            named = find_ranked(given, session).get(int(name), [])
        else:
            named = [(x, card) for x in given for card in given[x] if _is_called(card, name)]
        if len(named) == 1:  # whoever could mean two lessons means none
            layer, card_id = named[0]
            layer.hook_journal.outcomes.note(session, card_id, mark, at=hook.now)
    _note_signs(hook, given, after)


def note_return(layer: Layer, session: str, card: str, *, at: float) -> None:
    """Note that a card's mistake was seen again, if the session was given the card before."""
    outcomes = layer.hook_journal.outcomes
    if session and card in outcomes.given(session):
        outcomes.note(session, card, RECURRED, at=at)


def find_ranked(layers: Iterable[Layer], session: str) -> dict[int, list[tuple[Layer, str]]]:
    """Return the lessons by their number in the blocks of the latest turn that had any.

    Each brain counts turns from when it was first asked: how many came since is comparable.
    """
    rows = [(x, *row) for x in layers for row in x.hook_journal.injections.ranked(session)]
    latest = min((since for _layer, since, _rank, _card in rows), default=0)
    ranked: dict[int, list[tuple[Layer, str]]] = {}
    for layer, since, rank, card in rows:
        if since == latest:
            ranked.setdefault(rank, []).append((layer, card))
    return ranked


def _is_called(card: str, name: str) -> bool:
    """Tell whether a name means a card: with or without its folders and its ending."""
    bare, wanted = (
        next((text.removesuffix(end) for end in SUFFIXES if text.endswith(end)), text)
        for text in (card.lower(), name.strip("./"))
    )
    return wanted in (bare, posixpath.basename(bare))


def _note_signs(hook: Hook, given: Mapping[Layer, Mapping[str, float]], after: int) -> None:
    """Note the lessons whose mistake shows in what happened since they were given.

    The journal gives whole seconds; the complaint that brought a card up is no recurrence.
    """
    session = hook.event.session
    signs = read_signs(hook.journal.events, session, after=after - 1, limit=_MAX_SIGNS)
    for layer, firsts in given.items() if signs else ():
        for card in find_cards(layer, set(firsts)):
            phrases = phrases_of(card)
            since = firsts[card.id]
            for sign in signs:
                if sign.at >= since + sign.spoken and is_about(sign, phrases):
                    layer.hook_journal.outcomes.note(session, card.id, RECURRED, at=sign.at)
                    break

"""How often was a mistake made before its card was first given? The other half of a comparison.

The sessions before are looked through with the same eyes as those after: a session counts if one
of its prompts would have been given the card, and as one with the mistake if it shows a sign of
it. The session that taught the lesson is left out: without the mistake there would be no card.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Mapping, Sequence

from lessons_kb.brain.injected import find_cards
from lessons_kb.brain.layer import Layer
from lessons_kb.brain.layers import Layers
from lessons_kb.errors import StorageError
from lessons_kb.learn.lesson_effect import BEFORE, BEFORE_RECURRED
from lessons_kb.learn.signs_of_recurrence import TOLD, Sign, find_signs, is_about, phrases_of
from lessons_kb.model import CALLS, FAILURES, Card
from lessons_kb.store.events import ASKED, Events
from lessons_kb.store.lesson_outcomes import Outcomes

MAX_SESSIONS = 200
"""Looked through at once, evenly over the time before: two seconds with 12,000 cards."""
_MAX_PROMPTS = 3
"""Of one session: what it is about is said early."""
_MAX_SIGNS = 1_000


def look_before(brain: Layers, layers: Sequence[Layer], only: str | None = None) -> None:
    """Count the sessions before, for each card that was given and has no such count yet.

    ``only`` names one card of ``layers``. What is found is kept, for the journal's events are
    forgotten. A journal that cannot be written is left as it is.
    """
    for layer in layers:
        with contextlib.suppress(StorageError):
            _look(brain, layer, only)


def _look(brain: Layers, layer: Layer, only: str | None) -> None:
    outcomes = layer.journal.outcomes
    firsts = outcomes.first_given(without=BEFORE)
    if only is not None:
        firsts = {card: at for card, at in firsts.items() if card == only}
    cards = {card.id: card for card in find_cards(layer, set(firsts))}
    if not cards:
        return
    nearest = brain.layers[0].journal
    until = max(firsts[card] for card in cards)
    called: dict[str, list[bool]] = {card: [] for card in cards}
    asked = nearest.events.asked(until=until)
    for session, began in asked[:: -(-len(asked) // MAX_SESSIONS) or 1]:
        waiting = {card: cards[card] for card in cards if began < firsts[card]}
        given = outcomes.given(session) if waiting else ()
        for card, seen in _called(brain, session, waiting).items():
            if card not in given:
                called[card].append(seen)
    for card, sessions in called.items():
        _keep(outcomes, card, firsts[card], sessions)


def _called(brain: Layers, session: str, cards: Mapping[str, Card]) -> dict[str, bool]:
    """Return which cards a session would have been given → whether it shows their mistake."""
    if not cards:
        return {}
    events = brain.layers[0].journal.events
    found: set[str] = set()
    for prompt in events.find(session=session, kinds=ASKED)[:_MAX_PROMPTS]:
        block = brain.preflight(prompt.text, context=False, fresh=False, remember=False)
        found |= {hit.card.id for hit in block.lessons if hit.card.id in cards}
    if not found:
        return {}
    signs = read_signs(events, session, limit=_MAX_SIGNS)
    phrases = {card: phrases_of(cards[card]) for card in found}
    return {card: any(is_about(sign, phrases[card]) for sign in signs) for card in found}


def _keep(outcomes: Outcomes, card: str, first: float, sessions: list[bool]) -> None:
    if True in sessions:
        taught = len(sessions) - 1 - sessions[::-1].index(True)
        sessions = sessions[:taught] + sessions[taught + 1 :]
    day = time.strftime("%Y-%m-%d", time.localtime(first))
    outcomes.keep(card, day, {BEFORE: len(sessions), BEFORE_RECURRED: sum(sessions)})


def read_signs(events: Events, session: str, *, after: int = 0, limit: int) -> list[Sign]:
    """Return the signs of a session in what was written after a number, oldest first.

    Of failed calls and of what was told, the newest ``limit`` are looked at: calls that went well,
    of which a session has thousands, are not even read.
    """
    failed = events.numbered(
        session=session, kinds=CALLS, outcomes=FAILURES, after=after, limit=limit
    )
    told = events.numbered(session=session, kinds=TOLD, after=after, limit=limit)
    signs = find_signs(event for _number, event in (*failed, *told))
    return sorted(signs, key=lambda sign: sign.at)

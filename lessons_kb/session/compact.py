"""When the context was compacted: its lessons and files once more."""

from __future__ import annotations

import os
from dataclasses import replace

from lessons_kb.brain.injected import card_digest, find_cards, name_cards
from lessons_kb.brain.layer import Layer
from lessons_kb.brain.layers import Layers
from lessons_kb.brain.retrieve import find_harmful
from lessons_kb.model import Card, Hit, Preflight
from lessons_kb.session.record_event import prepared, see
from lessons_kb.session.state import (
    AGAIN,
    FILES,
    NOTHING,
    Answer,
    Capabilities,
    HookEvent,
    OpenSession,
    event_of,
    now,
    pack_known,
    read_state,
    turn_state,
)
from lessons_kb.store.files import read_tail


def answer(open_session: OpenSession, hook_event: HookEvent, capabilities: Capabilities) -> Answer:
    """Return the files of the session and its active lessons again."""
    brain, journal, scope = open_session.brain, open_session.journal, open_session.scope
    if not hook_event.id and (size := _size(hook_event.transcript)):
        # Two within a moment are two, if the record has grown meanwhile.
        hook_event = replace(hook_event, id=f"compaction {size}")
    events = prepared([(event_of(hook_event, "compaction", scope), "")])
    block = _active_again(brain, hook_event, capabilities)
    with turn_state(journal, hook_event.context) as state:
        before = journal.events.last_number()
        signals = see(journal, events, hook_event, scope, state)
        if journal.events.last_number() == before:
            return NOTHING
    _give_again(brain, hook_event, block)
    with turn_state(journal, hook_event.context) as state:
        known = {tuple(pair) for pair in state.cards}
        given = name_cards(brain.layers, block.lessons)
        state.cards += [pair for pair in given if tuple(pair) not in known]
        if block.text:  # what waits of the compaction before is in it
            state.waiting = [pair for pair in state.waiting if pair[0] != AGAIN]
        texts = [(AGAIN, block.text)] if block.text else []
        texts += [(FILES, signal.message) for signal in signals]
        context = state.deliver(texts, capabilities)
    settings = brain.layers[0].settings
    return Answer(
        context=context,
        block=block,
        language=settings.language,
        footer=settings.hooks.footer,
    )


def _size(path: str) -> int:
    try:
        return os.path.getsize(path)
    except (OSError, ValueError):
        return 0


def _active_again(brain: Layers, hook_event: HookEvent, capabilities: Capabilities) -> Preflight:
    """Pack the lessons that the session still had in its context, the latest first."""
    settings = brain.layers[0].settings.preflight
    hits: list[Hit] = []
    for layer in brain.layers:
        journal = layer.session_journal
        turn = journal.next_turn(hook_event.context, by=0)
        since = turn - settings.reinject_after
        known = {card for card, _digest in journal.in_context(hook_event.context, since_turn=since)}
        cards = [
            card
            for card in find_cards(layer, known)
            if card.status == "active" and not card.template
        ]
        hits += [Hit(card=card, score=1.0, bm25=0.0, passed=True) for card in _usable(layer, cards)]
    hits.sort(key=lambda hit: (-("low", "medium", "high").index(hit.card.severity), hit.card.id))
    return pack_known(hits, settings, capabilities)


def _give_again(brain: Layers, hook_event: HookEvent, block: Preflight) -> None:
    given = {hit.card.id: (rank, hit.card) for rank, hit in enumerate(block.lessons, 1)}
    for layer in brain.layers:
        journal = layer.session_journal
        turn = journal.next_turn(hook_event.context, by=0)
        since = turn - layer.settings.preflight.reinject_after
        known = {card for card, _digest in journal.in_context(hook_event.context, since_turn=since)}
        journal.forget_context(hook_event.context)
        again = [(rank, card) for rank, card in given.values() if card.id in known]
        if again:
            rows = [(card.id, card_digest(card), 0) for _rank, card in again]
            ranks = [rank for rank, _card in again]
            journal.record_injections(
                hook_event.context, turn=turn, at=int(now(hook_event)), cards=rows, ranks=ranks
            )


def _usable(layer: Layer, cards: list[Card]) -> list[Card]:
    """Return the cards that may be given; harmful ones may not where the settings say so."""
    if not layer.settings.effect.withhold_harmful:
        return cards

    harmful = find_harmful(layer, cards)
    return [card for card in cards if card.id not in harmful]


_REWRITTEN = b'{"$set":{"messages":'
"""How the line begins with which Gemini CLI replaces all messages of a chat."""
_MAX_BYTES = 4_000_000
_LONG = 200_000
"""Bytes that are not read once more."""


def answer_first(
    open_session: OpenSession, hook_event: HookEvent, capabilities: Capabilities
) -> Answer:
    """Return what is to be said of a compaction since the last hook, `NOTHING` if there was none.

    ``hook_event`` is the one that came now: its own answer follows.
    """
    if not capabilities.context or not hook_event.transcript:
        return NOTHING
    state = read_state(open_session.journal, hook_event.context)
    offset = state.offset if state.transcript == hook_event.transcript else None
    data, start = read_tail(hook_event.transcript, offset, limit=_MAX_BYTES)
    place = data.rfind(_REWRITTEN)
    if offset is None or place >= 0 or len(data) > _LONG:
        whole = data.rfind(b"\n") + 1
        with turn_state(open_session.journal, hook_event.context) as state:
            state.transcript = hook_event.transcript
            state.offset = start + (place + 1 if place >= 0 else whole)
    if place < 0 or not _is_missing(open_session.brain, hook_event.context, data[place:]):
        return NOTHING
    compacted = replace(hook_event, what="compact", id="", text="", within=0.0)
    return answer(open_session, compacted, capabilities)


def _is_missing(brain: Layers, session: str, chat: bytes) -> bool:
    """Tell whether a lesson that the session was given does not stand in its chat."""
    for layer in brain.layers:
        journal = layer.session_journal
        turn = journal.next_turn(session, by=0)
        since = turn - layer.settings.preflight.reinject_after
        for card, _digest in journal.in_context(session, since_turn=since):
            if f"{card})".encode() not in chat:
                return True
    return False

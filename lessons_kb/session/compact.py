"""When the context was compacted: its lessons, files and the titles of the cards once more."""

from __future__ import annotations

import contextlib
import os

from lessons_kb.find.titles import TITLES_OPEN, is_whole
from lessons_kb.ledger.effect import find_harmful
from lessons_kb.ledger.given import find_cards, find_known
from lessons_kb.ledger.session_memory import AGAIN, FILES
from lessons_kb.model import SEVERITIES
from lessons_kb.session.event_types import NOTHING, Answer
from lessons_kb.session.record_event import as_seen, journal_events
from lessons_kb.session.state import Hook
from lessons_kb.session.turn_lessons import Found, LessonLimits, find_titles, give, read_limits
from lessons_kb.store.files import read_tail
from lessons_kb.values import replace

_MAX_BYTES = 4_000_000
_LONG = 200_000
"""Bytes that are not read once more."""


def answer(hook: Hook) -> Answer:
    """Return the files of the session, its active lessons and the titles again."""
    brains, event, can = hook.open_brains(), hook.event, hook.can
    with contextlib.suppress(OSError, ValueError):
        # Two within a moment are two, if the record has grown meanwhile.
        if not event.id and (size := os.path.getsize(event.transcript)):
            hook.event = event = replace(event, id=f"compaction {size}")
    events = as_seen([hook.as_event("compaction", text=event.text)], "")
    limits = read_limits(brains)
    found = _find_active(hook, limits)
    titles = find_titles(hook) if can.lasting else ""  # what is built anew each time stays
    with hook.transaction() as state:
        before = hook.journal.events.last_number()
        signals = journal_events(hook, state, events)
        if hook.journal.events.last_number() == before:
            return NOTHING
        for brain in brains.members:
            brain.hook_journal.forget_context(event.context_id)
        state.shown = []
        block, given = give(hook, limits, found, counted=False)
        state.note_given(given)
        if block.text:  # what waits of the compaction before is in it
            state.waiting = [text for text in state.waiting if text.about != AGAIN]
        texts = [(AGAIN, block.text), *((FILES, signal.message) for signal in signals)]
        texts += state.take_titles(titles, whole=is_whole(titles))
        context = state.deliver(texts, can)
    return Answer(context=context, block=block)


def _find_active(hook: Hook, limits: LessonLimits) -> list[Found]:
    """Return the lessons that the session still has in its context, the worst first."""
    found: list[Found] = []
    for brain, known in find_known(limits.reinject_after, hook.event.context_id).items():
        cards = find_cards(brain, {card for card, _digest in known})
        cards = [card for card in cards if card.is_injectable]
        # Harmful ones may not be given where the settings say so.
        withheld = find_harmful(brain, cards) if brain.settings.effect.withhold_harmful else ()
        found += [(brain, card) for card in cards if card.id not in withheld]
    return sorted(found, key=lambda pair: (-SEVERITIES.index(pair[1].severity), pair[1].id))


def catch_up(hook: Hook) -> Answer:
    """Return what a compaction took that no event told of, to stand before this event's answer."""
    event, brains = hook.event, hook.open_brains()
    if not hook.can.inject or not event.transcript:
        return NOTHING
    offset = hook.state.offset if hook.state.transcript == event.transcript else None
    data, start = read_tail(event.transcript, offset, limit=_MAX_BYTES)
    place = data.rfind(hook.can.rewritten)
    if offset is None or place >= 0 or len(data) > _LONG:
        whole = data.rfind(b"\n") + 1
        with hook.transaction() as state:
            state.transcript = event.transcript
            state.offset = start + (place + 1 if place >= 0 else whole)
    if place < 0:
        return NOTHING
    known = find_known(read_limits(brains).reinject_after, event.context_id)
    marks = [f"{card})" for cards in known.values() for card, _digest in cards]
    marks += [TITLES_OPEN] if hook.state.titles_from else []
    if any(mark.encode() not in data[place:] for mark in marks):
        hook.event = replace(event, what="compact", id="", text="", within=0.0)
        said = answer(hook)
        hook.event = event
        return said
    return NOTHING

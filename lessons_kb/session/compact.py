"""Handle a compaction of the context by giving its lessons, its files and the titles of cards
again.
"""

from __future__ import annotations

import contextlib
import os

from lessons_kb.find.titles import is_whole
from lessons_kb.ledger.effect import find_harmful
from lessons_kb.ledger.given import CardInBrain, find_cards, find_known
from lessons_kb.ledger.session_memory import AGAIN, FILES, TITLES_OPEN
from lessons_kb.model import SEVERITIES
from lessons_kb.session.event_types import NOTHING, Answer
from lessons_kb.session.record_event import as_seen, journal_events
from lessons_kb.session.session_titles import find_titles
from lessons_kb.session.state import Hook
from lessons_kb.session.turn_lessons import LessonLimits, give, read_limits
from lessons_kb.store.files import read_tail
from lessons_kb.values import replace

_MAX_BYTES = 4_000_000
_LONG = 200_000
"""The number of bytes of a record after which its offset is stored even without a compaction."""


def answer(hook: Hook) -> Answer:
    """Return the files of the session, its active lessons and the titles again."""
    brains = hook.open_brains()
    event = hook.event
    can = hook.can
    with contextlib.suppress(OSError, ValueError):
        # Two compactions in quick succession are two events if the record has grown meanwhile.
        size = 0 if event.id else os.path.getsize(event.transcript)
        if size:
            hook.event = event = replace(event, id=f"compaction {size}")
    events = as_seen([hook.as_event("compaction", text=event.text)], "")
    limits = read_limits(brains)
    active = _find_active(hook, limits)
    # An agent that builds its context for each prompt or request has the titles each time anyway.
    titles = find_titles(hook) if can.lasting and not can.repeats_start else ""
    with hook.transaction() as state:
        before = hook.journal.events.last_number()
        signals = journal_events(hook, state, events)
        if hook.journal.events.last_number() == before:
            return NOTHING
        for brain in brains.members:
            brain.hook_journal.forget_context(event.context_id)
        state.shown = []
        block, given = give(hook, limits, active, counted=False)
        state.note_given(given)
        if block.text:  # it includes texts that still wait from the previous compaction
            state.waiting = [text for text in state.waiting if text.about != AGAIN]
        texts = [(AGAIN, block.text), *((FILES, signal.message) for signal in signals)]
        texts += state.take_titles(titles, whole=is_whole(titles))
        context = state.deliver(texts, can)
        state.system_lessons = block.text if can.forgets_start else ""
    return Answer(context=context, block=block)


def _find_active(hook: Hook, limits: LessonLimits) -> list[CardInBrain]:
    """Return the lessons in the session's context, most severe first."""
    active: list[CardInBrain] = []
    for brain, known in find_known(limits.reinject_after, hook.event.context_id).items():
        cards = find_cards(brain, {card for card, _digest in known})
        cards = [card for card in cards if card.is_injectable]
        # A setting may exclude harmful cards.
        withheld = find_harmful(brain, cards) if brain.settings.effect.withhold_harmful else ()
        active += [(brain, card) for card in cards if card.id not in withheld]
    return sorted(active, key=lambda pair: (-SEVERITIES.index(pair[1].severity), pair[1].id))


def catch_up(hook: Hook) -> Answer:
    """Return the texts that a compaction without a hook removed. They precede the answer to this
    event.
    """
    event = hook.event
    brains = hook.open_brains()
    if not hook.can.inject or not event.transcript:
        return NOTHING
    offset = hook.state.offset if hook.state.transcript == event.transcript else None
    data, start = read_tail(event.transcript, offset, limit=_MAX_BYTES)
    position = data.rfind(hook.can.rewritten)
    if offset is None or position >= 0 or len(data) > _LONG:
        complete = data.rfind(b"\n") + 1
        with hook.transaction() as state:
            state.transcript = event.transcript
            state.offset = start + (position + 1 if position >= 0 else complete)
    if position < 0:
        return NOTHING
    known = find_known(read_limits(brains).reinject_after, event.context_id)
    marks = [f"{card})" for cards in known.values() for card, _digest in cards]
    marks += [TITLES_OPEN] if hook.state.titles_from else []
    if any(mark.encode() not in data[position:] for mark in marks):
        hook.event = replace(event, what="compact", id="", text="", within=0.0)
        answer_to_compaction = answer(hook)
        hook.event = event
        return answer_to_compaction
    return NOTHING

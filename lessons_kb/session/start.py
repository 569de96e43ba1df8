"""When a session starts: take it in, and tell of drafts that wait."""

from __future__ import annotations

import contextlib

from lessons_kb.errors import ConfigError, StorageError
from lessons_kb.session import prompt
from lessons_kb.session.drafting import count_drafts
from lessons_kb.session.record_event import Missed, skip_record
from lessons_kb.session.state import NOTHING, Answer, Hook
from lessons_kb.session.turn_lessons import find_titles


def answer(hook: Hook) -> Answer:
    """Take the session in and give the titles of the cards, unless the chat has them.

    With a first prompt known already, that is answered as well.
    """
    event, journal = hook.event, hook.journal
    if event.text:
        return prompt.answer(hook)
    record = Missed() if hook.state.transcript == event.transcript else skip_record(event)
    count = count_drafts(hook)
    titles = find_titles(hook) if event.takes_context else ""
    with hook.transaction() as state:
        record.note(state)
        state.unattended = event.unattended
        context = state.deliver(state.take_titles(titles), hook.can)
        if count and not state.offered:
            state.drafted, state.offered = count, True
        lines = state.tell_drafted(hook.can)
    layer = hook.brain.layers[0]
    with contextlib.suppress(ConfigError, StorageError):
        journal.prune_daily(lambda: layer.settings.journal.retention_days, now=hook.now)
    return Answer(context=context, lines=lines) if context or lines else NOTHING

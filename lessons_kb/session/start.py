"""When a session starts: take it in, and tell of drafts that wait."""

from __future__ import annotations

import contextlib

from lessons_kb.errors import ConfigError, StorageError
from lessons_kb.session import prompt
from lessons_kb.session.event import NOTHING, Answer, Capabilities, HookEvent, OpenSession
from lessons_kb.session.state import (
    now,
    read_state,
    turn_state,
)
from lessons_kb.session.transcript_tail import Missed, skip_record
from lessons_kb.session.waiting_drafts import offer_drafts


def answer(open_session: OpenSession, hook_event: HookEvent, capabilities: Capabilities) -> Answer:
    """Take the session in; with a first prompt known already, answer that as well."""
    if hook_event.text:
        return prompt.answer(open_session, hook_event, capabilities)
    journal = open_session.journal
    followed = read_state(journal, hook_event.session).transcript == hook_event.transcript
    record = Missed() if followed else skip_record(hook_event)
    with turn_state(journal, hook_event.session) as state:
        record.note(state)
        context = state.deliver([], capabilities)
        state.tell_drafted(capabilities)  # the line below speaks of all that wait
    layer = open_session.brain.layers[0]
    with contextlib.suppress(ConfigError, StorageError):
        journal.prune_daily(lambda: layer.settings.journal.retention_days, now=now(hook_event))
    lines = offer_drafts(open_session)
    return Answer(context=context, lines=lines) if context or lines else NOTHING

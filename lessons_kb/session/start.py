"""When a session starts: take it in, and tell of drafts that wait."""

from __future__ import annotations

import contextlib

from lessons_kb.errors import ConfigError, StorageError
from lessons_kb.session import prompt
from lessons_kb.session.drafts import count_drafts
from lessons_kb.session.event import NOTHING, Answer, Capabilities, HookEvent, OpenSession
from lessons_kb.session.state import (
    now,
    read_state,
    turn_state,
)
from lessons_kb.session.transcript import Missed, skip_record


def answer(open_session: OpenSession, hook_event: HookEvent, capabilities: Capabilities) -> Answer:
    """Take the session in; with a first prompt known already, answer that as well."""
    if hook_event.text:
        return prompt.answer(open_session, hook_event, capabilities)
    journal = open_session.journal
    followed = read_state(journal, hook_event.context).transcript == hook_event.transcript
    record = Missed() if followed else skip_record(hook_event)
    count = count_drafts(open_session)
    with turn_state(journal, hook_event.context) as state:
        record.note(state)
        context = state.deliver([], capabilities)
        if count and not state.offered:
            state.drafted, state.offered = count, True
        lines = state.tell_drafted(capabilities)
    layer = open_session.brain.layers[0]
    with contextlib.suppress(ConfigError, StorageError):
        journal.prune_daily(lambda: layer.settings.journal.retention_days, now=now(hook_event))
    return Answer(context=context, lines=lines) if context or lines else NOTHING

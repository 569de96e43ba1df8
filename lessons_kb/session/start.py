"""When a session starts: take it in, and tell of drafts that wait."""

from __future__ import annotations

import contextlib

from lessons_kb.errors import ConfigError, StorageError
from lessons_kb.session import prompt
from lessons_kb.session.outcomes import count_drafts
from lessons_kb.session.record_event import (
    Missed,
    find_origin,
    skip_record,
)
from lessons_kb.session.state import (
    NOTHING,
    Answer,
    Capabilities,
    HookEvent,
    OpenSession,
    now,
    read_state,
    turn_state,
)
from lessons_kb.store.journal import Journal

_ANSWERS = 2_000
"""Answers looked through, the newest, for the one that a fork was made after."""
_NEAR = 5.0
"""Seconds between an answer as the agent counts it and the end of its turn as a hook tells it."""


def answer(open_session: OpenSession, hook_event: HookEvent, capabilities: Capabilities) -> Answer:
    """Take the session in; with a first prompt known already, answer that as well."""
    if hook_event.text:
        return prompt.answer(open_session, hook_event, capabilities)
    journal = open_session.journal
    followed = read_state(journal, hook_event.context).transcript == hook_event.transcript
    record = Missed() if followed else skip_record(hook_event)
    if hook_event.forked:
        _take_over(open_session, hook_event)
    count = count_drafts(open_session, hook_event)
    with turn_state(journal, hook_event.context) as state:
        record.note(state)
        state.unattended = hook_event.unattended
        context = state.deliver([], capabilities)
        if count and not state.offered:
            state.drafted, state.offered = count, True
        lines = state.tell_drafted(capabilities)
    layer = open_session.brain.layers[0]
    with contextlib.suppress(ConfigError, StorageError):
        journal.prune_daily(lambda: layer.settings.journal.retention_days, now=now(hook_event))
    return Answer(context=context, lines=lines) if context or lines else NOTHING


def _take_over(open_session: OpenSession, hook_event: HookEvent) -> None:
    """Let a forked session have the lessons of the one that it is a copy of."""
    journal = open_session.journal
    other = find_origin(journal, hook_event) or _find_answering(journal, hook_event)
    if not other:
        return
    for layer in open_session.brain.layers:
        layer.session_journal.copy_context(other, hook_event.context)
    known = read_state(journal, other)
    with turn_state(journal, hook_event.context) as state:
        state.shown, state.asked = state.shown or known.shown, state.asked or known.asked


def _find_answering(journal: Journal, hook_event: HookEvent) -> str:
    """Return the session that answered when the copied one did, "" where two did."""
    if hook_event.answered_ago is None:
        return ""
    answered = now(hook_event) - hook_event.answered_ago
    answers = journal.events.find(kinds=("answer",), since=answered - _NEAR, limit=_ANSWERS)
    near = {event.session for event in answers if event.at <= answered + _NEAR}
    near.discard(hook_event.session)
    return near.pop() if len(near) == 1 else ""

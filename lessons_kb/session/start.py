"""When a session starts: take it in, and tell of drafts that wait."""

from __future__ import annotations

import contextlib

from lessons_kb.brain.injected import read_withholding
from lessons_kb.brain.verdicts import find_withheld_before
from lessons_kb.errors import ConfigError, StorageError
from lessons_kb.session import prompt
from lessons_kb.session.drafting import count_drafts
from lessons_kb.session.record_event import Missed, find_origin, skip_record
from lessons_kb.session.state import NOTHING, Answer, Hook, read_memory
from lessons_kb.session.turn_lessons import find_titles
from lessons_kb.store.user_state import is_first, state_home
from lessons_kb.text.sanitize import clean_line

_ANSWERS = 2_000
"""Answers looked through, the newest, for the one that a fork was made after."""
_WEEK = 7 * 86_400
_NEAR = 5.0
"""Seconds between an answer as the agent counts it and the end of its turn as a hook tells it."""


def answer(hook: Hook) -> Answer:
    """Take the session in and give the titles of the cards, unless the chat has them.

    With a first prompt known already, that is answered as well.
    """
    event, journal = hook.event, hook.journal
    if event.text:
        return prompt.answer(hook)
    record = Missed() if hook.state.transcript == event.transcript else skip_record(event)
    copied = (find_origin(hook) or _find_answering(hook)) if event.forked else ""
    known = read_memory(journal, copied)
    count = count_drafts(hook)
    titles = find_titles(hook) if event.takes_context else ""
    withheld = _tell_withheld(hook)
    for layer in hook.brain.layers if copied else ():  # a copy has the lessons of the other
        layer.hook_journal.copy_context(copied, event.context)
    with hook.transaction() as state:
        record.note(state)
        if copied:
            state.shown, state.asked = state.shown or known.shown, state.asked or known.asked
            state.refused = state.refused or known.refused
        state.unattended = event.unattended
        context = state.deliver(state.take_titles(titles), hook.can)
        if count and not state.offered:
            state.drafted, state.offered = count, True
        lines = withheld + state.tell_drafted(hook.can)
    layer = hook.brain.layers[0]
    with contextlib.suppress(ConfigError, StorageError):
        journal.prune_daily(lambda: layer.settings.journal.retention_days, now=hook.now)
    return Answer(context=context, lines=lines) if context or lines else NOTHING


def _tell_withheld(hook: Hook) -> tuple[str, ...]:
    """Return the line for the user that names, once, what an earlier session was not told."""
    with contextlib.suppress(ConfigError, StorageError):
        if hook.can.lines and read_withholding().withhold:
            session, cards = find_withheld_before(hook.brain.layers, hook.now - _WEEK)
            footer = hook.brain.layers[0].settings.hooks.footer
            if footer and cards and is_first(state_home(), f"withheld {session}", unknown=False):
                names = ", ".join(dict.fromkeys(map(clean_line, cards)))
                return (f"Lessons withheld from your last session, to compare: {names}",)
    return ()


def _find_answering(hook: Hook) -> str:
    """Return the session that answered when the copied one did, "" where two did."""
    if hook.event.answered_ago is None:
        return ""
    answered = hook.now - hook.event.answered_ago
    answers = hook.journal.events.find(kinds=("answer",), since=answered - _NEAR, limit=_ANSWERS)
    near = {event.session for event in answers if event.at <= answered + _NEAR}
    near.discard(hook.event.session)
    return near.pop() if len(near) == 1 else ""

"""Handle the start of a session: record it, give the titles, and mention drafts that wait for a
review.
"""

from __future__ import annotations

import contextlib

from lessons_kb.errors import ConfigError, StorageError
from lessons_kb.find.titles import is_whole
from lessons_kb.ledger.session_memory import AGAIN, BLOCK, START, SessionMemory
from lessons_kb.ledger.withheld import is_withholding
from lessons_kb.on_demand import ALL_CARDS, load
from lessons_kb.outcome.why import find_withheld_before
from lessons_kb.session import prompt
from lessons_kb.session.event_types import NOTHING, Answer
from lessons_kb.session.record_event import Missed, skip_record
from lessons_kb.session.session_titles import find_titles
from lessons_kb.session.state import Hook
from lessons_kb.store.draft_files import DraftFolder
from lessons_kb.store.journal import AT_START
from lessons_kb.store.locations import state_home
from lessons_kb.store.session_notes import note_first
from lessons_kb.text.sanitize import clean_line

_NEW = "new"
"""The source of a session of Copilot CLI without a chat."""
_RESUMED = "resume"
_CONTINUED = ("", _RESUMED)
"""Sources of a start in a new process, which may continue an earlier session."""
_WEEK = 7 * 86_400


def answer(hook: Hook) -> Answer:
    """Record the session and give the titles of the cards, unless the chat has them.

    If the event has the first prompt, answer that prompt instead.
    """
    brain = hook.open_brains().members[0]
    event = hook.event
    if event.text:
        return prompt.answer(hook)
    record = Missed() if hook.state.transcript == event.transcript else skip_record(event)
    # The drafts of a posted session belong to the server.
    count = 0 if event.posted else _count_drafts(hook)
    titles, all_cards = "", None
    if event.takes_context and not event.moment:
        titles = find_titles(hook)
    elif event.takes_context and event.moment == AT_START:
        all_cards = load(ALL_CARDS).pack_all(hook)
    withheld = _tell_withheld(hook)
    with hook.transaction() as state:
        if not _is_first_report(hook, state):
            return NOTHING
        record.note(state)
        if hook.can.forgets_calls and event.source == _RESUMED:
            gone = state.forget_before_calls()
            for member in hook.brains.members:
                member.hook_journal.forget_context(event.context_id, gone)
        state.unattended = event.unattended
        texts = _find_system_lessons(hook, state)
        # Copilot CLI sends the first prompt of a new session while the hook of its start runs.
        if event.source != _NEW or not state.titles_from:
            texts += state.take_titles(titles, whole=is_whole(titles))
        if all_cards is not None:
            texts = [(BLOCK, all_cards.give(hook))]
        context = state.deliver(texts, hook.can)
        if not event.takes_context:  # the chat already has the titles
            state.titles_from = state.titles_from or START
        if count and not state.offered:
            state.drafted, state.offered = count, True
        lines = withheld + state.tell_drafted(hook.can)
    with contextlib.suppress(ConfigError, StorageError):
        hook.journal.prune_daily(lambda: brain.settings.journal.retention_days, now=hook.now)
    return Answer(context=context, lines=lines)


def _count_drafts(hook: Hook) -> int:
    """Return the number of drafts that wait in any of the brains."""
    names: set[str] = set()
    for brain in hook.brains.members:
        names.update(DraftFolder(brain.root).ids())
    return len(names)


def _find_system_lessons(hook: Hook, state: SessionMemory) -> list[tuple[str, str]]:
    """Return the lessons of the last compaction if they were in the system prompt of a process that
    has ended.
    """
    is_continued = hook.event.takes_context and hook.event.source in _CONTINUED
    return [(AGAIN, state.system_lessons)] if is_continued and state.system_lessons else []


def _is_first_report(hook: Hook, state: SessionMemory) -> bool:
    """Return whether no other process has answered this start.

    An agent that rebuilds its context each time never reports a start twice. It forgets the text
    when its process ends.
    """
    event = hook.event
    if hook.can.repeats_start or not hook.can.lasting:
        return True
    last = hook.journal.events.numbered(session=event.session, limit=1)
    number = last[0][0] if last else 0
    name = f"start {event.source}"
    return state.answer_once(name, event.token, number=number, at=hook.now) is not None


def _tell_withheld(hook: Hook) -> tuple[str, ...]:
    """Return a line for the user, once, with the lessons withheld from an earlier session."""
    with contextlib.suppress(ConfigError, StorageError):
        if hook.can.lines and is_withholding():
            session, cards = find_withheld_before(hook.brains.members, hook.now - _WEEK)
            footer = hook.brains.members[0].settings.hooks.footer
            if footer and cards and note_first(state_home(), f"withheld {session}", unknown=False):
                names = ", ".join(dict.fromkeys(map(clean_line, cards)))
                return (f"Lessons withheld from your last session, to compare: {names}",)
    return ()

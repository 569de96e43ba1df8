"""Find the triggers in recent events, and check whether there is a draft to review."""

from __future__ import annotations

import time

from lessons_kb.brain.brain import Brain
from lessons_kb.collection.draft_cards import find_draft_cards
from lessons_kb.mining.triggers import Trigger, find_triggers
from lessons_kb.store.draft_files import DraftFolder

WINDOW_SECONDS = 7 * 86_400
"""The maximum time between a mistake and its fix."""
MAX_EVENTS = 5_000


def find_new_triggers(brain: Brain, session: str | None, *, now: float) -> list[Trigger]:
    """Return the triggers in the events of the last seven days, of one session if it is named."""
    events = brain.journal.events.find(
        session=session, since=now - WINDOW_SECONDS, limit=MAX_EVENTS
    )
    return list(find_triggers(events, phrases=brain.settings.triggers.patterns))


def has_drafts(brain: Brain) -> bool:
    """Return whether there are drafts or triggers that will become drafts."""
    if DraftFolder(brain.root).ids() or find_new_triggers(brain, None, now=time.time()):
        return True
    brain.refresh()
    return bool(find_draft_cards(brain))

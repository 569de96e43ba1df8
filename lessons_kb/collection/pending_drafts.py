"""Find the triggers in recent events, and check whether there is a draft to review."""

from __future__ import annotations

import time
from collections.abc import Callable

from lessons_kb.brain.brain import Brain
from lessons_kb.collection.draft_cards import find_draft_cards
from lessons_kb.mining.triggers import Trigger, find_triggers
from lessons_kb.store.draft_files import DraftFolder

WINDOW_SECONDS = 7 * 86_400
"""The maximum time between a mistake and its fix."""
MAX_EVENTS = 5_000


def find_new_triggers(
    brain: Brain,
    session: str | None,
    *,
    now: float,
    has_card: Callable[[Trigger], bool] = lambda _complaint: False,
) -> list[Trigger]:
    """Return the triggers in the events of the last seven days, of one session if it is named.

    ``has_card`` is that of `find_triggers`.
    """
    events = brain.journal.events.find(
        session=session, since=now - WINDOW_SECONDS, limit=MAX_EVENTS
    )
    patterns = brain.settings.triggers.patterns
    return find_triggers(events, phrases=patterns, has_card=has_card)


def has_drafts(brain: Brain) -> bool:
    """Return whether there are drafts or triggers that will become drafts."""
    if DraftFolder(brain.root).ids() or find_new_triggers(brain, None, now=time.time()):
        return True
    brain.refresh()
    return bool(find_draft_cards(brain))

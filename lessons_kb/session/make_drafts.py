"""The process that turns one session's events into drafts, while nobody waits for it."""

from __future__ import annotations

import os

from lessons_kb.brain.brain import Brain
from lessons_kb.session.lesson_outcomes import note_return
from lessons_kb.session.state import turn_state
from lessons_kb.store.hook_log import log_trouble


def draft_session(mark: str, agent: str, session: str, directory: str, *roots: str) -> None:
    """Turn what a session's events call for into drafts; the session's next prompt tells of them.

    The entry of a process that nobody watches: what goes wrong is logged. ``mark`` is the file
    that holds other runs of the session back until this one begins to read.
    """
    try:
        with Brain.open(*roots, directory=directory) as brain:
            drafts, layer = brain.drafts, brain.layers[0]
            known = set(drafts.ids())
            os.unlink(mark)
            made = drafts.collect(session)
            for draft in made:
                if draft.card:
                    note_return(layer, session, draft.card, at=draft.at)
            if fresh := sum(draft.id not in known for draft in made):
                with turn_state(layer.session_journal, session) as state:
                    state.drafted += fresh
    except Exception as error:
        log_trouble(agent, "drafts", f"{type(error).__name__}: {error}")

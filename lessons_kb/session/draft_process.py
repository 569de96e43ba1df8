"""From a turn's end to drafts of what it taught, and to the line that tells of them.

The hook of the end has no time for git: ``start_drafting`` sets a mark, a file in the brain's cache
that holds further runs of the session back for a minute at most, and starts a process of its own,
by the code that stands in ``process.programs``. That process enters at ``draft_session``: it
removes the mark, ``Drafts.collect`` makes drafts of what the session's events call for, and the
session's state takes down how many. The session's next prompt or end of a turn tells of them, the
start of a session of all that wait: ``SessionMemory.tell_drafted``. ``lessons review`` collects
again, which makes up for a run that was killed.
"""

from __future__ import annotations

import contextlib
import os

from lessons_kb.brain.brains import Brains
from lessons_kb.brain.make_brain import retire_first_lesson
from lessons_kb.collection.drafts import Drafts
from lessons_kb.ledger.given import find_given
from lessons_kb.ledger.session_memory import lend_memory
from lessons_kb.process.programs import start_draft_process
from lessons_kb.session.state import Hook
from lessons_kb.store.error_log import log_trouble
from lessons_kb.store.locations import FIRST_LESSON


def start_drafting(hook: Hook) -> None:
    """Start a detached run of ``draft_session``: git and thousands of events take their time."""
    if hook.event.posted or hook.journal.trouble:
        return  # its repository is elsewhere, or what this session did was not written
    brains = hook.brains.members
    roots = [brain.root for brain in brains]
    event = hook.event
    start_draft_process(
        event.agent, event.session, event.directory, roots=roots, cache=brains[0].cache
    )


def draft_session(mark: str, agent: str, session: str, directory: str, *roots: str) -> None:
    """Turn what a session's events call for into drafts; what goes wrong is logged.

    The entry of the detached process. ``mark`` holds other runs back until this one begins to read,
    a minute at most.
    """
    try:
        with Brains.open(*roots, directory=directory) as brains:
            drafts, brain = Drafts(brains), brains.members[0]
            known = set(drafts.ids())
            with contextlib.suppress(FileNotFoundError):  # another run that was late has taken it
                os.unlink(mark)
            made = drafts.collect(session)
            if any(card.id == FIRST_LESSON for card in find_given(brains.members, session)):
                retire_first_lesson()
            if fresh := [draft.id for draft in made if draft.id not in known]:
                with lend_memory(brain.hook_journal, session) as state:
                    state.drafted += len(fresh)
                    state.drafts += fresh
    except Exception as error:  # nobody watches this process
        log_trouble(agent, "drafts", f"{type(error).__name__}: {error}")

"""Draft lessons from a session at the end of a turn, in a process of its own.

The hook at the end of a turn has no time for git. ``start_drafting`` writes a mark, a file in the
brain's cache that delays further runs for this session by at most a minute, and starts a detached
process (see ``process.programs``). The process begins with ``draft_session``: it removes the mark,
``Drafts.collect`` writes the drafts that the session's events call for, and the session's state
stores their number. The session's next prompt, or the end of its next turn, names them to the user;
the start of a session names all drafts that wait (``SessionMemory.tell_drafted``). Cards that were
counted because of a complaint are named in the same way. ``lessons review`` also collects drafts,
in case a run was killed.
"""

from __future__ import annotations

import contextlib
import os

from lessons_kb.brain.brains import Brains
from lessons_kb.brain.make_brain import retire_first_lesson
from lessons_kb.collection.drafts import Drafts
from lessons_kb.collection.new_drafts import describe_counted
from lessons_kb.ledger.given import find_given
from lessons_kb.ledger.session_memory import lend_memory
from lessons_kb.process.programs import start_draft_process
from lessons_kb.session.state import Hook
from lessons_kb.store.draft_files import DraftFolder
from lessons_kb.store.error_log import log_trouble
from lessons_kb.store.locations import FIRST_LESSON


def start_drafting(hook: Hook) -> None:
    """Start ``draft_session`` in a detached process: git and thousands of events take time."""
    if hook.event.posted or hook.journal.trouble:
        return  # the repository is on another machine, or the events were not journalled
    brains = hook.brains.members
    roots = [brain.root for brain in brains]
    event = hook.event
    start_draft_process(
        event.agent, event.session, event.directory, roots=roots, cache=brains[0].cache
    )


def draft_session(mark: str, agent: str, session: str, directory: str, *roots: str) -> None:
    """Write the drafts that a session's events require. Errors are logged.

    This is the entry of the detached process. ``mark`` delays other runs until this one begins to
    read, for at most a minute.
    """
    try:
        with Brains.open(*roots, directory=directory) as brains:
            drafts = Drafts(brains)
            brain = brains.members[0]
            ids_before = set(drafts.ids())
            for member in brains.members[1:]:
                ids_before.update(DraftFolder(member.root).ids())
            with contextlib.suppress(FileNotFoundError):  # another, late run has removed it
                os.unlink(mark)
            collected = [draft.id for draft in drafts.collect(session)]
            if any(card.id == FIRST_LESSON for card in find_given(brains.members, session)):
                retire_first_lesson()
            new_ids = [draft_id for draft_id in collected if draft_id not in ids_before]
            counted = describe_counted(drafts.counted)
            if new_ids or counted:
                with lend_memory(brain.hook_journal, session) as state:
                    state.counted += counted
                    state.drafted += len(new_ids)
                    state.drafts += new_ids
    except Exception as error:  # no other process sees this error
        log_trouble(agent, "drafts", f"{type(error).__name__}: {error}")

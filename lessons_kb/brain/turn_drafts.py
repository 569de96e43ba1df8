"""Drafts of a session: a process of its own makes them, and they wait for their human."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from lessons_kb.brain.turn import House, Occasion


def order_drafts(house: House, occasion: Occasion) -> None:
    """Start a detached run of ``draft_session``: git and thousands of events take their time."""
    if house.journal.trouble:
        return  # what this session did was not written
    from lessons_kb.process.detached import start_drafts

    layers = house.brain.layers
    roots = [layer.root for layer in layers]
    start_drafts(
        occasion.agent, occasion.session, house.directory, roots=roots, cache=layers[0].cache
    )


def draft_session(mark: str, agent: str, session: str, directory: str, *roots: str) -> None:
    """Turn what a session's events call for into drafts; the session's next prompt tells of them.

    The entry of a process that nobody watches: what goes wrong is logged. ``mark`` is the file
    that holds other runs of the session back until this one begins to read.
    """
    from lessons_kb.brain.brain import Brain
    from lessons_kb.brain.turn_effects import note_return
    from lessons_kb.brain.turn_state import turn_state
    from lessons_kb.storage.hook_log import log_trouble

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


def offer_drafts(house: House) -> tuple[str, ...]:
    """Return one line about drafts that wait, none if none do."""
    count = len(house.brain.drafts.ids())
    wait = "1 draft waits" if count == 1 else f"{count} drafts wait"
    return (f"lessons: {wait} for `lessons review`",) if count else ()

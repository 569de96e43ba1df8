"""Drafts of a session: what it taught waits for its human."""

from __future__ import annotations

from lessons_kb.errors import LessonsError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from lessons_kb.brain.turn import House, Occasion


def make_drafts(house: House, occasion: Occasion) -> str:
    """Turn what the session's events call for into drafts; return what went wrong, or ""."""
    drafts = getattr(house.brain, "drafts", None)
    if drafts is None:
        return ""
    try:
        for draft in drafts.collect(occasion.session):
            if draft.card:
                from lessons_kb.brain.turn_effects import note_return

                note_return(house.brain.layers[0], occasion.session, draft.card, at=draft.at)
    except LessonsError as error:
        return f"no drafts: {error}"
    return ""


def offer_drafts(house: House) -> tuple[str, ...]:
    """Return one line about drafts that wait, none if none do."""
    drafts = getattr(house.brain, "drafts", None)
    try:
        count = drafts.count() if drafts is not None else 0
    except LessonsError:
        return ()
    wait = "1 draft waits" if count == 1 else f"{count} drafts wait"
    return (f"lessons: {wait} for `lessons review`",) if count else ()

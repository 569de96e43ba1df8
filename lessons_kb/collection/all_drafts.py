"""Find the drafts of all brains that apply here, whichever of them a draft waits in."""

from __future__ import annotations

import contextlib

from lessons_kb.brain.brains import Brains
from lessons_kb.collection.draft_lookup import Draft
from lessons_kb.collection.drafts import Drafts
from lessons_kb.errors import AmbiguousCard, CardNotFound


def open_drafts(brains: Brains) -> list[Drafts]:
    """Return the drafts of each brain, nearest first."""
    return [Drafts(brains.led_by(brain)) for brain in brains.members]


def find_drafts(brains: Brains, name: str) -> Drafts:
    """Return the drafts of the brain that has the draft ``name``, an id or the beginning of one.

    The nearest brain with that id wins. Without such a draft, the drafts of the nearest brain are
    returned. Raises AmbiguousCard if the name fits different drafts.
    """
    drafts_of_all = open_drafts(brains)
    if len(drafts_of_all) == 1:
        return drafts_of_all[0]
    for drafts in drafts_of_all:
        if drafts.has(name):
            return drafts
    fitting: dict[str, Drafts] = {}
    for drafts in drafts_of_all:
        with contextlib.suppress(CardNotFound):
            fitting.setdefault(drafts.get(name).id, drafts)
    if len(fitting) > 1:
        raise AmbiguousCard(f"{name!r} matches {', '.join(fitting)}; write more of the id")
    return next(iter(fitting.values()), drafts_of_all[0])


def list_all_drafts(brains: Brains) -> list[tuple[Drafts, Draft]]:
    """Return the drafts of all brains, each with its brain's. An id is listed once."""
    listed: dict[str, tuple[Drafts, Draft]] = {}
    for drafts in open_drafts(brains):
        for draft in drafts.all():
            listed.setdefault(draft.id, (drafts, draft))
    return list(listed.values())


def count_drafts(brains: Brains) -> int:
    """Return the number of drafts that ``list_all_drafts`` returns."""
    names: set[str] = set()
    for drafts in open_drafts(brains):
        names.update(drafts.ids())
    return len(names)

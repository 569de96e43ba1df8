"""The cards about the part of the repository in which a session works."""

from __future__ import annotations

import os

from lessons_kb.brain.brain import Brain
from lessons_kb.brain.brains import Brains
from lessons_kb.errors import StorageError
from lessons_kb.find.search import complete_query, find_hits
from lessons_kb.model import CHANGES, Query

_LATEST_CHANGES = 40
"""The number of latest changes in the journal that show which files are being worked on."""
_LATEST_EVENTS = 200
"""The number of latest events in the journal among which these changes are searched."""


def find_cards_at_hand(brains: Brains, directory: str, *, most: int) -> list[tuple[Brain, str]]:
    """Return the brains and ids of the cards nearest to the working directory and the changed
    files.

    The journal shows the files that agents changed last, because there is no time for git at the
    start of a session. The best card is first. The list is empty at the top of a repository in
    which nothing was changed.
    """
    below = os.path.relpath(directory, brains.directory).replace(os.sep, "/")
    folder = "" if below == "." or below.startswith("..") else below
    files = _list_changed(brains.members[0])
    if not (folder or files):
        return []
    text = "\n".join([folder, *files])
    query = complete_query(brains, Query(text=text, paths=tuple(files), limit=most))
    try:
        hits = find_hits(brains, query).hits
    except StorageError:
        return []
    return [(brain, hit.card.id) for brain, hit in hits[:most] if hit.score > 0]


def _list_changed(brain: Brain) -> list[str]:
    """Return the files of the latest changes, with the last change first."""
    files = brain.hook_journal.events.latest_targets(
        CHANGES, limit=_LATEST_CHANGES, among=_LATEST_EVENTS
    )
    return list(dict.fromkeys(files))

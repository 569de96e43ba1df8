"""The cards about the part of the repository that a session works in."""

from __future__ import annotations

import os

from lessons_kb.brain.brain import Brain
from lessons_kb.brain.brains import Brains
from lessons_kb.errors import GitError, StorageError
from lessons_kb.find.search import complete_query, find_hits
from lessons_kb.model import Query
from lessons_kb.process.git import list_changed

_MOST_FILES = 40
"""More changed files are a merge or a generated tree, and say nothing about the work."""
_SECONDS = 0.25
"""A session's start waits so long for each answer of git."""


def find_cards_at_hand(brains: Brains, directory: str, *, most: int) -> list[tuple[Brain, str]]:
    """Return brain and id of the cards nearest to the working directory and the changed files.

    The best is first. The list is empty at the top of a repository without changes.
    """
    below = os.path.relpath(directory, brains.directory).replace(os.sep, "/")
    folder = "" if below == "." or below.startswith("..") else below
    try:
        changed = list_changed(directory, seconds=_SECONDS)
    except GitError:
        changed = []
    files = changed if len(changed) <= _MOST_FILES else []
    if not (folder or files):
        return []
    text = "\n".join([folder, *files])
    query = complete_query(brains, Query(text=text, paths=tuple(files), limit=most))
    try:
        hits = find_hits(brains, query).hits
    except StorageError:
        return []
    return [(brain, hit.card.id) for brain, hit in hits[:most] if hit.score > 0]

"""Check whether git merges a card key by key."""

from __future__ import annotations

from lessons_kb.on_demand import PROCESS_GIT, load
from lessons_kb.store.repositories import git_top

DRIVER = "lessons"
"""Name of the merge driver."""


def merges_cards(root: str, path: str) -> bool:
    """Return whether git merges a card of the brain at ``root`` with our merge driver."""
    if git_top(root) is None:
        return False
    driver: str = load(PROCESS_GIT).read_merge_attribute(root, path)
    return driver == DRIVER

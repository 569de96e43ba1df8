"""Check whether git merges a card key by key."""

from __future__ import annotations

from lessons_kb.process import git
from lessons_kb.store.repositories import git_top

DRIVER = "lessons"
"""Name of the merge driver."""


def merges_cards(root: str, path: str) -> bool:
    """Return whether git merges a card of the brain at ``root`` with our merge driver."""
    return git_top(root) is not None and git.read_merge_attribute(root, path) == DRIVER

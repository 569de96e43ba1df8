"""What a change in git's eyes is about, without what the brain itself says about it."""

from __future__ import annotations

from lessons_kb.storage.locate import CACHE_NAME, CONFIG_NAME, state_home
from lessons_kb.storage.scan import IGNORE_NAME, SUFFIXES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from lessons_kb.brain.brain import Brain
    from lessons_kb.process.git import Diff

OWN_FILES = (
    *(f"**/*{suffix}" for suffix in SUFFIXES),
    f"**/{CONFIG_NAME}",
    f"**/{IGNORE_NAME}",
    f"**/{CACHE_NAME}/**",
)
"""Globs of a brain's own files: cards, notes and reviews, settings, caches."""


def read_change(brain: Brain, revision: str = "") -> Diff:
    """Return the diff to a revision, or of the working tree, without files of the brain itself.

    A card that comes with its fix would else be found by its own words and be its own evidence.
    """
    from lessons_kb.process.git import read_diff

    own = [(layer.root, glob) for layer in brain.layers for glob in OWN_FILES]
    drafts = (state_home(), "**")
    return read_diff(brain.directory, revision or None, without=[*own, drafts])

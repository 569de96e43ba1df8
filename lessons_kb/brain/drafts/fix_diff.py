"""The change that fixed something, as git tells it: what differs from the moment it failed."""

from __future__ import annotations

import os
from collections.abc import Sequence

from lessons_kb.brain.layer import Layer
from lessons_kb.cards.file_kinds import in_mapped_folder
from lessons_kb.errors import GitError
from lessons_kb.learn.draft_text import names_of, split_files
from lessons_kb.process.git import read_diff
from lessons_kb.store.locate import CONFIG_NAME, git_top
from lessons_kb.store.scan import IGNORE_NAME, SUFFIXES

_SLACK_SECONDS = 2.0
"""File systems and clocks round."""
_OURS = frozenset({CONFIG_NAME, IGNORE_NAME})
"""A brain's own settings fix no test."""


def find_fix(
    directory: str,
    *,
    since: float,
    until: float | None = None,
    files: Sequence[str] = (),
    brains: Sequence[Layer] = (),
) -> str:
    """Return the diff of what changed in a work tree after ``since``, "" if git knows nothing.

    Times in seconds since the epoch. Commits made since count as well as what lies in the work
    tree, and of that only files written since; if any of them rest since ``until``, those alone.
    Where ``files`` are known to be the change, their parts come first. What was written into
    ``brains`` is no part of it: a lesson fixes nothing.
    """
    top = git_top(directory) or directory
    parts: dict[str, str] = {}
    times: dict[str, float] = {}
    for revision in (f"HEAD@{{{int(since)}}}", None):
        try:
            text = read_diff(directory, revision).text
        except GitError:
            continue
        for part in split_files(text):
            name = names_of(part)[-1]
            if _is_lore(os.path.join(top, name), brains, top):
                continue
            written = _written(os.path.join(top, name), unknown=until or since)
            if name and name not in parts and written >= since - _SLACK_SECONDS:
                parts[name], times[name] = part, written
    if until is not None:
        settled = [name for name in parts if times[name] <= until + _SLACK_SECONDS]
        parts = {name: parts[name] for name in settled} or parts
    first = set(files)
    ordered = sorted(parts, key=lambda name: (name not in first, name))
    return "".join(parts[name] for name in ordered)


def _is_lore(path: str, brains: Sequence[Layer], top: str) -> bool:
    """Return whether a file is one of a brain's own.

    Of a brain that is the whole project, or more, that is what lies in its folders of cards:
    its notes may be the project's documentation.
    """
    if os.path.basename(path) in _OURS:
        return True
    for layer in brains:
        if path.startswith(layer.root + os.sep) and path.endswith(SUFFIXES):
            inside = os.path.relpath(path, layer.root).replace(os.sep, "/")
            alone = layer.root.startswith(top + os.sep)
            if alone or in_mapped_folder(inside, layer.settings.folders):
                return True
    return False


def _written(path: str, *, unknown: float) -> float:
    """Return when a file was written, ``unknown`` for one that is gone."""
    try:
        return os.stat(path).st_mtime
    except OSError:
        return unknown

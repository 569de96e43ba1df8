"""Find the change in a work tree that fixed a mistake."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import NamedTuple

from lessons_kb.brain.brain import Brain
from lessons_kb.cards.file_kinds import in_mapped_folder
from lessons_kb.errors import GitError
from lessons_kb.mining.draft_text import names_of, split_files
from lessons_kb.process.git import read_diff
from lessons_kb.store.files import relative
from lessons_kb.store.locations import CONFIG_NAME
from lessons_kb.store.repositories import git_top
from lessons_kb.store.scan import IGNORE_NAME, SUFFIXES

_SLACK_SECONDS = 2.0
"""In seconds: a tolerance for the rounding of clocks and of file systems."""


_SETTINGS_FILES = frozenset({CONFIG_NAME, IGNORE_NAME})
"""The settings of a brain, which never fix a test."""


class _FileDiff(NamedTuple):
    """The diff of one file, and the time at which the file was written."""

    diff: str
    written: float


def find_fix(
    directory: str,
    *,
    since: float,
    until: float | None = None,
    files: Sequence[str] = (),
    brains: Sequence[Brain] = (),
) -> str:
    """Return the diff of the changes in a work tree after ``since``, or "" if there are none.

    Times are in seconds since the epoch. The diff contains the commits since then, and the changes
    of the work tree whose files were written since then. Files that were written after ``until``
    belong to later work. They are left out unless no other file is left. The diffs of ``files``
    come first. Files of ``brains`` are left out, because a written lesson fixes nothing.
    """
    top = git_top(directory) or directory
    changed: dict[str, _FileDiff] = {}
    for revision in (f"HEAD@{{{int(since)}}}", None):
        try:
            diffs = split_files(read_diff(directory, revision).text)
        except GitError:
            continue
        for diff in diffs:
            name = names_of(diff)[-1]
            path = os.path.join(top, name)
            if not name or name in changed or _belongs_to_brain(path, brains, top):
                continue
            try:
                written = os.stat(path).st_mtime
            except OSError:
                written = until or since
            if written >= since - _SLACK_SECONDS:
                changed[name] = _FileDiff(diff, written)
    latest = (until or 0) + _SLACK_SECONDS
    in_time = [name for name, file in changed.items() if file.written <= latest]
    ordered = sorted(in_time or changed, key=lambda name: (name not in files, name))
    return "".join(changed[name].diff for name in ordered)


def _belongs_to_brain(path: str, brains: Sequence[Brain], top: str) -> bool:
    """Return whether a file belongs to a brain.

    If a brain is the whole project or more, only its folders of cards belong to it, because its
    notes may be the documentation of the project.
    """
    if os.path.basename(path) in _SETTINGS_FILES:
        return True
    if not path.endswith(SUFFIXES):
        return False
    for brain in brains:
        if not path.startswith(brain.root + os.sep):
            continue
        is_inside_project = brain.root.startswith(top + os.sep)
        if is_inside_project or in_mapped_folder(
            relative(brain.root, path), brain.settings.folders
        ):
            return True
    return False

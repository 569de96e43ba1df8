"""The change that mended something, as git tells it: what differs from the moment it failed."""

from __future__ import annotations

import os

from lessons_kb.errors import GitError
from lessons_kb.learn.drafts import names_of, split_files
from lessons_kb.storage.locate import CONFIG_NAME, git_top
from lessons_kb.storage.scan import IGNORE_NAME

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

_SLACK_SECONDS = 2.0
"""File systems and clocks round."""
_OURS = frozenset({CONFIG_NAME, IGNORE_NAME})
"""A brain's own settings mend no test."""


def find_fix(
    directory: str, *, since: float, until: float | None = None, files: Sequence[str] = ()
) -> str:
    """Return the diff of what changed in a work tree after ``since``, "" if git knows nothing.

    Times in seconds since the epoch. Commits made since count as well as what lies in the work
    tree, and of that only files written since; if any of them rest since ``until``, those alone.
    Where ``files`` are known to be the change, their parts come first.
    """
    from lessons_kb.process.git import read_diff

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
            if os.path.basename(name) in _OURS:
                continue
            written = _written(os.path.join(top, name), unknown=until or since)
            if name and name not in parts and written >= since - _SLACK_SECONDS:
                parts[name], times[name] = part, written
    if until is not None:
        settled = [name for name in parts if times[name] <= until + _SLACK_SECONDS]
        parts = {name: parts[name] for name in settled} or parts
    wanted = set(files)
    ordered = sorted(parts, key=lambda name: (name not in wanted, name))
    return "".join(parts[name] for name in ordered)


def _written(path: str, *, unknown: float) -> float:
    """Return when a file was written, ``unknown`` for one that is gone."""
    try:
        return os.stat(path).st_mtime
    except OSError:
        return unknown

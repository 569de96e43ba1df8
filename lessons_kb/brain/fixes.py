"""The change that mended something, as git tells it: what differs from the moment it failed."""

from __future__ import annotations

import os

from lessons_kb.errors import GitError
from lessons_kb.learn.drafts import names_of, split_files

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

_SLACK_SECONDS = 2.0
"""File systems and clocks round."""


def find_fix(directory: str, *, since: float, files: Sequence[str] = ()) -> str:
    """Return the diff of what changed in a work tree after ``since``, "" if git knows nothing.

    ``since`` in seconds since the epoch. Commits made since count as well as what lies in the
    work tree, and of that only files written since. Where ``files`` are known to be the change,
    their parts come first.
    """
    from lessons_kb.process.git import read_diff

    parts: dict[str, str] = {}
    for revision in (f"HEAD@{{{int(since)}}}", None):
        try:
            text = read_diff(directory, revision).text
        except GitError:
            continue
        for part in split_files(text):
            names = names_of(part)
            if names and names[-1] not in parts and _is_written_since(directory, names, since):
                parts[names[-1]] = part
    wanted = set(files)
    ordered = sorted(parts, key=lambda name: (name not in wanted, name))
    return "".join(parts[name] for name in ordered)


def _is_written_since(directory: str, names: Sequence[str], since: float) -> bool:
    """Return whether a file was written since; one that is gone may have been."""
    from lessons_kb.storage.locate import git_top

    top = git_top(directory) or directory
    try:
        return os.stat(os.path.join(top, names[-1])).st_mtime >= since - _SLACK_SECONDS
    except OSError:
        return True

"""The names of files that commits add, change, remove or rename, as git prints them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from lessons_kb.values import frozen

HEAD_MARK = "\x01"
"""The mark at the start of the head of a commit. No status starts with it."""


class NameChange(NamedTuple):
    """One file that a commit added, changed, removed or renamed."""

    status: str
    """``A``, ``M``, ``D``, ``R``, or another letter that git uses."""
    path: str
    """The path before the commit. For an added file, it is the path after the commit."""
    target: str
    """The path after a rename; "" if the file was not renamed."""


@frozen
class NamedCommit:
    """A commit, with the names of the files that it touched."""

    id: str
    day: str
    """The ISO date of the commit."""
    changes: tuple[NameChange, ...]


def parse_name_changes(output: bytes) -> Iterator[NamedCommit]:
    """Yield the commits of ``git log -z --name-status`` whose heads are mark, hash and day."""
    tokens = iter(output.decode("utf-8", "surrogateescape").split("\0"))
    commit, day = "", ""
    changes: list[NameChange] = []
    for raw in tokens:
        token = raw.lstrip("\n")
        if token.startswith(HEAD_MARK):
            if commit:
                yield NamedCommit(id=commit, day=day, changes=tuple(changes))
            commit, _, day = token[1:].partition(" ")
            changes = []
        elif token:
            status = token[0]
            path = next(tokens, "")
            target = next(tokens, "") if status in "RC" else ""
            changes.append(NameChange(status, path, target))
    if commit:
        yield NamedCommit(id=commit, day=day, changes=tuple(changes))

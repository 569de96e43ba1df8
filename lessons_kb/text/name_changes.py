"""The names of files that commits add, change, remove or rename, as git prints them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from lessons_kb.values import frozen

HEAD_MARK = "\x01"
"""Begins the head of a commit; no status does."""


class NameChange(NamedTuple):
    """One file that a commit added, changed, removed or renamed."""

    status: str
    """``A``, ``M``, ``D``, ``R``, or another letter of git's."""
    path: str
    """The path before the commit; of an addition the path after it."""
    target: str
    """The path after a rename, else ""."""


@frozen
class NamedCommit:
    """A commit and the names that it touched."""

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

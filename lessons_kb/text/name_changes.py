"""The names of files that commits add, change, remove or rename, as git prints them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from lessons_kb.values import frozen

UNREADABLE = "\ufffd"
"""The character in place of a byte that is not UTF-8."""
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
    blob: str
    """The hash of the content after the commit, or of the content that the commit removed."""


@frozen
class NamedCommit:
    """A commit, with the names of the files that it touched."""

    id: str
    day: str
    """The ISO date of the commit."""
    parents: tuple[str, ...]
    changes: tuple[NameChange, ...]


def parse_name_changes(parts: Iterable[bytes]) -> Iterator[NamedCommit]:
    """Yield the commits of ``git log -z --raw --no-abbrev`` whose heads are mark, hash, day and
    parents.

    ``parts`` is the output of git, split anywhere.
    """
    tokens = _split(parts)
    head: list[str] = []
    changes: list[NameChange] = []
    for raw in tokens:
        token = raw.lstrip("\n")
        if token[:1] == ":":
            _mode, _new_mode, before, after, status = token.split(" ")
            path = next(tokens, "")
            if status == "D":
                changes.append(NameChange("D", path, "", before))
            else:
                target = next(tokens, "") if status[0] in "RC" else ""
                changes.append(NameChange(status[0], path, target, after))
        elif token[:1] == HEAD_MARK:
            if head:
                yield _make_commit(head, changes)
            head = token[1:].split(" ")
            changes = []
    if head:
        yield _make_commit(head, changes)


def _make_commit(head: Sequence[str], changes: Iterable[NameChange]) -> NamedCommit:
    commit, day, *parents = head
    parents = [parent for parent in parents if parent]  # git ends the head of a root with a space
    return NamedCommit(id=commit, day=day, parents=tuple(parents), changes=tuple(changes))


def _split(parts: Iterable[bytes]) -> Iterator[str]:
    """Yield the texts that end with a NUL byte in a text that comes in parts."""
    rest = b""
    for part in parts:
        whole, end, rest = (rest + part).rpartition(b"\0")
        if end:
            yield from decode_names(whole)


def decode_names(names: bytes) -> list[str]:
    """Return names that are separated by NUL bytes.

    A byte that is not UTF-8 becomes the character UNREADABLE, which can be stored and compared.
    """
    return names.decode("utf-8", "replace").split("\0")

"""What a change adds: pieces of files before and after."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

_HUNK = re.compile(r"@@ -\d+(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")
_NO_NEWLINE = "\\"


@dataclass(frozen=True, kw_only=True, slots=True)
class Change:
    """One piece of a file, before and after; whole lines where they are known."""

    path: str
    """POSIX, relative to the project root where it lies below it."""
    before: str = ""
    after: str
    line: int = 1
    """1-based, in the changed file, of the first line of ``after``; 0 = not known."""
    prefix: str = ""
    suffix: str = ""
    """The rest of the file around the piece, if it is known: what syntax is read from."""


def parse_diff(text: str) -> Iterator[Change]:
    """Yield the pieces of a unified diff as git writes it, one for each hunk that adds a line.

    Hunks are followed by their counts: an added line may look like a header.
    """
    path, line, old, new = "", 0, 0, 0
    before: list[str] = []
    after: list[str] = []
    adds = False
    for row in text.split("\n"):
        if old <= 0 and new <= 0:
            if adds:
                yield _piece(path, before, after, line)
            before, after, adds = [], [], False
            if row.startswith("+++ "):
                path = _path(row[4:])
            elif hunk := _HUNK.match(row):
                old, line, new = int(hunk[1] or 1), int(hunk[2]), int(hunk[3] or 1)
            continue
        mark, rest = row[:1], row[1:]
        if mark == _NO_NEWLINE:
            continue
        if mark != "+":
            before.append(rest)
            old -= 1
        if mark != "-":
            after.append(rest)
            new -= 1
        adds = adds or mark == "+"
    if adds:
        yield _piece(path, before, after, line)


def place_in(change: Change, text: str) -> Change:
    """Return a piece with what stands around it in its changed file, if its lines are there."""
    lines = text.splitlines(keepends=True)
    start, count = change.line - 1, change.after.count("\n")
    prefix, piece = "".join(lines[:start]), "".join(lines[start : start + count])
    if piece.rstrip("\n") != change.after.rstrip("\n"):
        return change
    return replace(change, prefix=prefix, suffix="".join(lines[start + count :]))


def _piece(path: str, before: list[str], after: list[str], line: int) -> Change:
    texts = ("".join(f"{row}\n" for row in rows) for rows in (before, after))
    return Change(path=path, before=next(texts), after=next(texts), line=line)


def _path(name: str) -> str:
    """Return the path that a ``+++`` line names; git puts odd ones in quotes."""
    name = name.split("\t", maxsplit=1)[0]
    if name.startswith('"'):
        raw = name.strip('"').encode("latin-1", "replace").decode("unicode_escape")
        name = raw.encode("latin-1", "replace").decode("utf-8", "replace")
    return name.removeprefix("b/")

"""Parse patches: git's unified diffs, and the format of patches that agents write."""

from __future__ import annotations

import re
from collections.abc import Iterator

from lessons_kb.values import frozen

_HUNK = r"@@ -\d+(?:,(\d+))? \+(\d+)(?:,(\d+))?"
_NAME = r"(?:\+\+\+|---) ([^\t]*)"
_AGENTS_NAME = r"\*\*\* (?:(?:Update|Add|Delete) File|Move to): (.*)"


@frozen
class Hunk:
    """A block of consecutive lines of one file, before and after a change."""

    path: str
    line: int
    """The 1-based number of the first line in the changed file; 0 if it is unknown."""
    rows: tuple[tuple[str, str], ...]
    """The mark (``-``, ``+`` or a blank) and the text of each line."""

    @property
    def before(self) -> str:
        """The lines before the change, each with a line end."""
        return "".join(f"{text}\n" for mark, text in self.rows if mark != "+")

    @property
    def after(self) -> str:
        """The lines after the change, each with a line end."""
        return "".join(f"{text}\n" for mark, text in self.rows if mark != "-")

    def added(self) -> Iterator[tuple[int, str]]:
        """Yield each added line after its number in the changed file, which is 0 if unknown."""
        number = self.line
        for mark, text in self.rows:
            if mark == "+":
                yield number, text
            number += self.line > 0 and mark != "-"


def parse_hunks(text: str, *, path: str = "") -> Iterator[Hunk]:
    """Yield the hunks of a unified diff, or of a patch in the ``*** Update File:`` format.

    ``path`` is the path of hunks before the first header. The counts in the header of a hunk
    determine its end, because an added line may look like a header.
    """
    if not re.search(r"(?m)^@@ -\d+", text):
        yield from _parse_agents_hunks(text, path)
        return
    line = old = new = 0
    rows: list[tuple[str, str]] = []
    for row in text.split("\n"):
        if old > 0 or new > 0:
            mark = row[:1] if row[:1] in ("+", "-", "\\") else " "
            if mark != "\\":
                rows.append((mark, row[1:]))
                old = old - (mark != "+")
                new = new - (mark != "-")
            continue
        if rows:
            yield Hunk(path=path, line=line, rows=tuple(rows))
            rows = []
        if name := re.match(_NAME, row):
            path = path if name[1] == "/dev/null" else _plain_name(name[1])
        elif hunk := re.match(_HUNK, row):
            line = int(hunk[2])
            old = 1 if hunk[1] is None else int(hunk[1])
            new = 1 if hunk[3] is None else int(hunk[3])
    if rows:
        yield Hunk(path=path, line=line, rows=tuple(rows))


def _plain_name(name: str) -> str:
    """Return the path in a header. Git quotes a path with unusual characters."""
    name = name.strip()
    if name.startswith('"'):
        raw = name.strip('"').encode("latin-1", "replace").decode("unicode_escape", "replace")
        name = raw.encode("latin-1", "replace").decode("utf-8", "replace")
    return name[2:] if name.startswith(("a/", "b/")) else name


def _parse_agents_hunks(text: str, path: str) -> Iterator[Hunk]:
    rows: list[tuple[str, str]] = []
    is_begun = False
    for row in (*text.splitlines(), "*** "):
        if not row.startswith(("@@", "*** ")):
            if is_begun and row[:1] != "\\":
                rows.append((row[:1] if row[:1] in ("+", "-") else " ", row[1:]))
            continue
        if rows:
            yield Hunk(path=path, line=0, rows=tuple(rows))
        name = re.match(_AGENTS_NAME, row)
        path = name[1].strip() if name else path
        rows = []
        is_begun = name is not None or row.startswith("@@")

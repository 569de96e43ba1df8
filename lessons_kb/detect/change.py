"""A changed part of a file."""

from __future__ import annotations

from lessons_kb.values import frozen


@frozen
class Change:
    """A changed part of a file, before and after; complete lines if they are known."""

    path: str
    """A POSIX path, relative to the project root if it is below it."""
    before: str = ""
    after: str
    line: int = 1
    """The 1-based number of the first line of ``after`` in the changed file; 0 if unknown."""
    prefix: str = ""
    suffix: str = ""
    """The rest of the file around the part, if known. Syntax is parsed with it."""

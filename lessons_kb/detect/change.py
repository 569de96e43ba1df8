"""A changed part of a file."""

from __future__ import annotations

from lessons_kb.values import frozen


@frozen
class Change:
    """A changed part of a file, before and after. It has complete lines if they are available."""

    path: str
    """A POSIX path, which is relative to the project root if the file is below it."""
    before: str = ""
    after: str
    line: int = 1
    """The 1-based number of the first line of ``after`` in the changed file, or 0 if it is
    unknown.
    """
    prefix: str = ""
    suffix: str = ""
    """The text of the file after the part, and ``prefix`` before it, if available. Syntax is parsed
    with both.
    """

"""Number the names of files that share a stem."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count


def numbered_names(stem: str, suffix: str = ".md") -> Iterator[str]:
    """Yield an endless sequence of names with one stem: ``stem.md``, ``stem-2.md`` ..."""
    yield f"{stem}{suffix}"
    yield from (f"{stem}-{number}{suffix}" for number in count(2))

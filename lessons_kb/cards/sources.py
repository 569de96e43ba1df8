"""Read the `sources` of a card, which name the origins of its lesson.

Sources are written in the form of the Open Knowledge Format: a list of mappings with ``resource``
and, if available, ``title``, ``last_modified`` and ``quote``. ``edit_sources`` writes this list.
"""

from __future__ import annotations

from collections.abc import Iterable

from lessons_kb.cards.keys import HeaderEntry, Value, canonical, split_header
from lessons_kb.cards.read_header import read_header
from lessons_kb.model import Source
from lessons_kb.text.sanitize import clean_line

KEY = "sources"
MAX_SOURCES = 20
"""The maximum number of sources of a card that are read."""
FIELDS = ("title", "last_modified", "quote")
"""The keys of a source besides ``resource``, in the order in which they are written."""


def read_sources(entries: Iterable[HeaderEntry]) -> tuple[Source, ...]:
    """Return the sources in the entries of a header. A plain text is read as a ``resource``."""
    entry = find_entry(entries)
    if entry is None:
        return ()
    sources = [read_source(value) for value in entry.values[:MAX_SOURCES]]
    return tuple(source for source in sources if source.resource)


def read_sources_of(text: str) -> tuple[Source, ...]:
    """Return the sources of a card, which is given as its text."""
    return read_sources(read_header(split_header(text)).entries)


def find_entry(entries: Iterable[HeaderEntry]) -> HeaderEntry | None:
    """Return the entry for `sources` that counts, which is the last one."""
    same = [entry for entry in entries if canonical(entry.key) == KEY]
    return same[-1] if same else None


def read_source(value: Value) -> Source:
    """Return the source in one item of a header."""
    if value.holds is None:
        return Source(resource=clean_line(value.text or "").strip())
    texts: dict[str, str] = {}
    for name, text in value.holds:
        if isinstance(text, str):
            texts[canonical(name).replace("-", "_")] = " ".join(text.split())
    fields = {name: texts.get(name, "") for name in FIELDS}
    return Source(resource=texts.get("resource", ""), **fields)

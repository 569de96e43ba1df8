"""Names of files that are about their folder."""

from __future__ import annotations


def is_note_name(name: str) -> bool:
    """Return whether a file of this name is about its folder and never a card in it."""
    return name.startswith("_") or name.casefold().partition(".")[0] in ("readme", "index")

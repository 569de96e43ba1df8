"""Provide the cards for which the environment vouches, for `trust --from-environment`."""

from __future__ import annotations

import os

from lessons_kb.cli.output import print_answer
from lessons_kb.collection.pinned_cards import pin_cards
from lessons_kb.text.sanitize import counted, visible

_HASH_DIGITS = 12
_MAX_NAMED = 5


def pin_and_report(folder: str) -> None:
    """Copy the cards to the user's own brain, and print the files that are not used."""
    pinned = pin_cards(folder, os.environ)
    files = counted(len(pinned.copied), "file")
    lines = [f"{files} of {visible(pinned.root)} as of {pinned.commit[:_HASH_DIGITS]}"]
    if pinned.silent:
        names = ", ".join(map(visible, pinned.silent[:_MAX_NAMED]))
        more = len(pinned.silent) - _MAX_NAMED
        rest = f" and {more} more" if more > 0 else ""
        lines.append(f"silent, because they are newer or changed: {names}{rest}")
    data = {
        "brain": pinned.root,
        "commit": pinned.commit,
        "files": list(pinned.copied),
        "silent": list(pinned.silent),
    }
    print_answer(data, *lines)

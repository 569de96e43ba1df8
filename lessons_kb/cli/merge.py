"""Git's merge driver: read the words that git passes, merge, and report by the exit code."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from lessons_kb.collection.git_merge import merge_files
from lessons_kb.errors import LessonsError
from lessons_kb.text.sanitize import visible

_NAMES = ("%O", "%A", "%B", "%L", "%P", "%S", "%X", "%Y")
"""What git puts in place of each: base, ours, theirs, marker size, path, and their labels."""
_FILES = 3
_LABELS = {"%X": "ours", "%S": "base", "%Y": "theirs"}


def run(words: Sequence[str]) -> int:
    """Merge as git asks, words in the order of ``_NAMES``, and return the exit code.

    0: merged; 1: conflict markers stand in the file; 2: nothing was merged, our version stands.
    Git takes anything but 0 for a conflict. An older git leaves names it does not know.
    """
    if len(words) < _FILES:
        print(
            "lessons: merge-driver is run by git; `lessons install git` sets it up", file=sys.stderr
        )
        return 2
    given = {name: word for name, word in zip(_NAMES, words, strict=False) if word != name}
    base, ours, theirs = words[:_FILES]
    size = given.get("%L", "")
    try:
        conflict = merge_files(
            base,
            ours,
            theirs,
            labels=[given.get(n) or usual for n, usual in _LABELS.items()],
            marker_size=int(size) if size.isdecimal() else 7,
        )
    except LessonsError as error:
        message = f"lessons: {given.get('%P', ours)} was not merged: {error}"
        print(visible(message), file=sys.stderr)
        return 2
    return int(conflict)

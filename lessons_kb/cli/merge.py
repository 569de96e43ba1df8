"""The merge driver of git: read the arguments, merge, and report by the exit code."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from lessons_kb.collection.git_merge import merge_files
from lessons_kb.errors import LessonsError
from lessons_kb.text.sanitize import visible

_NAMES = ("%O", "%A", "%B", "%L", "%P", "%S", "%X", "%Y")
"""The placeholders that git replaces: base, ours, theirs, marker size, path, and three labels."""
_FILES = 3
_LABELS = {"%X": "ours", "%S": "base", "%Y": "theirs"}


def run(words: Sequence[str]) -> int:
    """Merge the files that git names, in the order of ``_NAMES``, and return the exit code.

    The code is 0 if the files were merged, and 1 if the file contains conflict markers. It is 2 if
    nothing was merged and the file contains our version. Git treats any code other than 0 as a
    conflict. An older git passes an unsupported placeholder unchanged.
    """
    if len(words) < _FILES:
        print(
            "lessons: merge-driver is run by git; `lessons install git` sets it up", file=sys.stderr
        )
        return 2
    pairs = zip(_NAMES, words, strict=False)
    values = {name: word for name, word in pairs if word != name}
    base, ours, theirs = words[:_FILES]
    size = values.get("%L", "")
    try:
        conflict = merge_files(
            base,
            ours,
            theirs,
            labels=[values.get(name) or default for name, default in _LABELS.items()],
            marker_size=int(size) if size.isdecimal() else 7,
        )
    except LessonsError as error:
        message = f"lessons: {values.get('%P', ours)} was not merged: {error}"
        print(visible(message), file=sys.stderr)
        return 2
    return int(conflict)

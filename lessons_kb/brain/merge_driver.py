"""Git's merge driver at work: three versions of a card become one, key by key."""

from __future__ import annotations

import os
from collections.abc import Sequence

from lessons_kb.cards.merge import merge_cards
from lessons_kb.process.git_merge import merge_lines
from lessons_kb.store.agent_settings import overwrite, read_settings_file


def merge_files(
    base: str, ours: str, theirs: str, *, labels: Sequence[str], marker_size: int
) -> bool:
    """Merge three versions of a card into the file ``ours``; return whether it conflicts.

    ``labels`` name ours, base and theirs in conflict markers. What is no text in UTF-8 is merged
    by lines alone. Raises GitError or StorageError, and then ``ours`` is as it was.
    """
    versions = [read_settings_file(path) or b"" for path in (base, ours, theirs)]
    here = os.getcwd()

    def by_lines(base: bytes, ours: bytes, theirs: bytes) -> tuple[bytes, bool]:
        return merge_lines(base, ours, theirs, labels=labels, marker_size=marker_size, cwd=here)

    def by_text(base: str, ours: str, theirs: str) -> tuple[str, bool]:
        merged, conflict = by_lines(base.encode(), ours.encode(), theirs.encode())
        return merged.decode(), conflict

    try:
        texts = [data.decode() for data in versions]
    except UnicodeDecodeError:
        data, conflict = by_lines(*versions)
    else:
        merged = merge_cards(*texts, merge_text=by_text)
        data, conflict = merged.text.encode(), merged.conflict
    overwrite(ours, data)
    return conflict

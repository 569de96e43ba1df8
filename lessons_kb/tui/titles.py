"""Shorten the titles of a list to its width, so that different titles stay different."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from rich.cells import cell_len, set_cell_size

_PREFIX = re.compile(r"(\w+)(?:\(([^()]*)\))?!?: +(?=\S)")
"""The prefix of a commit's subject, such as ``fix:`` or ``fix(api):``."""
_CUT = "…"


def strip_shared_prefix(titles: Sequence[str]) -> list[str]:
    """Return titles without the kind of commit at the start, such as ``fix:``, if all share it.

    The scope is preserved, so ``fix(api): x`` becomes ``api: x``.
    """
    prefixes = [_PREFIX.match(title) for title in titles]
    kinds = {prefix[1] if prefix else "" for prefix in prefixes}
    if len(titles) < 2 or len(kinds) != 1 or "" in kinds:  # noqa: PLR2004 - one is not shared
        return list(titles)
    shorter: list[str] = []
    for title, prefix in zip(titles, prefixes, strict=True):
        scope = prefix[2] if prefix else ""
        rest = title[prefix.end() :] if prefix else title
        shorter.append(f"{scope}: {rest}" if scope else rest)
    return shorter


def fit_titles(titles: Sequence[str], width: int) -> list[str]:
    """Return titles that take at most ``width`` columns of a terminal.

    The end of a long title is cut off. If two different titles would then look the same, both are
    cut in the middle.
    """
    cut_at_end = [_cut_end(title, width) for title in titles]
    looks = Counter(dict(zip(titles, cut_at_end, strict=True)).values())
    fitted: list[str] = []
    for title, shown in zip(titles, cut_at_end, strict=True):
        is_ambiguous = shown != title and looks[shown] > 1
        fitted.append(_cut_middle(title, width) if is_ambiguous else shown)
    return fitted


def _cut_end(title: str, width: int) -> str:
    if cell_len(title) <= width:
        return title
    return set_cell_size(title, max(width - 1, 0)).rstrip() + _CUT


def _cut_middle(title: str, width: int) -> str:
    """Return the beginning and the end of a title, with half of the width each."""
    room = max(width - 1, 0)
    head = set_cell_size(title, room // 2).rstrip()
    start = len(title)
    while start and cell_len(title[start - 1 :]) <= room - cell_len(head):
        start -= 1
    tail = title[start:]
    begins_within_word = start > 0 and not title[start - 1].isspace()
    first_space = tail.find(" ")
    if begins_within_word and 0 <= first_space < len(tail) // 2:
        tail = tail[first_space:]
    return f"{head}{_CUT}{tail.lstrip()}"

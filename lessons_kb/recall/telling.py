"""Whether a sentence tells something as done: not as left, put off or taken back."""

from __future__ import annotations

import re
from functools import cache, lru_cache

from lessons_kb.recall import equivalents as table
from lessons_kb.recall.wanted import DO

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from lessons_kb.recall.wanted import Wanted

_DOUBLE_SIOS = "".join(map(chr, range(0xAC00 + 20, 0xD7A4, 28)))  # syllables of the past tense
_CLAUSE = (
    r";\s+|,?\s+[–—-]\s+|,?\s+(?=(?:but|though|although|however|except|because|since|while|which)\s)|"
    rf"(?:(?<=지만)|(?<=으나)|(?<=는데)|(?<=[{_DOUBLE_SIOS}]고)|(?<=하고)|(?<=으며)|(?<=하며)|(?<=되고)),?\s+|"
    r"[\uff0c\uff1b]"
)
_SHORTEST_CLAUSE = 3


def opens_what_is_left(sentence: str) -> bool:
    """Tell whether a heading such as "What I did not do:" stands above a list."""
    is_heading = sentence.startswith("#") or sentence.rstrip(" *_").endswith(":")
    return is_heading and (says(table.NOT_DONE, sentence) or says(table.STILL_OPEN, sentence))


def is_done(text: str, wanted: Wanted) -> bool:
    """Tell whether a clause speaks of something done, not of something left or put off."""
    if says(table.PUT_OFF, text):
        return False
    if wanted.aim != DO:
        return True
    return not (says(table.NOT_DONE, text) or (not wanted.told_with_not and _denies(text)))


@lru_cache(maxsize=1024)
def says(pattern: str, text: str) -> bool:
    """Tell whether a text holds one of the patterns for lower case."""
    return bool(_searcher(pattern)(text.lower()))


@lru_cache(maxsize=1024)
def split_clauses(sentence: str) -> tuple[str, ...]:
    """Return the parts of a sentence that a "not" or a "later" reaches no further than."""
    clauses: list[str] = []
    for clause in re.split(_CLAUSE, " ".join(sentence.split())):
        if clauses and len(clause.split()) < _SHORTEST_CLAUSE and clause.isascii():
            clauses[-1] += f", {clause}"
        elif clause.strip():
            clauses.append(clause)
    return tuple(clauses)


@lru_cache(maxsize=1024)
def _denies(text: str) -> bool:
    low = text.lower()
    found = _searcher(table.DENIES)(low)
    return bool(found and not _searcher(table.RELATIVE)(low[: found.start()]))


@cache
def _searcher(pattern: str) -> Callable[[str], re.Match[str] | None]:
    return re.compile(pattern).search

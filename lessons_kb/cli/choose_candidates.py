"""Choose candidates of `lessons mine` by their numbers or commits, as `--draft` names them."""

from __future__ import annotations

import re
from collections.abc import Sequence

from lessons_kb.errors import InputError
from lessons_kb.mining.candidates import Candidate
from lessons_kb.text.sanitize import clean_line

_LEAST_DIGITS = 7
"""The minimum number of digits of a commit. A shorter number is the number of a candidate."""
_NUMBERS = re.compile(r"(\d{1,6})(?:-(\d{1,6}))?")
"""A number of a candidate, or a range of numbers."""


def choose_candidates(
    candidates: Sequence[Candidate], text: str, numbers: Sequence[int], most: int
) -> list[int]:
    """Return the positions of the candidates that ``text`` names, counted from 0.

    A number alone means the first candidates: ``10``. A list names candidates by their numbers or
    commits: ``2,5-7,1a2b3c4d``. ``numbers`` has the number of each candidate, and ``most`` is
    the highest number, which may be that of a candidate with a draft. Raises InputError for
    a candidate that does not exist.
    """
    text = text.strip()
    if text.isdecimal() and len(text) < _LEAST_DIGITS:
        return list(range(min(int(text), len(candidates))))
    positions: dict[int, None] = {}
    for part in filter(None, (part.strip() for part in text.split(","))):
        positions.update(dict.fromkeys(_find(candidates, part, numbers, most)))
    return list(positions)


def read_count(text: str | None, *, option: str) -> int:
    """Return the number in the value of ``--draft``, beside an option that takes no list."""
    if text is None:
        return 0
    if not text.strip().isdecimal():
        raise InputError(f"with {option}, --draft takes a number, not {text!r}")
    return int(text)


def _find(
    candidates: Sequence[Candidate], part: str, numbers: Sequence[int], most: int
) -> Sequence[int]:
    """Return the positions that a number, a range of numbers or a commit names."""
    match = _NUMBERS.fullmatch(part)
    if match:
        first, last = int(match[1]), int(match[2] or match[1])
        named = [position for position, number in enumerate(numbers) if first <= number <= last]
        if not named and first <= last <= most:
            raise InputError(
                f"candidate {part} has a draft or a card already; see `lessons review`"
            )
        if not named or last > most:
            raise InputError(f"no candidate of the list has the number {part}")
        return named
    if len(part) >= _LEAST_DIGITS:
        for position, candidate in enumerate(candidates):
            if any(commit.id.startswith(part.lower()) for commit in candidate.commits):
                return [position]
    raise InputError(
        f"no candidate is {clean_line(part)!r}; --draft takes a number (the first N), or a list of "
        "numbers and commits such as 2,5-7,1a2b3c4d"
    )

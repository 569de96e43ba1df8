"""Regular expressions of a brain for sentences, run by RE2: no pattern makes a text slow.

The time of RE2 is the length of the text times the size of the program. The sizes of all patterns
together are bounded, and so is the sum of their time.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from lessons_kb.errors import InputError
from lessons_kb.text.linear_regex import compile_regex

MAX_PATTERN = 200
MAX_PATTERNS = 50
MAX_PROGRAM = 5_000
"""Instructions of all patterns; on 40 sentences of 400 characters they take some 30 ms."""
_MAX_MEMORY = 1 << 20
"""Bytes that RE2 may use for one pattern, and for what it keeps while it searches."""


def check_pattern(pattern: str) -> str:
    """Return why a pattern may not be used, "" when it may."""
    if len(pattern) > MAX_PATTERN:
        return f"it has {len(pattern)} characters; the limit is {MAX_PATTERN}"

    try:
        compiled = _compile(pattern)
    except InputError as error:
        return str(error)
    if compiled.programsize > MAX_PROGRAM:
        return f"it is too large; use {_SMALLER}"
    if compiled.search("") is not None:
        return "it matches an empty text, so every text"
    return ""


def check_sum(patterns: Sequence[str]) -> str:
    """Return why patterns that may be used alone may not be used together, "" when they may."""
    if len(patterns) > MAX_PATTERNS:
        return f"{len(patterns)} patterns; the limit is {MAX_PATTERNS}"
    if sum(_compile(pattern).programsize for pattern in patterns) > MAX_PROGRAM:
        return f"the patterns are too large together; use fewer, or {_SMALLER}"
    return ""


def search_any(patterns: tuple[str, ...], text: str) -> bool:
    """Tell whether any of the patterns, which were checked, is found in a text, in any case."""
    return any(pattern.search(text) is not None for pattern in _compile_all(patterns))


def find_line(pattern: str, lines: Sequence[str]) -> int | None:
    """Return the place of the first line that a pattern is found in, in any case.

    None as well for a pattern that may not be used: ``lint`` says why.
    """
    if check_pattern(pattern):
        return None
    compiled = _compile(pattern)
    return next((place for place, line in enumerate(lines) if compiled.search(line)), None)


_SMALLER = "smaller bounds such as .{0,20}"


@lru_cache(maxsize=8)
def _compile_all(patterns: tuple[str, ...]) -> tuple[Any, ...]:
    return tuple(map(_compile, patterns))


def _compile(pattern: str) -> Any:
    return compile_regex(pattern, max_memory=_MAX_MEMORY, any_case=True)

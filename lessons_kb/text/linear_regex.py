"""Regular expressions that others wrote, run by RE2: no pattern and no text makes it slow.

RE2 never goes back: its time is the length of the text times the size of the program.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from lessons_kb.errors import InputError

_SYNTAX = "https://github.com/google/re2/wiki/Syntax"


def compile_regex(
    pattern: str, *, max_memory: int, any_case: bool = False, captures: bool = True
) -> Any:
    """Return a compiled pattern with the methods of ``re.Pattern``.

    ``max_memory`` bounds, in bytes, the program and what is kept while it searches. Raises
    InputError with the reason and where the syntax is described.
    """
    import re2

    options = _options(max_memory)
    options.case_sensitive = not any_case
    options.never_capture = not captures
    try:
        return re2.compile(pattern, options)
    except re2.error as error:
        why = error.args[0].decode() if isinstance(error.args[0], bytes) else str(error)
        raise InputError(
            f"it is not a valid RE2 regular expression ({why}); see {_SYNTAX}"
        ) from None


def compile_set(patterns: Sequence[str], *, max_memory: int) -> Callable[[bytes], list[int]]:
    """Return what tells which of some valid patterns are found in a UTF-8 text, by their places.

    One pass over the text answers for all of them, or a few where they do not fit in memory.
    """
    if not patterns:
        return lambda _text: []
    import re2

    found = re2.Set.SearchSet(_options(max_memory))
    for pattern in patterns:
        found.Add(pattern.encode())
    try:
        found.Compile()
    except re2.error as error:
        half = len(patterns) // 2
        if not half:
            raise InputError(f"{patterns[0][:80]!r} is too large; use smaller bounds") from error
        first = compile_set(patterns[:half], max_memory=max_memory)
        second = compile_set(patterns[half:], max_memory=max_memory)
        return lambda text: first(text) + [half + place for place in second(text)]
    return lambda text: found.Match(text) or []  # None where there are none


def _options(max_memory: int) -> Any:
    import re2  # settings without a pattern of their own need none

    options = re2.Options()
    options.log_errors = False
    options.max_mem = max_memory
    return options

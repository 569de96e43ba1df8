"""The kind of failure that the error of a tool call describes."""

from __future__ import annotations

from functools import cache

from lessons_kb.data import read_patterns

_FAILURE_CHARS = 400


def kind_of_failure(text: str) -> str:
    """Return the FAILURES entry that an agent's error text describes, by default ``exec_error``."""
    head = text[:_FAILURE_CHARS].lower()
    return next((kind for words, kind in _failure_texts() if words in head), "exec_error")


@cache
def _failure_texts() -> tuple[tuple[str, str], ...]:
    """Return pairs of words in the output of a failed call, in lower case, and the kind of failure.

    The first match decides.
    """
    table = read_patterns("failure_texts.toml")
    return tuple((words, kind) for kind, texts in table.items() for words in texts)

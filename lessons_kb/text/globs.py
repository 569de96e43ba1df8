"""Gitignore globs as plain regular expressions."""

from __future__ import annotations

import re

from lessons_kb.errors import InputError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable


def compile_globs(patterns: Iterable[str]) -> tuple[tuple[str, bool], ...]:
    """Return (regex source, include?) for each gitignore pattern.

    Raises InputError naming a pattern that cannot be used.
    """
    from pathspec.patterns.gitignore.spec import GitIgnoreSpecPattern

    compiled: list[tuple[str, bool]] = []
    for pattern in patterns:
        try:
            regex, include = GitIgnoreSpecPattern.pattern_to_regex(pattern)
            if regex is not None and include is not None:
                re.compile(regex)
                compiled.append((regex, include))
        except (ValueError, re.error):
            raise InputError(
                f"paths: {pattern!r} is not a gitignore glob; mend or remove it"
            ) from None
    return tuple(compiled)


def match_globs(compiled: Iterable[tuple[str, bool]], path: str) -> bool:
    """Return whether a relative POSIX path matches: the last match wins."""
    matched, rank = False, 0
    for source, include in compiled:
        if found := re.search(source, path):
            below = 1 if found.groupdict().get("ps_d") else 2
            if (include and below == 1) or below >= rank:
                matched, rank = include, below
    return matched

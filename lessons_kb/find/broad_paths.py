"""Find the cards whose ``paths`` match no file, or too many files to give the card before an edit.

A glob over a folder says where a lesson belongs, but not that every edit there needs it. A card
with such globs alone is given if the prompt, the edit or a gate asks for it.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterable, Iterator
from glob import has_magic

from lessons_kb.errors import InputError
from lessons_kb.model import ASK_GATE, NO_GATE, RULE, Card
from lessons_kb.on_demand import PROJECT_DETECTION, load
from lessons_kb.text.paths import relative_path
from lessons_kb.text.patterns import compile_globs, match_globs

FEW_FILES = 5
"""The maximum number of files that a narrow glob matches."""
MANY_GUARDED = 20
"""The maximum number of files that a gate guards without a remark."""
_LOOKED_THROUGH = 200
"""The number of files that are tested, because there is no time for more before a call."""


def is_narrow(card: Card, scope: str) -> bool:
    """Return whether any glob of a card names a single file, or matches only a few.

    Without ``scope``, the root of the project, a wildcard counts as matching many files.
    """
    return any(_is_narrow_glob(pattern, scope) for pattern in card.paths)


def explain_broad_paths(card: Card, scope: str, files: Iterable[str] | None = None) -> str:
    """Return why the ``paths`` of a card do not bring it before an edit, or "" if they do.

    ``files`` are the files of the project. By default, they are listed if they are needed.
    """
    is_exempt = card.gate != NO_GATE or card.source == RULE or card.is_title_only
    if not card.paths or is_exempt or is_narrow(card, scope):
        return ""
    try:
        globs = compile_globs(card.paths)
    except InputError:  # `lint` reports it
        return ""
    if files is None:
        files = load(PROJECT_DETECTION).list_tree(scope)
    count = sum(match_globs(globs, file) for file in files)
    problem = f"match {count:,} files, more than {FEW_FILES}"
    if count <= FEW_FILES:
        problem = "begin with a wildcard or a large folder"
    return (
        f"not injected before an edit: its `paths` {problem}; name the files, or add `gate: once`"
    )


def explain_wide_gate(card: Card, scope: str, files: Iterable[str] | None = None) -> str:
    """Return how many files the gate of a card guards, or "" if they are not many.

    ``files`` is as in `explain_broad_paths`.
    """
    if card.gate == NO_GATE or not card.paths:
        return ""
    try:
        globs = compile_globs(card.paths)
    except InputError:  # `lint` reports it
        return ""
    if files is None:
        files = load(PROJECT_DETECTION).list_tree(scope)
    count = sum(match_globs(globs, file) for file in files)
    if count <= MANY_GUARDED:
        return ""
    act = "asks about" if card.gate == ASK_GATE else "refuses"
    return f"this gate guards {count:,} files and {act} each once in a session; name fewer files"


def find_unmatched(card: Card, scope: str) -> list[str]:
    """Return the ``paths`` of a card that match no file of the git repository at ``scope``."""
    files = load(PROJECT_DETECTION).list_tree(scope)
    unmatched = []
    for pattern in card.paths:
        if pattern.startswith("!"):  # it excludes files
            continue
        try:
            globs = compile_globs([pattern])
        except InputError:  # `lint` reports it
            continue
        if not any(match_globs(globs, file) for file in files):
            unmatched.append(pattern)
    return unmatched


def walk_files(place: str) -> Iterator[str]:
    """Yield the files below a folder, without those in hidden folders."""
    for folder, folders, files in os.walk(place):
        folders[:] = [name for name in folders if not name.startswith(".")]
        yield from (os.path.join(folder, name) for name in files)


def _is_narrow_glob(pattern: str, scope: str) -> bool:
    """Return whether a glob names a single file, or matches only a few."""
    parts = pattern.removeprefix("./").strip("/").split("/")
    plain = list(itertools.takewhile(lambda part: not has_magic(part), parts))
    place = os.path.join(scope, *plain)
    if not has_magic(parts[-1]) and not os.path.isdir(place):
        return True
    if not scope or not plain:
        return False
    globs = compile_globs([pattern])
    paths = itertools.islice(walk_files(place), _LOOKED_THROUGH)
    matches = (path for path in paths if match_globs(globs, relative_path(path, scope)))
    return not any(itertools.islice(matches, FEW_FILES, None))

"""Problems in our own folders that are safe to fix: found first, fixed on request."""

from __future__ import annotations

import contextlib
import os
import time

from lessons_kb.store.locate import CACHE_NAME
from lessons_kb.store.watcher_lease import find_leases, find_unfinished_leases, is_abandoned

_IGNORE = ".gitignore"
_GENERATION = "index-"
GENERATION_NAME = "generation"
"""In the engine's folder: whose generation it is, for a folder may be copied under any name."""
_ABANDONED_SECONDS = 60


def find_missing_ignores(root: str, cache: str) -> list[str]:
    """List the ``.gitignore`` files that a cache inside the brain lacks."""
    outer = os.path.join(root, CACHE_NAME)
    if not cache.startswith(outer + os.sep):
        return []
    names = [os.path.join(folder, _IGNORE) for folder in (outer, cache)]
    return [name for name in names if not os.path.lexists(name)]


def write_ignore(path: str) -> None:
    """Write a ``.gitignore`` that keeps its folder out of git; one that is there stays."""
    with contextlib.suppress(FileExistsError), open(path, "xb") as file:
        file.write(b"*\n")


def find_stale_leases(cache: str) -> list[str]:
    """List the leases of watchers that are gone, half-written ones included."""
    given = [path for path in find_leases(cache) if is_abandoned(path)]
    begun = [path for path in find_unfinished_leases(cache) if _age(path) > _ABANDONED_SECONDS]
    return given + begun


def find_old_generations(cache: str, current: str) -> list[str]:
    """List engine folders that a rebuild left behind; ``current`` is the one in use."""
    return [
        folder
        for folder in find_generations(cache)
        if folder != current and _age(folder) > _ABANDONED_SECONDS
    ]


def find_generations(cache: str) -> list[str]:
    """List the engine folders in a cache."""
    return [
        os.path.join(cache, name)
        for name in _listed(cache)
        if name.startswith(_GENERATION) and name[len(_GENERATION) :].isdigit()
    ]


def measure_folder(folder: str) -> int:
    """Return the bytes of all files in a folder and below; what vanishes meanwhile is nothing."""
    size = 0
    for place, _folders, names in os.walk(folder):
        for name in names:
            with contextlib.suppress(OSError):
                size += os.lstat(os.path.join(place, name)).st_size
    return size


def _listed(folder: str) -> list[str]:
    try:
        return sorted(os.listdir(folder))
    except OSError:
        return []


def _age(path: str) -> float:
    try:
        return time.time() - os.lstat(path).st_mtime
    except OSError:
        return 0.0

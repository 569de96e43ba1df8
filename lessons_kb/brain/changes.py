"""The files of a brain that changed since the last commit, as seen by watchers of this process."""

from __future__ import annotations

import contextlib
from _thread import allocate_lock

from lessons_kb.store.files import identify_file
from lessons_kb.store.scan import RESCAN

_MANY = 16
"""The maximum number of edited files for which a search waits (1 ms each). More are probably a
checkout."""


class Changes:
    """The files that changed since the last commit, as seen by a watcher of this process."""

    def __init__(self, cache: str, root: str) -> None:
        self.cache = cache
        self._root = root
        self._lock = allocate_lock()
        self._signs = 0
        """The number of the last sign of a change that the watcher received."""
        self._pending: dict[str, int] = {}
        """Maps a changed file to the number of its last sign."""
        self._is_complete = False
        """Whether ``_pending`` contains every changed file."""
        self._lost = 0
        """The number of the last sign that did not name the changed files."""
        self._folder: tuple[int, int] | None = None
        """The identity of the folder that the last commit describes."""
        self._next: tuple[int, int] | None = None
        """The identity of the folder that the running refresh reads."""
        self.is_indexing = False
        """Whether a separate process is reading the changed files."""
        _CHANGES.append(self)

    def note(self, paths: set[str]) -> None:
        """Record changed paths. RESCAN among them means that other files may have changed."""
        with self._lock:
            self._signs += 1
            self._pending |= dict.fromkeys(paths, self._signs)
            if RESCAN in paths:
                self._is_complete, self._lost = False, self._signs

    def begin(self) -> int:
        """Begin a refresh of all files. Return the number to pass to `finish`."""
        with self._lock:
            self._next = identify_file(self._root)
            return self._signs

    def finish(self, begun: int, *, vouch: bool = True) -> None:
        """Record that all changes up to ``begun`` are committed.

        ``vouch`` states whether the watcher will see every later change.
        """
        with self._lock:
            self._folder = self._next
            self._pending = {path: sign for path, sign in self._pending.items() if sign > begun}
            self._is_complete = vouch and self._lost <= begun

    @property
    def files(self) -> frozenset[str] | None:
        """The changed files, or None if there may be others."""
        with self._lock:
            has_commit = self._folder is not None and not self.is_replaced
            return frozenset(self._pending) if self._is_complete and has_commit else None

    @property
    def is_behind(self) -> bool:
        """Whether the changed files are more than a search can read itself."""
        return self.is_indexing or len(self._pending) > _MANY

    @property
    def is_replaced(self) -> bool:
        """Whether the folder is no longer the folder that the last commit describes."""
        return self._folder is not None and self._folder != identify_file(self._root)

    def end(self) -> None:
        """Stop the guarantee that all changes are seen."""
        self.note({RESCAN})
        with contextlib.suppress(ValueError):
            _CHANGES.remove(self)


_CHANGES: list[Changes] = []


def is_leased(cache: str) -> bool:
    """Return whether a watcher of this process reports that every change is indexed."""
    return any(
        changes.cache == cache and changes.files == frozenset() for changes in tuple(_CHANGES)
    )


def drop_lease(cache: str) -> None:
    """Make searches scan the files until the watcher has seen the writes of this process."""
    for changes in tuple(_CHANGES):
        if changes.cache == cache:
            changes.note({RESCAN})

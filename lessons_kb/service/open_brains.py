"""A cache of open brains by working directory, for processes that answer many requests."""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping, Sequence

from lessons_kb.brain.brain import Brain
from lessons_kb.brain.cluster_search import ClusterSearch
from lessons_kb.brain.discovery import Discovery, is_settings_moved, look_in_agent, require
from lessons_kb.find.calibrate import calibrate_brain
from lessons_kb.library import Library
from lessons_kb.store.files import identify_file
from lessons_kb.store.identity import identify
from lessons_kb.store.locations import real_path

MAX_OPEN = 16
"""Maximum number of entries. The least recently used one is closed, and is opened again on
demand."""


_ENCODED_AT_ONCE = 64
"""Files that are encoded before the watch looks for changes again: about three seconds' work."""


class OpenBrains:
    """Open brains by working directory. Threads may share it."""

    def __init__(self, directory: str, *, roots: Sequence[str] = (), watched: bool = True) -> None:
        """``directory`` is the default. ``roots``, if there are any, are used for every directory.

        If the brains are not ``watched``, callers must refresh them.
        """
        self.directory = os.path.abspath(directory)
        self._roots = tuple(roots)
        self._watched = watched
        self._open: dict[tuple[str, tuple[str, ...]], tuple[object, Library]] = {}
        self._lock = threading.Lock()

    def find(
        self,
        directory: str | None = None,
        environment: Mapping[str, str] = os.environ,
        *,
        found: Discovery | None = None,
    ) -> Library:
        """Return the open brain of a directory. ``found`` is the result of ``look``, if it is
        available.

        Trust and identity are checked at each call. An entry is closed if another brain has taken
        its place, or if its cache was removed. Raises Untrusted, BrainNotFound.
        """
        where = real_path(os.path.join(self.directory, directory or ""))
        found = self.look(where, environment) if found is None else found
        roots = self._roots or tuple(require(found).trusted)
        key = where, roots
        identities = tuple([found.keys.get(root) or identify(root).key for root in roots])
        with self._lock:
            stamp, brains = self._open.get(key, ((), None))
            if brains is not None:
                self._open[key] = self._open.pop(key)  # now the most recently used
        if brains is not None and stamp == (identities, _caches(brains)):
            return brains
        # Without the lock, so that a slow brain does not block the others.
        opened = Library.open(*roots, directory=where)
        if not is_settings_moved(where):
            for brain in opened.members:
                ClusterSearch(brain).begin()
        entry = (identities, _caches(opened)), opened
        with self._lock:
            current = self._open.get(key, ((), None))[1]
            if current is not brains and current is not None:
                return current  # another thread has opened it meanwhile
            self._open[key] = entry
            closed = [brains] if brains is not None else []
            if len(self._open) > MAX_OPEN:
                closed.append(self._open.pop(next(iter(self._open)))[1])
        for old in closed:
            old.close()
        if self._watched:
            for brain in opened.members:
                brain.words_only = True  # until the model is loaded, beside the answers
            opened.watch(on_idle=_Preparation(opened))
        return opened

    def look(self, directory: str, environment: Mapping[str, str] = os.environ) -> Discovery:
        """Discover the brains around a directory for ``find``. The result is empty if ``roots``
        were given.
        """
        if self._roots:
            return Discovery(trusted={}, untrusted=())
        return look_in_agent(os.path.realpath(directory), environment)

    def roots(self) -> list[str]:
        """Return the root folders of the open brains."""
        with self._lock:
            libraries = [brains for _, brains in self._open.values()]
        return sorted({brain.root for brains in libraries for brain in brains.members})

    def close(self) -> None:
        """Close every brain."""
        with self._lock:
            entries = list(self._open.values())
            self._open = {}
        for _, brains in entries:
            brains.close()


class _Preparation:
    """Prepares searches by meaning in the threads that watch files, while others answer."""

    def __init__(self, opened: Library) -> None:
        self._opened = opened
        self._prepared: dict[str, str] = {}
        """Mapping from the root of a brain to the manifest of the files that are prepared."""

    def __call__(self, writer: Brain) -> None:
        """Encode some files. If none are left, find the thresholds and let searches use the model.

        ``writer`` is the brain of the thread that watches the files.
        """
        state = writer.state
        if state is None or self._prepared.get(writer.root) == state.manifest:
            return
        left = writer.encode(limit=_ENCODED_AT_ONCE)
        if left:
            return  # the watch calls again
        calibrate_brain(writer, by_meaning=True)
        self._prepared[writer.root] = state.manifest
        if writer.meaning is None:  # only words are searched
            return
        for brain in self._opened.members:
            if brain.root == writer.root:
                brain.words_only = False
                brain.read(_load_vectors)


def _load_vectors(brain: Brain) -> None:
    if brain.meaning is not None:
        brain.meaning.is_complete()  # loads the vectors


def _caches(brains: Library) -> list[tuple[int, int] | None]:
    """Return the identity of each brain's cache folder, which changes if it is replaced."""
    return [identify_file(brain.cache) for brain in brains.members]

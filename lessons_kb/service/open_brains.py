"""The brains that a server keeps open, by working directory."""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping, Sequence

from lessons_kb.brain.cluster_search import ClusterSearch
from lessons_kb.brain.discovery import Discovery, is_settings_moved, look_in_agent, require
from lessons_kb.find.calibrate import calibrate_brain
from lessons_kb.library import Brain
from lessons_kb.store.files import identify_file
from lessons_kb.store.identity import identify

MAX_OPEN = 16
"""Brains kept; the one asked for longest ago is closed first (and opens again when asked)."""


class OpenBrains:
    """Open brains by working directory; may be shared between threads."""

    def __init__(self, directory: str, *, roots: Sequence[str] = (), watched: bool = True) -> None:
        """``directory`` is used where none is named; ``roots`` are used whatever is named.

        Unless they are ``watched``, whoever asks a brain refreshes it.
        """
        self.directory = os.path.abspath(directory)
        self._roots = tuple(roots)
        self._watched = watched
        self._open: dict[tuple[str, tuple[str, ...]], tuple[object, Brain]] = {}
        self._lock = threading.Lock()

    def find(
        self,
        directory: str | None = None,
        environment: Mapping[str, str] = os.environ,
        *,
        found: Discovery | None = None,
    ) -> Brain:
        """Return the open brain of a directory; ``found``: what was just found around it.

        What is trusted, and which brain a path is, is looked up anew each time: what is kept of
        one that was there before, or whose cache was taken away, is closed. Raises Untrusted,
        BrainNotFound.
        """
        where = os.path.realpath(os.path.join(self.directory, directory or ""))
        found = self.look(where, environment) if found is None else found
        roots = self._roots or tuple(require(found).trusted)
        key = where, roots
        identities = tuple([found.keys.get(root) or identify(root).key for root in roots])
        with self._lock:
            known, brains = self._open.get(key, ((), None))
            if brains is not None:
                self._open[key] = self._open.pop(key)  # asked for last
        if brains is not None and known == (identities, _caches(brains)):
            return brains
        # Not under the lock: what is slow about one brain must not hold up the others.
        made = Brain.open(*roots, directory=where)
        for brain in () if is_settings_moved(where) else made.members:
            ClusterSearch(brain).begin()
        entry = (identities, _caches(made)), made
        with self._lock:
            if (now := self._open.get(key, ((), None))[1]) is not brains and now is not None:
                return now  # another thread was quicker
            self._open[key] = entry
            closed = [brains] if brains is not None else []
            if len(self._open) > MAX_OPEN:
                closed.append(self._open.pop(next(iter(self._open)))[1])
        for old in closed:
            old.close()
        if self._watched:
            made.watch(on_idle=calibrate_brain)
        return made

    def look(self, directory: str, environment: Mapping[str, str] = os.environ) -> Discovery:
        """Return what is found around a directory, for ``find``; nothing if roots were named."""
        if self._roots:
            return Discovery(trusted={}, untrusted=())
        return look_in_agent(os.path.realpath(directory), environment)

    def roots(self) -> list[str]:
        """Return the root folders of the open brains."""
        with self._lock:
            return sorted(
                {brain.root for _, brains in self._open.values() for brain in brains.members}
            )

    def close(self) -> None:
        """Close every brain."""
        with self._lock:
            kept, self._open = list(self._open.values()), {}
        for _, brains in kept:
            brains.close()


def _caches(brains: Brain) -> list[tuple[int, int] | None]:
    """Return what tells the cache folders of a brain from others at their place."""
    return [identify_file(brain.cache) for brain in brains.members]

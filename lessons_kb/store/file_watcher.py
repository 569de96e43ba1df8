"""Watch the files of a brain for changes by editors, git and other programs."""

from __future__ import annotations

import errno
import math
import os
import queue
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from lessons_kb.errors import BrainNotFound
from lessons_kb.on_demand import C_LIBRARY, load
from lessons_kb.store.files import TEMP_PREFIX, identify_file, shown, storage_error
from lessons_kb.store.locations import CACHE_NAME, CONFIG_NAME
from lessons_kb.store.scan import IGNORE_NAME, RESCAN, SUFFIXES

if TYPE_CHECKING:
    from watchdog.events import FileSystemEvent
    from watchdog.observers.api import BaseObserver


_SKIPPED = frozenset({CACHE_NAME, ".git", "node_modules"})
_MANY = 2_000
"""The maximum number of events in a batch. A larger batch is reported as RESCAN. The system drops
events if its queue (16,384 by default) overflows, which happens only with so many changes."""
_LONGEST_WAIT = 10
"""The multiple of ``debounce`` after which a batch ends, even if changes continue."""
_DELETE_SELF = 0x400
_EXHAUSTED = (errno.ENOSPC, errno.EMFILE, errno.ENFILE)


def is_watched(path: str) -> bool:
    """Return whether a change of this file, a POSIX path, matters to the index."""
    name = path.rpartition("/")[2]
    return name in (CONFIG_NAME, IGNORE_NAME) or name.endswith(SUFFIXES)


class FolderWatch:
    """Call ``on_change`` with the changed files of a brain, from ``run`` until ``stop``.

    Paths are POSIX and relative. They may be files that a scan leaves out, or files that no longer
    exist. ``RESCAN`` among them means that any file may have changed. The first call is
    ``{RESCAN}``, once the watch is active; no later change is missed. Calls come from the thread of
    ``run``, one at a time, ``debounce`` seconds after the last of several changes. If the system
    has no more watches, a call comes every ``poll`` seconds instead. Files in ``.git``,
    ``.lessons`` and ``node_modules`` are ignored.

    ``on_sign`` is called at once, from another thread, with the paths of each change. ``on_idle``
    is called from the thread of ``run`` after each ``tick`` seconds without a change, unless the
    folder is polled. The thread sleeps between ticks, so it notices only at the next tick that
    another folder has replaced the brain.
    """

    def __init__(
        self,
        root: str,
        on_change: Callable[[set[str]], None],
        *,
        debounce: float = 0.2,
        poll: float = 1.0,
        tick: float = 1.0,
        on_sign: Callable[[set[str]], None] = lambda _paths: None,
        on_idle: Callable[[], None] = lambda: None,
    ) -> None:
        self.root = os.path.realpath(root)
        self.on_change, self.on_sign, self.on_idle = on_change, on_sign, on_idle
        self.debounce, self.poll, self.tick = debounce, poll, tick
        self.stopped = False
        self._exhausted = False
        self._events: queue.SimpleQueue[FileSystemEvent | None] = queue.SimpleQueue()
        """The queue of events, in which None stops the watch."""

    def run(self) -> None:
        """Watch until ``stop`` is called.

        Raises BrainNotFound if the folder does not exist or no longer exists, and passes on the
        errors of ``on_change``.
        """
        while not self.stopped:
            folder = self._identify()
            observer = self._start()
            try:
                self._follow(observer, folder)
            finally:
                if observer is not None:
                    observer.stop()
                    observer.join()

    def stop(self) -> None:
        """Let ``run`` return soon. Any thread may call this, even before ``run`` starts."""
        self.stopped = True
        self._events.put(None)

    def _identify(self) -> tuple[int, int]:
        if (folder := identify_file(self.root)) is None:
            raise BrainNotFound(
                f"{shown(self.root)} no longer exists; start the watch where the brain is now"
            )
        return folder

    def _start(self) -> BaseObserver | None:
        """Start an observer; return None if the system has no more watches."""
        if self._exhausted:
            return None
        from watchdog import events as kinds
        from watchdog.observers import Observer

        watch = self

        class Collector(kinds.FileSystemEventHandler):
            def dispatch(self, event: FileSystemEvent) -> None:
                if paths := watch._find_paths(event):
                    watch.on_sign(paths)
                watch._events.put(event)

        # Events for opening and closing are left out, because our own reads of cards cause them.
        changes = [
            *(kinds.FileCreatedEvent, kinds.FileModifiedEvent, kinds.FileMovedEvent),
            *(kinds.FileDeletedEvent, kinds.FileClosedEvent),
            *(kinds.DirCreatedEvent, kinds.DirMovedEvent, kinds.DirDeletedEvent),
        ]
        # The library emits a harmless warning in its own thread when nested folders are created. If
        # warnings are errors, that would end the thread.
        warnings.filterwarnings("ignore", "Callback with id ", RuntimeWarning)
        observer = None
        try:
            observer = Observer()
            observer.schedule(Collector(), self.root, recursive=True, event_filter=changes)
            observer.start()
        except OSError as error:
            if observer is not None:
                observer.stop()
            self._exhausted = error.errno in _EXHAUSTED
            if self._exhausted:
                return None
            self._identify()  # raises BrainNotFound if the folder no longer exists
            raise storage_error(error, self.root) from None
        # The observer does not report folders for which the system had no more watches.
        self._exhausted = _is_exhausted(self.root)
        return observer

    def _follow(self, observer: BaseObserver | None, folder: tuple[int, int]) -> None:
        """Report changes until the watch is stopped or must be started again."""
        self.on_change({RESCAN})
        while not self.stopped and (observer is None or not self._exhausted):
            batch = self._next_batch(self.tick if observer is not None else self.poll)
            # An emitter ends with its folder, even if a new folder has the same path and inode.
            emitters = observer.emitters if observer is not None else ()
            if self._identify() != folder or not all(emitter.is_alive() for emitter in emitters):
                return
            changed = set(self._find_changed(batch))
            if observer is None or len(batch) > _MANY:
                changed = {RESCAN}
            if changed and not self.stopped:
                self.on_change(changed)
            elif not batch and not self.stopped:
                self.on_idle()
            # watchdog 6.0.0 does not watch a folder that was moved in. A new observer does.
            if any(self._is_new_folder(event) for event in batch):
                return

    def _is_new_folder(self, event: FileSystemEvent) -> bool:
        is_new = event.is_directory and event.event_type != "deleted"
        return is_new and bool(self._find_paths(event))

    def _next_batch(self, patience: float) -> list[FileSystemEvent]:
        """Return the next batch of events, or [] after ``patience`` seconds without an event."""
        batch: list[FileSystemEvent] = []
        until = math.inf
        while time.monotonic() < until:
            try:
                event = self._events.get(timeout=patience)
            except queue.Empty:
                break
            if event is None:  # stopped
                return []
            if not batch:
                patience = self.debounce
                until = time.monotonic() + _LONGEST_WAIT * patience
            batch.append(event)
        return batch

    def _find_paths(self, event: FileSystemEvent) -> set[str]:
        """Return the files of an event that may matter to the index; {RESCAN} for a folder."""
        if event.event_type == "deleted" and os.fsdecode(event.src_path) == self.root:
            return {RESCAN}  # the brain itself was removed
        paths = set()
        for name in (event.src_path, event.dest_path):
            path = self._relative(os.fsdecode(name)) if name else None
            if path:
                paths.add(path)
        if event.is_directory:
            return {RESCAN} if paths else set()
        return set(filter(is_watched, paths))

    def _find_changed(self, batch: list[FileSystemEvent]) -> Iterator[str]:
        """Yield the changed files of a batch."""
        for event in batch:
            paths = self._find_paths(event)
            if not (paths and event.is_directory and event.event_type == "created"):
                yield from paths
                continue
            # All files of a new folder are reported: some were created before it was watched.
            for folder, folders, names in os.walk(os.fsdecode(event.src_path)):
                folders[:] = [name for name in folders if name not in _SKIPPED]
                for name in names:
                    path = self._relative(os.path.join(folder, name))
                    if path and is_watched(path):
                        yield path

    def _relative(self, full: str) -> str | None:
        """Return a path relative to the brain, or None for the brain itself and ignored files."""
        start = os.path.join(self.root, "")
        parts = full.removeprefix(start).split(os.sep)
        inside = full.startswith(start) and _SKIPPED.isdisjoint(parts)
        return "/".join(parts) if inside and not parts[-1].startswith(TEMP_PREFIX) else None


def _is_exhausted(root: str) -> bool:
    """Return whether this user cannot add another inotify watch.

    An observer does not report a sub-folder that it could not watch.
    """
    if sys.platform != "linux":
        return False
    libc = load(C_LIBRARY).CDLL(None, use_errno=True)
    instance = libc.inotify_init1(os.O_CLOEXEC)
    if instance < 0:
        return False
    try:
        added = libc.inotify_add_watch(instance, os.fsencode(root), _DELETE_SELF)
        return bool(added < 0 and load(C_LIBRARY).get_errno() == errno.ENOSPC)
    finally:
        os.close(instance)

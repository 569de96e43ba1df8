"""Watch a brain while editors, git and other programs change it."""

from __future__ import annotations

import ctypes
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
from lessons_kb.store.files import TEMP_PREFIX, identify_file, shown, storage_error
from lessons_kb.store.locations import CACHE_NAME, CONFIG_NAME
from lessons_kb.store.scan import IGNORE_NAME, SUFFIXES

if TYPE_CHECKING:
    from watchdog.events import FileSystemEvent
    from watchdog.observers.api import BaseObserver


RESCAN = "."
"""Among changed paths: anything may have changed, scan the brain."""


_SKIPPED = frozenset({CACHE_NAME, ".git", "node_modules"})
_MANY = 2_000
"""Events in one batch beyond which they are not told apart. The system drops events when its
queue (16,384 by default) overflows, which only happens in such a flood."""
_LONGEST_WAIT = 10
"""A batch is handed on after this many times ``debounce``, though changes go on."""
_DELETE_SELF = 0x400
_EXHAUSTED = (errno.ENOSPC, errno.EMFILE, errno.ENFILE)


def is_watched(path: str) -> bool:
    """Tell whether a change of this file, by its POSIX path, matters to the index."""
    name = path.rpartition("/")[2]
    return name in (CONFIG_NAME, IGNORE_NAME) or name.endswith(SUFFIXES)


class FolderWatch:
    """Call ``on_change`` with the changed files of a brain, from ``run`` until ``stop``.

    Paths are POSIX and relative, and may be files that a scan leaves out or that are gone;
    ``RESCAN`` among them says that anything may have changed. The first call is ``{RESCAN}``,
    when the watch stands: what changes after it is not missed. Calls come from the thread of
    ``run``, one after another, ``debounce`` seconds after the last of several changes. Where the
    system's watches are exhausted it is called every ``poll`` seconds instead. What lies
    in ``.git``, ``.lessons`` and ``node_modules`` is left out. ``on_sign`` is called at once, from
    another thread, with the paths of each change; ``on_idle`` from the thread of ``run`` after
    each ``tick`` seconds without a change, unless the folder is polled. Between ticks it sleeps;
    that another folder has taken the brain's place is noticed at the next one.
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
        """None says that the watch is to stop."""

    def run(self) -> None:
        """Watch until ``stop`` is called.

        Raises BrainNotFound when the folder is not or no longer there, and what ``on_change``
        raises.
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
        """Have ``run`` return soon; may be called from any thread, also before it runs."""
        self.stopped = True
        self._events.put(None)

    def _identify(self) -> tuple[int, int]:
        if (folder := identify_file(self.root)) is None:
            raise BrainNotFound(
                f"{shown(self.root)} no longer exists; start the watch where the brain is now"
            )
        return folder

    def _start(self) -> BaseObserver | None:
        """Start an observer; None when the system's watches have run out."""
        if self._exhausted:
            return None
        from watchdog import events as kinds
        from watchdog.observers import Observer

        watch = self

        class Collector(kinds.FileSystemEventHandler):
            def dispatch(self, event: FileSystemEvent) -> None:
                if concerned := watch._find_concerned(event):
                    watch.on_sign(concerned)
                watch._events.put(event)

        # Not opening and closing: reading the cards would keep us busy with ourselves.
        changes = [
            *(kinds.FileCreatedEvent, kinds.FileModifiedEvent, kinds.FileMovedEvent),
            *(kinds.FileDeletedEvent, kinds.FileClosedEvent),
            *(kinds.DirCreatedEvent, kinds.DirMovedEvent, kinds.DirDeletedEvent),
        ]
        # The library warns (of nothing that matters) in its own thread when folders are made one
        # in another; where warnings are errors, that would end the thread.
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
            self._identify()
            raise storage_error(error, self.root) from None
        self._exhausted = _is_exhausted(self.root)  # some folders were left out in silence
        return observer

    def _follow(self, observer: BaseObserver | None, folder: tuple[int, int]) -> None:
        """Hand on changes until stopped or a new start is due."""
        self.on_change({RESCAN})
        while not self.stopped and (observer is None or not self._exhausted):
            batch = self._next_batch(self.tick if observer is not None else self.poll)
            # An emitter ends when its folder is gone, though another has its place and number.
            emitters = observer.emitters if observer is not None else ()
            if self._identify() != folder or not all(one.is_alive() for one in emitters):
                return
            changed = set(self._find_changed(batch))
            if observer is None or len(batch) > _MANY:
                changed = {RESCAN}
            if changed and not self.stopped:
                self.on_change(changed)
            elif not batch and not self.stopped:
                self.on_idle()
            grown = any(e.is_directory and e.event_type != "deleted" for e in batch)
            self._exhausted = self._exhausted or (grown and _is_exhausted(self.root))

    def _next_batch(self, patience: float) -> list[FileSystemEvent]:
        """Return the events of one flurry of changes, [] after some seconds without any."""
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

    def _find_concerned(self, event: FileSystemEvent) -> set[str]:
        """Return the files that an event is about, as far as they may matter to the index."""
        if event.event_type == "deleted" and os.fsdecode(event.src_path) == self.root:
            return {RESCAN}  # the brain itself is gone
        names = (event.src_path, event.dest_path)
        paths = {path for name in names if name and (path := self._relative(os.fsdecode(name)))}
        if event.is_directory:
            return {RESCAN} if paths else set()
        return set(filter(is_watched, paths))

    def _find_changed(self, batch: list[FileSystemEvent]) -> Iterator[str]:
        """Yield the files that a batch is about."""
        for event in batch:
            concerned = self._find_concerned(event)
            if not (concerned and event.is_directory and event.event_type == "created"):
                yield from concerned
                continue
            for folder, folders, names in os.walk(os.fsdecode(event.src_path)):
                # All of a new folder: some files came before it was watched.
                folders[:] = [name for name in folders if name not in _SKIPPED]
                paths = (self._relative(os.path.join(folder, name)) for name in names)
                yield from (path for path in paths if path and is_watched(path))

    def _relative(self, full: str) -> str | None:
        """Return a path inside the brain, None for the brain itself and what is left out."""
        start = os.path.join(self.root, "")
        parts = full.removeprefix(start).split(os.sep)
        inside = full.startswith(start) and _SKIPPED.isdisjoint(parts)
        return "/".join(parts) if inside and not parts[-1].startswith(TEMP_PREFIX) else None


def _is_exhausted(root: str) -> bool:
    """Tell whether this user can add no further inotify watch.

    An observer stays silent about a sub-folder that it could not watch.
    """
    if sys.platform != "linux":
        return False
    libc = ctypes.CDLL(None, use_errno=True)
    instance = libc.inotify_init1(os.O_CLOEXEC)
    if instance < 0:
        return False
    try:
        added = libc.inotify_add_watch(instance, os.fsencode(root), _DELETE_SELF)
        return bool(added < 0 and ctypes.get_errno() == errno.ENOSPC)
    finally:
        os.close(instance)

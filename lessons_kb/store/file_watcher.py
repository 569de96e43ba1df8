"""Watch a brain while editors, git and other programs change it."""

from __future__ import annotations

import ctypes
import errno
import math
import os
import queue
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, TypeAlias

from lessons_kb.errors import BrainNotFound
from lessons_kb.store.disk import TEMP_PREFIX, shown, storage_error
from lessons_kb.store.locate import CACHE_NAME, CONFIG_NAME
from lessons_kb.store.scan import IGNORE_NAME, SUFFIXES

if TYPE_CHECKING:
    from watchdog.events import FileSystemEvent
    from watchdog.observers.api import BaseObserver

Events: TypeAlias = "queue.SimpleQueue[FileSystemEvent | None]"
"""None says that the watch is to stop."""


RESCAN = "."
"""Among changed paths: anything may have changed, scan the brain."""

_SKIPPED = frozenset({CACHE_NAME, ".git", "node_modules"})
_MANY = 2_000
"""Events in one batch beyond which they are not told apart. The system drops events when its
queue (16,384 by default) overflows, which only happens in such a flood."""
_LONGEST_WAIT = 10
"""A batch is handed on after this many times ``debounce``, though changes go on."""
_STARTING = threading.Lock()
_EXHAUSTED = (errno.ENOSPC, errno.EMFILE, errno.ENFILE)


def is_watched(path: str) -> bool:
    """Tell whether a change of this file, by its POSIX path, matters to the index."""
    name = path.rpartition("/")[2]
    return name in (CONFIG_NAME, IGNORE_NAME) or name.endswith(SUFFIXES)


class Watch:
    """Call ``on_change`` with the changed files of a brain, from ``run`` until ``stop``.

    Paths are POSIX and relative, and may be files that a scan leaves out or that are gone;
    ``RESCAN`` among them says that anything may have changed. The first call is ``{RESCAN}``,
    when the watch stands: what changes after it is not missed. Calls come from the thread of
    ``run``, one after another, ``debounce`` seconds after the last of several changes. Where the
    system's watches are exhausted the folder is polled every ``poll`` seconds instead. What lies
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
        selects: Callable[[str], bool] = is_watched,
        poll: float = 1.0,
        tick: float = 1.0,
        on_sign: Callable[[set[str]], None] = lambda _paths: None,
        on_idle: Callable[[], None] = lambda: None,
    ) -> None:
        self.root = os.path.realpath(root)
        self.on_change = on_change
        self.debounce = debounce
        self.selects = selects
        self.poll = poll
        self.tick = tick
        self.on_sign = on_sign
        self.on_idle = on_idle
        self.events: Events = queue.SimpleQueue()
        self.stopped = False

    def run(self) -> None:
        """Watch until ``stop`` is called.

        Raises BrainNotFound when the folder is not or no longer there, and what ``on_change``
        raises.
        """
        polling = False
        while not self.stopped:
            session = _Session(self)
            observer = session.start(self.poll if polling else None)
            if observer is None:
                polling = True
                continue
            try:
                polling = session.run(polling=polling)
            finally:
                observer.stop()
                observer.join()

    def stop(self) -> None:
        """Have ``run`` return soon; may be called from any thread, also before it runs."""
        self.stopped = True
        self.events.put(None)


class _Session:
    """One observer on one folder, until the folder is another one or the watches run out."""

    def __init__(self, watch: Watch) -> None:
        self.watch = watch
        self.root = watch.root
        self.identity = self.identify()
        self.threads: list[threading.Thread] = []

    def identify(self) -> tuple[int, int]:
        """Tell this folder from another that takes its name."""
        try:
            info = os.stat(self.root)
        except OSError:
            raise BrainNotFound(
                f"{shown(self.root)} no longer exists; start the watch where the brain is now"
            ) from None
        return info.st_dev, info.st_ino

    def start(self, poll: float | None) -> BaseObserver | None:
        """Start an observer, a polling one if ``poll`` is given; None when watches run out."""
        from watchdog import events as kinds
        from watchdog.observers import Observer
        from watchdog.observers.polling import PollingObserverVFS

        session = self

        class Collector(kinds.FileSystemEventHandler):
            def dispatch(self, event: FileSystemEvent) -> None:
                if concerned := session.concerned(event):
                    session.watch.on_sign(concerned)
                session.watch.events.put(event)

        # Not opening and closing: reading the cards would keep us busy with ourselves.
        changes = [
            *(kinds.FileCreatedEvent, kinds.FileModifiedEvent, kinds.FileMovedEvent),
            *(kinds.FileDeletedEvent, kinds.FileClosedEvent),
            *(kinds.DirCreatedEvent, kinds.DirMovedEvent, kinds.DirDeletedEvent),
        ]
        # The library warns (of nothing that matters) in its own thread when folders are made one
        # in another; where warnings are errors, that would end the thread.
        warnings.filterwarnings("ignore", "Callback with id ", RuntimeWarning)
        with _STARTING:  # one after another: each tells its own threads from those there before
            others = set(threading.enumerate())
            observer = None
            try:
                observer = (
                    Observer()
                    if poll is None
                    else PollingObserverVFS(os.lstat, self.listed, polling_interval=poll)  # type: ignore[arg-type]
                )
                observer.schedule(Collector(), self.root, recursive=True, event_filter=changes)
                observer.start()
            except OSError as error:
                if observer is not None:
                    observer.stop()
                if poll is None and error.errno in _EXHAUSTED:
                    return None
                self.identify()
                raise storage_error(error, self.root) from None
            started = set(threading.enumerate()) - others
        if poll is None and _is_exhausted(self.root):  # some folders were left out in silence
            observer.stop()
            observer.join()
            return None
        # An emitter may have ended already, because its folder is gone.
        ours = {thread for thread in started if type(thread).__module__.startswith("watchdog.")}
        self.threads = [*(ours | observer.emitters)]
        return observer

    def concerned(self, event: FileSystemEvent) -> set[str]:
        """Return the files that an event is about, as far as they may matter to the index."""
        if event.event_type == "deleted" and os.fsdecode(event.src_path) == self.root:
            return {RESCAN}  # the brain itself is gone
        names = (event.src_path, event.dest_path)
        paths = {path for name in names if name and (path := self.relative(os.fsdecode(name)))}
        if event.is_directory:
            return {RESCAN} if paths else set()
        return set(filter(self.watch.selects, paths))

    def run(self, *, polling: bool) -> bool:
        """Hand on changes until stopped or a new start is due; return whether to poll then."""
        watch = self.watch
        watch.on_change({RESCAN})
        while not watch.stopped:
            batch = self.next_batch()
            if self.identify() != self.identity or not self.is_alive():
                return polling
            changed = self.changed(batch)
            if watch.stopped:
                break
            if changed:
                watch.on_change(changed)
            elif not batch and not polling:
                watch.on_idle()
            grown = any(e.is_directory and e.event_type != "deleted" for e in batch)
            if grown and not polling and _is_exhausted(self.root):
                return True
        return polling

    def is_alive(self) -> bool:
        """Tell whether all of the observer still runs: it has threads whose end it hides."""
        return all(thread.is_alive() for thread in self.threads)

    def next_batch(self) -> list[FileSystemEvent]:
        """Return the events of one flurry of changes, [] after a tick without any."""
        batch: list[FileSystemEvent] = []
        patience, until = self.watch.tick, math.inf
        while time.monotonic() < until:
            try:
                event = self.watch.events.get(timeout=patience)
            except queue.Empty:
                break
            if event is None:  # stopped
                return []
            if not batch:
                patience = self.watch.debounce
                until = time.monotonic() + _LONGEST_WAIT * patience
            batch.append(event)
        return batch

    def changed(self, batch: list[FileSystemEvent]) -> set[str]:
        """Return the files that a batch is about."""
        if len(batch) > _MANY:
            return {RESCAN}
        found: set[str] = set()
        for event in batch:
            for name in (event.src_path, event.dest_path):
                path = self.relative(os.fsdecode(name)) if name else None
                if path is None:
                    continue
                if not event.is_directory:
                    if self.watch.selects(path):
                        found.add(path)
                elif event.event_type == "created":
                    found.update(self.below(path))
                else:  # moved or deleted: what was in it is not known any more
                    found.add(RESCAN)
        return found

    def relative(self, full: str) -> str | None:
        """Return a path inside the brain, None for the brain itself and what is left out."""
        start = os.path.join(self.root, "")
        parts = full.removeprefix(start).split(os.sep)
        if not full.startswith(start) or not _SKIPPED.isdisjoint(parts):
            return None
        return None if parts[-1].startswith(TEMP_PREFIX) else "/".join(parts)

    def below(self, path: str) -> Iterator[str]:
        """Yield the files of a new folder: some came before it was watched."""
        for folder, folders, names in os.walk(os.path.join(self.root, path)):
            folders[:] = [name for name in folders if name not in _SKIPPED]
            for name in names:
                inner = self.relative(os.path.join(folder, name))
                if inner is not None and self.watch.selects(inner):
                    yield inner

    def listed(self, folder: str | None) -> Iterator[os.DirEntry[str]]:
        """Yield the entries of a folder that polling has to look at."""
        with os.scandir(folder) as entries:
            for entry in entries:
                path = self.relative(entry.path)
                if path and (entry.is_dir(follow_symlinks=False) or self.watch.selects(path)):
                    yield entry


def _is_exhausted(root: str) -> bool:
    """Tell whether this user can add no further inotify watch.

    An observer stays silent about a sub-folder that it could not watch.
    """
    if sys.platform != "linux":
        return False

    try:
        libc = ctypes.CDLL(None, use_errno=True)
        instance = libc.inotify_init1(os.O_CLOEXEC)
        if instance < 0:
            return False
        try:
            delete_self = 0x400
            added = libc.inotify_add_watch(instance, os.fsencode(root), delete_self)
            return bool(added < 0 and ctypes.get_errno() == errno.ENOSPC)
        finally:
            os.close(instance)
    except (AttributeError, OSError):
        return False

"""Watch a brain while editors, git and other programs change it."""

from __future__ import annotations

import contextlib
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
from functools import cache
from typing import TYPE_CHECKING, TypeAlias

from lessons_kb.errors import BrainNotFound, StorageError
from lessons_kb.store.files import TEMP_PREFIX, read_regular, shown, storage_error
from lessons_kb.store.locks import find_process_state
from lessons_kb.store.scan import IGNORE_NAME, SUFFIXES
from lessons_kb.store.user_state import CACHE_NAME, CONFIG_NAME

if TYPE_CHECKING:
    from watchdog.events import FileSystemEvent
    from watchdog.observers.api import BaseObserver


_PREFIX, _SUFFIX, _UNFINISHED = "watch.", ".lease", ".new"
_LONGEST_SECONDS = 2.5
"""Age at which a lease counts no more: its giver was stopped or is busy."""
_BOOT_ID = "/proc/sys/kernel/random/boot_id"
_MAX_BYTES = 200


def is_leased(cache: str, root: str) -> bool:
    """Tell whether a running watcher vouches that all changes of ``root`` so far are indexed."""
    own, folder = _own(cache), _folder(root)
    if not folder:
        return False
    return _vouches(own, folder, own=True) or any(
        _vouches(path, folder, own=False) for path in find_leases(cache) if path != own
    )


def find_leases(cache: str) -> list[str]:
    """List the files of all leases, of watchers that are gone too."""
    return _find(cache, _SUFFIX)


def find_unfinished_leases(cache: str) -> list[str]:
    """List the files of leases that are being written, or were when their watcher was killed."""
    return _find(cache, _SUFFIX + _UNFINISHED)


def _find(cache: str, suffix: str) -> list[str]:
    try:
        names = os.listdir(cache)
    except OSError:
        return []
    return [
        os.path.join(cache, name)
        for name in names
        if name.startswith(_PREFIX) and name.endswith(suffix)
    ]


def is_abandoned(path: str) -> bool:
    """Tell whether the file of a lease is left of a watcher that is gone."""
    try:
        return not _is_alive(_read(path)[0])
    except FileNotFoundError:
        return False
    except (OSError, StorageError):
        return True


def drop_lease(cache: str) -> None:
    """Take back the word of every watcher: this process has changed a file."""
    for path in find_leases(cache):
        with contextlib.suppress(OSError):
            os.unlink(path)


def _vouches(path: str, folder: bytes, *, own: bool) -> bool:
    try:
        giver, seen = _read(path)
        if seen != folder:
            return False
        age = 0.0 if own else time.time() - os.stat(path).st_mtime
    except (OSError, StorageError):
        return False
    return own or (-1.0 < age < _LONGEST_SECONDS and _is_alive(giver))


def _read(path: str) -> tuple[bytes, bytes]:
    giver, _, folder = read_regular(path, limit=_MAX_BYTES, name=path).partition(b"\n")
    return giver, folder


class Lease:
    """The giver's side. One thread settles and renews; any thread may drop and end."""

    def __init__(self, cache: str, root: str) -> None:
        self._root = root
        self._folder = b""
        self._cache = cache
        self._path = _own(cache)
        self._signs = 1
        self._settled = 0
        self._given = False

    def drop(self) -> None:
        """Take the word back at the first sign of a change."""
        self._signs += 1
        self._withdraw()

    def settle(self) -> None:
        """Note that a refresh begins, which covers every sign so far."""
        self._folder = _folder(self._root)
        self._settled = self._signs
        self._given = False

    def holds(self) -> bool:
        """Tell whether the word is given, and nothing has taken it."""
        return self._given and not self.is_taken()

    def is_taken(self) -> bool:
        """Tell whether another process dropped the word given, or another folder is there now."""
        return self._given and not (
            os.path.exists(self._path) and self._folder == _folder(self._root)
        )

    def renew(self) -> None:
        """Give the word, or renew it, unless a sign has come since the last refresh began.

        A lease that another process dropped counts as a sign.
        """
        seen = self._signs
        if seen != self._settled:
            return
        try:
            if self._given:
                os.utime(self._path)
                return
            self._clear()
            temp = f"{self._path}{_UNFINISHED}"
            with open(temp, "wb") as file:
                file.write(_giver() + b"\n" + self._folder)
            os.replace(temp, self._path)
            self._given = True
        except OSError:
            self._given = False
            self._signs += 1
        if self._signs != seen:  # the sign came while the file did
            self._withdraw()

    def end(self) -> None:
        """Take the word back for good, and that of watchers gone since it was given."""
        self.drop()
        with contextlib.suppress(OSError):
            self._clear()

    def _clear(self) -> None:
        for path in filter(is_abandoned, find_leases(self._cache)):
            os.unlink(path)

    def _withdraw(self) -> None:
        # Not those of other watchers: they have seen the change themselves.
        self._given = False
        with contextlib.suppress(OSError):
            os.unlink(self._path)


def _is_alive(giver: bytes) -> bool:
    """Tell whether this process still runs."""
    try:
        number, boot, _began = giver.split(b" ")
        if not boot or boot != _boot_id():
            return False
        os.kill(int(number), 0)
    except (OSError, ValueError, OverflowError):
        return False
    return find_process_state(int(number)) != "Z"  # killed, and its parent has not looked yet


def _folder(root: str) -> bytes:
    """Return what tells this folder from another that takes its name; b"" where there is none."""
    try:
        info = os.stat(root)
    except OSError:
        return b""
    return b"%d %d" % (info.st_dev, info.st_ino)


def _own(cache: str) -> str:
    """Return the path of this process's lease."""
    return os.path.join(cache, f"{_PREFIX}{os.getpid()}-{_began()}{_SUFFIX}")


def _giver() -> bytes:
    """Return what this process writes; no other writes the same."""
    return b"%d %s %d" % (os.getpid(), _boot_id(), _began())


@cache
def _began() -> int:
    return time.monotonic_ns()


@cache
def _boot_id() -> bytes:
    """Return what another start of the system has not; b"" where nothing tells."""
    try:
        with open(_BOOT_ID, "rb") as file:
            return file.read(_MAX_BYTES // 2).strip()
    except OSError:
        return b""


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

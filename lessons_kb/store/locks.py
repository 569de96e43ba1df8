"""Locks between processes: of a path, of new cards, of a writer."""

from __future__ import annotations

import contextlib
import os
import zlib
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager

from lessons_kb.errors import StorageError
from lessons_kb.store.files import shown, storage_error
from lessons_kb.store.locations import state_home
from lessons_kb.store.private_files import make_private

_BUCKETS = 64


_LOCK_SECONDS = 30.0


_POLL_SECONDS = 0.005


def locked(full: str) -> AbstractContextManager[object]:
    """Hold the lock of one real path; a killed holder frees it.

    Paths share 64 lock files, so that their number stays small, and two brains that contain the
    same file share its lock: never hold two at once. Raises StorageError after 30 seconds.
    """
    return _hold(full, "")


def hold_new(root: str) -> AbstractContextManager[object]:
    """Hold what lets one process at a time look for near-duplicates and write a new card.

    Taken before a ``locked``, never within one. Raises StorageError after 30 seconds.
    """
    return _hold(root, "new-")


def hold_diet(top: str) -> AbstractContextManager[object]:
    """Hold what lets one process at a time change the rules files of a project.

    Taken before a ``hold_new``. Raises StorageError after 30 seconds.
    """
    return _hold(top, "diet-")


def _hold(full: str, kind: str) -> AbstractContextManager[object]:
    name = f"{kind}{zlib.crc32(os.fsencode(full)) % _BUCKETS:02d}.lock"
    return take_lock(os.path.join(state_home(), "locks", name), full, seconds=_LOCK_SECONDS)


def take_lock(path: str, what: str, *, seconds: float) -> AbstractContextManager[object]:
    """Take a lock of a file and return what holds it, a context; ``what`` is what is locked.

    A killed holder frees it. Raises StorageError, after some ``seconds`` of waiting for another.
    """
    from filelock import FileLock, Timeout

    make_private(os.path.dirname(path))
    lock = FileLock(path, mode=0o600, fallback_to_soft=False, thread_local=False)
    try:
        return lock.acquire(timeout=seconds, poll_interval=_POLL_SECONDS)
    except Timeout:
        raise StorageError(
            f"{shown(what)}: locked by another lessons process; wait for it or stop it"
        ) from None
    except OSError as error:
        raise storage_error(error, os.path.dirname(path)) from None


BUSY = "another process is writing the index"


@contextlib.contextmanager
def hold_writer(
    path: str, *, patience: float, waiting: Callable[[str], None] = lambda _why: None
) -> Iterator[str]:
    """Hold a writer's lock and yield "", or yield in one line why it cannot be had.

    ``patience`` in seconds; ``waiting`` is told what it waits for. A killed holder frees the lock.
    """
    from filelock import FileLock, Timeout

    lock = FileLock(path, fallback_to_soft=False)
    refused = ""
    try:
        try:
            lock.acquire(blocking=False)
        except Timeout:
            waiting(BUSY)
            lock.acquire(timeout=patience, poll_interval=_POLL_SECONDS)
    except Timeout:
        refused = BUSY
    except OSError as error:
        refused = str(storage_error(error, path))
    try:
        yield refused
    finally:
        lock.release()

"""Locks between processes for a path, for new cards, for rules files and for a writer."""

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
    """Lock one real path. A killed process releases its lock.

    All paths share 64 lock files, so never acquire two of these locks at once. Two brains that
    contain the same file share its lock. Raises StorageError after 30 seconds.
    """
    return _hold(full, "")


def hold_for_new_card(root: str) -> AbstractContextManager[object]:
    """Lock a brain for a search for near-duplicates, followed by the write of a new card.

    Acquire this lock before ``locked``, never within it. Raises StorageError after 30 seconds.
    """
    return _hold(root, "new-")


def hold_diet(top: str) -> AbstractContextManager[object]:
    """Lock a project for a change of its rules files.

    Take this lock before ``hold_for_new_card``. Raises StorageError after 30 seconds.
    """
    return _hold(top, "diet-")


def _hold(full: str, kind: str) -> AbstractContextManager[object]:
    name = f"{kind}{zlib.crc32(os.fsencode(full)) % _BUCKETS:02d}.lock"
    return take_lock(os.path.join(state_home(), "locks", name), full, seconds=_LOCK_SECONDS)


def take_lock(path: str, name: str, *, seconds: float) -> AbstractContextManager[object]:
    """Lock a file and return a context manager that releases the lock.

    Messages call the lock ``name``. A killed process releases its lock. Raises StorageError if
    another process still has the lock after ``seconds``.
    """
    from filelock import FileLock, Timeout

    make_private(os.path.dirname(path))
    lock = FileLock(path, mode=0o600, fallback_to_soft=False, thread_local=False)
    try:
        return lock.acquire(timeout=seconds, poll_interval=_POLL_SECONDS)
    except Timeout:
        raise StorageError(
            f"{shown(name)}: locked by another lessons process; wait for it or stop it"
        ) from None
    except OSError as error:
        raise storage_error(error, os.path.dirname(path)) from None


BUSY = "another process is writing the index"


@contextlib.contextmanager
def hold_writer(
    path: str, *, patience: float, waiting: Callable[[str], None] = lambda _why: None
) -> Iterator[str]:
    """Acquire a writer's lock and yield "", or yield the reason for the failure in one line.

    If another process has the lock, ``waiting`` is called with the reason, followed by a wait of
    ``patience`` seconds. A killed process releases its lock.
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

"""Locks between processes for a path, for new cards, for rules files and for a writer."""

from __future__ import annotations

import contextlib
import errno
import os
import time
import zlib
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import Self

from lessons_kb.errors import StorageError
from lessons_kb.store.files import shown, storage_error
from lessons_kb.store.locations import state_home
from lessons_kb.store.private_files import make_private

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

_BUCKETS = 64
_LOCK_SECONDS = 30.0
_POLL_SECONDS = 0.005
_MODE = 0o600
_HELD_BY_ANOTHER = (errno.EACCES, errno.EAGAIN, errno.EWOULDBLOCK)
"""With these codes, ``flock`` reports that another process has the lock."""


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
    make_private(os.path.dirname(path))
    try:
        lock = _acquire(path, seconds)
    except OSError as error:
        raise storage_error(error, os.path.dirname(path)) from None
    if lock is None:
        raise StorageError(
            f"{shown(name)}: locked by another lessons process; wait for it or stop it"
        )
    return lock


BUSY = "another process is writing the index"


@contextlib.contextmanager
def hold_writer(
    path: str, *, patience: float, waiting: Callable[[str], None] = lambda _why: None
) -> Iterator[str]:
    """Acquire a writer's lock and yield "", or yield the reason for the failure in one line.

    If another process has the lock, ``waiting`` is called with the reason, followed by a wait of
    ``patience`` seconds. A killed process releases its lock.
    """
    lock: AbstractContextManager[object] | None = None
    refused = ""
    try:
        lock = _acquire(path, 0)
        if lock is None:
            waiting(BUSY)
            lock = _acquire(path, patience)
        if lock is None:
            refused = BUSY
    except OSError as error:
        refused = str(storage_error(error, path))
    with lock or contextlib.nullcontext():
        yield refused


def _acquire(path: str, seconds: float) -> AbstractContextManager[object] | None:
    """Lock a file, or return None if another process still has the lock after ``seconds``.

    Raises OSError.
    """
    if fcntl is not None:
        return _acquire_flock(path, seconds)

    from filelock import FileLock, Timeout

    lock = FileLock(path, mode=_MODE, fallback_to_soft=False, thread_local=False)
    try:
        return lock.acquire(timeout=seconds, poll_interval=_POLL_SECONDS)
    except Timeout:
        return None


def _acquire_flock(path: str, seconds: float) -> _Flock | None:
    until = time.monotonic() + seconds
    while True:
        lock = _Flock(path)
        if lock.is_held:
            return lock
        lock.close()
        if time.monotonic() >= until:
            return None
        time.sleep(_POLL_SECONDS)


class _Flock:
    """A lock of one open file with ``flock``, in the same way as filelock takes it.

    The import of filelock takes three times as long as the start of Python, which every command
    that changes a card would wait for. Its users can run beside this class, since both lock the
    same file. The kernel releases the lock of a killed process.
    """

    def __init__(self, path: str) -> None:
        self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK, _MODE)
        self.is_held = False
        try:
            self.is_held = self._lock()
        except BaseException:
            self.close()
            raise

    def _lock(self) -> bool:
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            if error.errno in _HELD_BY_ANOTHER:
                return False
            raise
        # The process that had the lock may have removed the file. Nobody else can see it then.
        return os.fstat(self._file).st_nlink > 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        # A child process that was forked meanwhile has the same open file, so closing is not
        # enough.
        fcntl.flock(self._file, fcntl.LOCK_UN)
        self.close()

    def close(self) -> None:
        """Close the file."""
        os.close(self._file)

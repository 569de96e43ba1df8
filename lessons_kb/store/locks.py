"""Locks between this user's processes: of cards in the state home, of an index in its cache."""

from __future__ import annotations

import contextlib
import os
import sys
import time
import zlib
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager

from lessons_kb.errors import StorageError
from lessons_kb.store.catalogue import remove_any
from lessons_kb.store.files import read_regular, shown, storage_error
from lessons_kb.store.user_state import make_private, state_home

_BUCKETS = 64
_SECONDS = 30.0
_POLL_SECONDS = 0.005
_MAX_HOLDER_BYTES = 1_000


def locked(full: str) -> AbstractContextManager[object]:
    """Hold the lock of one real path; a killed holder frees it.

    Paths share 64 lock files, so that their number stays small, and two brains that contain the
    same file share its lock: never hold two at once. Raises StorageError after 30 seconds.
    """
    return _hold(full, f"{_bucket(full):02d}.lock")


def hold_new(root: str) -> AbstractContextManager[object]:
    """Hold what lets one process at a time look for near-duplicates and write a new card.

    Taken before a ``locked``, never within one. Raises StorageError after 30 seconds.
    """
    return _hold(root, f"new-{_bucket(root):02d}.lock")


def _bucket(full: str) -> int:
    return zlib.crc32(os.fsencode(full)) % _BUCKETS


def _hold(full: str, name: str) -> AbstractContextManager[object]:
    folder = os.path.join(state_home(), "locks")
    make_private(folder)
    from filelock import FileLock, Timeout

    lock = FileLock(os.path.join(folder, name), mode=0o600, fallback_to_soft=False)
    try:
        return lock.acquire(timeout=_SECONDS, poll_interval=_POLL_SECONDS)
    except Timeout:
        raise StorageError(
            f"{shown(full)}: locked by another lessons process; wait for it or stop it"
        ) from None
    except OSError as error:
        raise storage_error(error, folder) from None


@contextlib.contextmanager
def hold_writer(
    path: str, *, patience: float, waiting: Callable[[str], None] | None = None
) -> Iterator[str]:
    """Hold a writer's lock and yield "", or yield in one line why it cannot be had.

    ``patience`` in seconds; ``waiting`` is called once with whom it waits for. A killed holder
    frees the lock. Raises OSError.
    """
    from filelock import FileLock, Timeout

    lock = FileLock(path, fallback_to_soft=False)
    until = time.monotonic() + patience
    while True:
        try:
            lock.acquire(blocking=False)
            break
        except Timeout:
            holder = _read_holder(path)
            if time.monotonic() >= until:
                yield holder
                return
            if waiting is not None:
                waiting(holder)
                waiting = None
        except OSError as error:
            if not os.path.lexists(path) or os.path.isfile(path):
                yield str(storage_error(error, path))
                return
            remove_any(path)  # something else has the name of the lock in our cache
            continue
        time.sleep(_POLL_SECONDS)
    try:
        _write_holder(path)
        yield ""
    finally:
        _write_holder(path, b"")
        lock.release()


def _write_holder(path: str, data: bytes | None = None) -> None:
    """Say in a lock file who holds it; one that cannot be written locks all the same."""
    if data is None:
        program, *arguments = sys.argv or [""]
        name = os.path.basename(program).removesuffix(".exe")
        command = arguments[0] if arguments and arguments[0].isalpha() else ""
        name = "lessons" if name in ("-c", "-m", "") else name
        data = f"{os.getpid()}\n{time.time():.0f}\n{name} {command}".strip().encode()
    with contextlib.suppress(OSError), open(path, "r+b") as file:
        file.write(data[:_MAX_HOLDER_BYTES])
        file.truncate()


def _read_holder(path: str) -> str:
    """Return who holds a lock."""
    try:
        text = read_regular(path, limit=_MAX_HOLDER_BYTES, name=path).decode("utf-8", "replace")
        number, began, command = text.split("\n")
        pid, since = int(number), time.strftime("%H:%M:%S", time.localtime(float(began)))
    except (OSError, StorageError, ValueError, OverflowError):
        return "another process is writing the index"
    return f"{shown(command)} (process {pid}) has been writing the index since {since}"

"""Locks between this user's processes, kept in the state home, never beside a card."""

from __future__ import annotations

import os
import zlib

from lessons_kb.errors import StorageError
from lessons_kb.storage.disk import shown, storage_error
from lessons_kb.storage.locate import state_home
from lessons_kb.storage.state import make_private

TYPE_CHECKING = False
if TYPE_CHECKING:
    from contextlib import AbstractContextManager

_BUCKETS = 64
_SECONDS = 30.0
_POLL_SECONDS = 0.005


def locked(full: str) -> AbstractContextManager[object]:
    """Hold the lock of one real path; a killed holder frees it.

    Paths share 64 lock files, so that their number stays small, and two brains that contain the
    same file share its lock: never hold two at once. Raises StorageError after 30 seconds.
    """
    return _hold(full, f"{_bucket(full):02d}.lock")


def hold_new(root: str) -> AbstractContextManager[object]:
    """Hold what lets one process at a time look for a lesson's twin and write its card.

    Taken before a ``locked``, never within one. Raises StorageError after 30 seconds.
    """
    return _hold(root, f"new-{_bucket(root):02d}.lock")


def _bucket(full: str) -> int:
    return zlib.crc32(os.fsencode(full)) % _BUCKETS


def _hold(full: str, name: str) -> AbstractContextManager[object]:
    from filelock import FileLock, Timeout

    folder = os.path.join(state_home(), "locks")
    make_private(folder)
    lock = FileLock(os.path.join(folder, name), mode=0o600)
    try:
        return lock.acquire(timeout=_SECONDS, poll_interval=_POLL_SECONDS)
    except Timeout:
        raise StorageError(
            f"{shown(full)}: another lessons process holds its lock; wait for it, or end it"
        ) from None
    except OSError as error:
        raise storage_error(error, folder) from None

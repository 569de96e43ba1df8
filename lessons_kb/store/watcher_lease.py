"""A watcher's word that a brain's index is up to date: it spares other processes the scan.

A small file in the cache folder, gone at the first sign of a change. In the process that gave it,
it counts while it lies there; in others only while it is renewed, for its giver may be stopped.
"""

from __future__ import annotations

import contextlib
import os
import time
from functools import cache

from lessons_kb.errors import StorageError
from lessons_kb.store.disk import read_regular

LEASE_NAME = "watch.lease"
_LONGEST_SECONDS = 2.5
"""Age at which a lease counts no more: its giver was stopped or is busy."""
_BOOT_ID = "/proc/sys/kernel/random/boot_id"
_MAX_BYTES = 200


def is_leased(cache: str) -> bool:
    """Tell whether a running watcher vouches that all changes so far are indexed."""
    path = os.path.join(cache, LEASE_NAME)
    try:
        word = read_regular(path, limit=_MAX_BYTES, name=path)
        if word == _word():
            return True
        age = time.time() - os.stat(path).st_mtime
    except (OSError, StorageError):
        return False
    return -1.0 < age < _LONGEST_SECONDS and _is_alive(word)


def is_abandoned(cache: str) -> bool:
    """Tell whether a lease is left of a watcher that is gone."""
    path = os.path.join(cache, LEASE_NAME)
    try:
        return not _is_alive(read_regular(path, limit=_MAX_BYTES, name=path))
    except FileNotFoundError:
        return False
    except (OSError, StorageError):
        return True


def drop_lease(cache: str) -> None:
    """Take back the word of whichever watcher gave it: this process has changed a file."""
    with contextlib.suppress(OSError):
        os.unlink(os.path.join(cache, LEASE_NAME))


class Lease:
    """The giver's side. One thread settles and renews; any thread may drop."""

    def __init__(self, cache: str) -> None:
        self._cache = cache
        self._path = os.path.join(cache, LEASE_NAME)
        self._signs = 1
        self._settled = 0
        self._given = False

    def drop(self) -> None:
        """Take the word back at the first sign of a change."""
        self._signs += 1
        self._given = False
        drop_lease(self._cache)

    def settle(self) -> None:
        """Note that a refresh begins, which covers every sign so far."""
        self._settled = self._signs
        self._given = False

    def holds(self) -> bool:
        """Tell whether the word is given, and no other process has dropped it."""
        return self._given and os.path.exists(self._path)

    def is_taken(self) -> bool:
        """Tell whether another process has dropped the word that is given."""
        return self._given and not os.path.exists(self._path)

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
            temp = f"{self._path}.{os.getpid()}"
            with open(temp, "wb") as file:
                file.write(_word())
            os.replace(temp, self._path)
            self._given = True
        except OSError:
            self._given = False
            self._signs += 1
        if self._signs != seen:  # the sign came while the file did
            self._given = False
            drop_lease(self._cache)


def _is_alive(word: bytes) -> bool:
    """Tell whether the process that gave this word still runs."""
    try:
        number, boot, _began = word.split(b" ")
        if not boot or boot != _boot_id():
            return False
        os.kill(int(number), 0)
    except (OSError, ValueError, OverflowError):
        return False
    return True


@cache
def _word() -> bytes:
    """Return what this process writes; no other writes the same."""
    return b"%d %s %d" % (os.getpid(), _boot_id(), time.monotonic_ns())


@cache
def _boot_id() -> bytes:
    """Return what another start of the system has not; b"" where nothing tells."""
    try:
        with open(_BOOT_ID, "rb") as file:
            return file.read(_MAX_BYTES // 2).strip()
    except OSError:
        return b""

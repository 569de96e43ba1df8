"""A watcher's word that a brain's index is up to date: it spares other processes the scan.

A small file in the cache folder, gone at the first sign of a change. In the process that gave it,
it counts while it lies there; in others only while it is renewed, for its giver may be stopped. It
is about the folder that was watched: another that takes the brain's place is not vouched for.
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


def is_leased(cache: str, root: str) -> bool:
    """Tell whether a running watcher vouches that all changes of ``root`` so far are indexed."""
    path = os.path.join(cache, LEASE_NAME)
    try:
        giver, _, folder = read_regular(path, limit=_MAX_BYTES, name=path).partition(b"\n")
        if not folder or folder != _folder(root):
            return False
        if giver == _giver():
            return True
        age = time.time() - os.stat(path).st_mtime
    except (OSError, StorageError):
        return False
    return -1.0 < age < _LONGEST_SECONDS and _is_alive(giver)


def is_abandoned(cache: str) -> bool:
    """Tell whether a lease is left of a watcher that is gone."""
    path = os.path.join(cache, LEASE_NAME)
    try:
        giver, _, _folder = read_regular(path, limit=_MAX_BYTES, name=path).partition(b"\n")
        return not _is_alive(giver)
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

    def __init__(self, cache: str, root: str) -> None:
        self._root = root
        self._folder = b""
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
            temp = f"{self._path}.{os.getpid()}"
            with open(temp, "wb") as file:
                file.write(_giver() + b"\n" + self._folder)
            os.replace(temp, self._path)
            self._given = True
        except OSError:
            self._given = False
            self._signs += 1
        if self._signs != seen:  # the sign came while the file did
            self._given = False
            drop_lease(self._cache)


def _is_alive(giver: bytes) -> bool:
    """Tell whether this process still runs."""
    try:
        number, boot, _began = giver.split(b" ")
        if not boot or boot != _boot_id():
            return False
        os.kill(int(number), 0)
    except (OSError, ValueError, OverflowError):
        return False
    return True


def _folder(root: str) -> bytes:
    """Return what tells this folder from another that takes its name; b"" where there is none."""
    try:
        info = os.stat(root)
    except OSError:
        return b""
    return b"%d %d" % (info.st_dev, info.st_ino)


@cache
def _giver() -> bytes:
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

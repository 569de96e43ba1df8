"""A watcher's word that a brain's index is up to date: it spares searches the scan.

A small file in the cache folder, gone at the first sign of a change; each process that watches has
its own. In the process that gave it, it counts while it lies there; in others only while it is
renewed, for its giver may be stopped. It is about the folder that was watched: another that takes
the brain's place is not vouched for.
"""

from __future__ import annotations

import contextlib
import os
import time
from functools import cache

from lessons_kb.errors import StorageError
from lessons_kb.store.disk import read_regular
from lessons_kb.store.locks import find_process_state

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

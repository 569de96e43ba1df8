"""Put one file in another's place so that nothing another program writes meanwhile is gone.

A lock binds only those who take it; an editor does not. So a card is never simply replaced:

- ``exchange`` swaps two names in one atomic step (``renameat2`` with ``RENAME_EXCHANGE``).
  Whatever stood at the card, even if it was saved there a microsecond earlier, now stands under
  a name of ours and can be compared with what we had read. Where the system lacks the call, the
  old file is hard-linked before it is replaced, which leaves a window of microseconds for an
  editor that saves by renaming, and none for one that writes in place.
- ``read_settled`` reads while nobody writes: a Linux read lease is granted only while no process
  has the file open for writing, so a save that has begun is waited for and seen whole.
- ``rename_new`` gives a file a name that must be free.

Where a program keeps a card open and writes into it later, it writes into the file displaced by
``exchange``; ``store.trash`` therefore keeps that file until nobody has it open.
"""

from __future__ import annotations

import errno
import os
import time
from collections.abc import Callable

from lessons_kb.store.disk import read_regular

_AT_FDCWD = -100
_RENAME_NOREPLACE = 1
_RENAME_EXCHANGE = 2
_UNSUPPORTED = frozenset(
    {errno.EINVAL, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP, errno.EMLINK, errno.EPERM}
)
_LEASE_POLL_SECONDS = 0.005


def exchange(temp: str, target: str) -> None:
    """Put ``temp`` at ``target`` atomically; what stood there is then called ``temp``.

    Raises OSError and changes nothing; FileNotFoundError when there is no ``target``.
    """
    if _renameat2(temp, target, _RENAME_EXCHANGE):
        return
    kept = temp + ".kept"
    _duplicate(target, kept)
    try:
        os.replace(temp, target)
    except BaseException:
        os.unlink(kept)
        raise
    os.replace(kept, temp)


def rename_new(source: str, target: str) -> None:
    """Rename a file to a name that is free; FileExistsError when it is not."""
    if _renameat2(source, target, _RENAME_NOREPLACE):
        return
    try:
        os.link(source, target, follow_symlinks=False)
    except FileExistsError:
        raise
    except (OSError, NotImplementedError) as error:
        if isinstance(error, OSError) and error.errno not in _UNSUPPORTED:
            raise
        # No hard links here (FAT, some network shares): the test and the rename are two steps.
        if os.path.lexists(target):
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), target) from None
        os.rename(source, target)
    else:
        os.unlink(source)


def read_settled(full: str, *, until: float, limit: int, name: str) -> bytes:
    """Read a regular file at a moment when nobody has it open for writing.

    Waits for writers ``until`` this ``time.monotonic()``, then reads what there is. Errors are
    those of ``disk.read_regular``.
    """
    while True:
        data = _under_lease(full, lambda: read_regular(full, limit=limit, name=name))
        if data is not None:
            return data
        if time.monotonic() >= until:
            return read_regular(full, limit=limit, name=name)
        time.sleep(_LEASE_POLL_SECONDS)


def is_being_written(full: str) -> bool:
    """Tell whether a process has the file open for writing; False where no system call says."""
    return _under_lease(full, lambda: b"") is None


def _under_lease(full: str, read: Callable[[], bytes]) -> bytes | None:
    """Return ``read()`` while no process can write the file, None if one has it open to write."""
    try:
        import fcntl
        from signal import SIGURG

        set_lease, set_signal = fcntl.F_SETLEASE, fcntl.F_SETSIG
    except (ImportError, AttributeError):
        return read()
    file = os.open(full, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        try:
            # A program that opens the file while we hold the lease makes the kernel tell us by
            # SIGIO, which ends a process; SIGURG does nothing. That program waits until we close.
            fcntl.fcntl(file, set_signal, SIGURG)
            fcntl.fcntl(file, set_lease, fcntl.F_RDLCK)
        except OSError as error:
            if error.errno == errno.EAGAIN:
                return None
            return read()  # this file system has no leases, or not for this user
        return read()
    finally:
        os.close(file)  # ends the lease


def _duplicate(source: str, target: str) -> None:
    try:
        os.link(source, target)
    except FileNotFoundError:
        raise
    except OSError as error:
        if error.errno not in _UNSUPPORTED:
            raise

        import shutil

        shutil.copy2(source, target)


def _renameat2(source: str, target: str, flags: int) -> bool:
    """Call ``renameat2``; False where the system or the file system does not know the flag."""
    try:
        import ctypes

        function = ctypes.CDLL(None, use_errno=True).renameat2
    except (AttributeError, OSError, TypeError):
        return False
    if not function(_AT_FDCWD, os.fsencode(source), _AT_FDCWD, os.fsencode(target), flags):
        return True
    code = ctypes.get_errno()
    if code in (errno.EINVAL, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP):
        return False
    raise OSError(code, os.strerror(code), source, None, target)

"""Where each session of an agent began, and what was said in it but once.

Agents change directory, a session's brain does not.
"""

from __future__ import annotations

import os
import time
import zlib

from lessons_kb.errors import StorageError
from lessons_kb.storage.locate import state_home
from lessons_kb.storage.state import make_private

_FOLDER = "sessions"
_KEPT_SECONDS = 30 * 86_400
_MAX_BYTES = 8_192
_FORGET_EVERY = 8
"""Old pins are looked for in about one of so many new sessions."""


def pin_directory(session: str, directory: str) -> str:
    """Return the directory that was pinned at the session's first event, ``directory`` if now.

    A pin that cannot be written or that names no folder any more leaves ``directory`` as it is.
    """
    path = _path(session)
    try:
        with open(path, "rb") as file:
            pinned = os.fsdecode(file.read(_MAX_BYTES))
        return pinned if os.path.isdir(pinned) else directory
    except OSError:
        pass
    _begin(path, os.fsencode(directory)[:_MAX_BYTES])
    return directory


def is_noted(session: str, what: str) -> bool:
    """Tell whether ``note`` was called for this session and matter."""
    return os.path.lexists(f"{_path(session)}-{what}")


def note(session: str, what: str) -> bool:
    """Note something that is done once a session; False if that cannot be noted, or is already."""
    return _begin(f"{_path(session)}-{what}", b"")


def _path(session: str) -> str:
    raw = session.encode("utf-8", "replace")
    name = f"{len(raw):x}-{zlib.crc32(raw):08x}{zlib.adler32(raw):08x}"
    return os.path.join(state_home(), _FOLDER, name)


def _begin(path: str, data: bytes) -> bool:
    try:
        folder = os.path.dirname(path)
        make_private(folder)
        if zlib.crc32(os.fsencode(path)) % _FORGET_EVERY == 0:
            _forget_old(folder)
        # Not synced to the disk: a lost pin costs nothing, waiting for the disk is felt.
        fresh = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            os.write(fresh, data)
        finally:
            os.close(fresh)
    except (OSError, StorageError):
        return False
    return True


def _forget_old(folder: str) -> None:
    before = time.time() - _KEPT_SECONDS
    with os.scandir(folder) as entries:
        for entry in entries:
            try:
                if entry.stat(follow_symlinks=False).st_mtime < before:
                    os.unlink(entry.path)
            except OSError:
                continue

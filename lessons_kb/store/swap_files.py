"""Replace or remove a file only if it still has the expected content.

The version that an editor saves meanwhile has priority.
"""

from __future__ import annotations

import os
import time

from lessons_kb.store.files import (
    MAX_TEXT_BYTES,
    copy_attributes,
    discard,
    exchange,
    on_failure,
    read_regular,
    read_settled,
    rename_new,
    sync_folder,
    write_temp,
)

_PATIENCE_SECONDS = 1.0
"""The time to wait for a program that is in the middle of a save."""


def swap_file(full: str, expected: bytes, data: bytes, *, temp: str) -> bool:
    """Replace ``expected`` by ``data`` atomically. Return False if the file has other content.

    Mode, owner and extended attributes are preserved. ``temp`` is an unused name beside the file.
    That file contains our bytes before the exchange and the displaced bytes after it. So a later
    process can determine the last step of a process that was killed. Raises OSError or
    StorageError.
    """
    folder, name = os.path.split(temp)
    write_temp(folder, data, like=os.stat(full), name=name)
    with on_failure(discard, temp, data):
        copy_attributes(full, temp)
        is_expected = _read_settled(full) == expected
        if is_expected:
            exchange(temp, full)
    if not is_expected:
        discard(temp, data)
        return False
    sync_folder(os.path.dirname(full))
    if _read_settled(temp) == expected:
        os.unlink(temp)
        return True
    put_back(full, temp, data)
    return False


def remove_file(full: str, expected: bytes, *, temp: str) -> bool:
    """Remove a file. Return False if its content is not ``expected``. See ``swap_file``."""
    if _read_settled(full) != expected:
        return False
    rename_new(full, temp)
    sync_folder(os.path.dirname(full))
    if _read_settled(temp) == expected:
        os.unlink(temp)
        return True
    try:
        rename_new(temp, full)
    except FileExistsError:  # a program has saved the file again, and the newest version stays
        os.unlink(temp)
    return False


def create_file(full: str, data: bytes, *, mode: int, temp: str) -> None:
    """Write a new file with a mode. Raises FileExistsError if the name is taken."""
    folder, name = os.path.split(temp)
    os.makedirs(folder, exist_ok=True)
    write_temp(folder, data, name=name)
    with on_failure(discard, temp, data):
        os.chmod(temp, mode)
        rename_new(temp, full)
    sync_folder(folder)


def put_back(full: str, temp: str, ours: bytes) -> None:
    """Restore the version that another program saved at the moment of an exchange.

    ``temp`` contains this version. If a program has replaced ``ours`` since then, its version is
    newer and stays.
    """
    exchange(temp, full)
    if _read_settled(temp) != ours:
        exchange(temp, full)
    os.unlink(temp)
    sync_folder(os.path.dirname(full))


def _read_settled(full: str) -> bytes:
    until = time.monotonic() + _PATIENCE_SECONDS
    return read_settled(full, until=until, limit=MAX_TEXT_BYTES, name=full)


def read_or_none(full: str) -> bytes | None:
    """Return the bytes of a file, or None if there is none. Raises OSError or StorageError."""
    try:
        return read_regular(full, limit=MAX_TEXT_BYTES, name=full)
    except FileNotFoundError:
        return None

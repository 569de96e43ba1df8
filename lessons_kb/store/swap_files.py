"""Replace or remove a file only if it still holds what was read; what an editor saved wins."""

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
"""How long a program that is in the middle of a save is waited for."""


def swap_file(full: str, expected: bytes, data: bytes, *, temp: str) -> bool:
    """Put ``data`` at ``full`` in one step; return False if it no longer holds ``expected``.

    Mode, owner and extended attributes stay. ``temp`` is a free name beside the file. It holds our
    bytes before the exchange and the displaced ones after it, so that whoever finds it after a kill
    can tell which step was the last. Raises OSError, StorageError.
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
    """Remove a file; return False if it no longer holds ``expected``. See ``swap_file``."""
    if _read_settled(full) != expected:
        return False
    rename_new(full, temp)
    sync_folder(os.path.dirname(full))
    if _read_settled(temp) == expected:
        os.unlink(temp)
        return True
    try:
        rename_new(temp, full)
    except FileExistsError:  # saved once more, to a new file: the newest stays
        os.unlink(temp)
    return False


def create_file(full: str, data: bytes, *, mode: int, temp: str) -> None:
    """Write a whole new file with a mode; FileExistsError where a file has its name."""
    folder, name = os.path.split(temp)
    os.makedirs(folder, exist_ok=True)
    write_temp(folder, data, name=name)
    with on_failure(discard, temp, data):
        os.chmod(temp, mode)
        rename_new(temp, full)
    sync_folder(folder)


def put_back(full: str, temp: str, ours: bytes) -> None:
    """Give a file back what another program saved in the moment of an exchange.

    ``temp`` holds that. If a program has saved over ``ours`` since, that is newer and stays.
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
    """Return the bytes of a file, None where there is none. Raises OSError, StorageError."""
    try:
        return read_regular(full, limit=MAX_TEXT_BYTES, name=full)
    except FileNotFoundError:
        return None

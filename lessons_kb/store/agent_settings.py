"""Read and replace files that belong to other programs: the settings of coding agents.

Beside each replacement its record is kept in the state home, so that it can be undone.
"""

from __future__ import annotations

import json
import os
import stat
import time
from typing import Any

from lessons_kb.errors import StorageError
from lessons_kb.store.disk import read_regular, replace_whole, shown, storage_error
from lessons_kb.store.locate import state_home
from lessons_kb.store.locks import locked
from lessons_kb.store.user_state import brain_key, make_private, write_private
from lessons_kb.text.escape_controls import shell_word

MAX_BYTES = 50_000_000
KEPT_BACKUPS = 5

_RECORD = "record.json"
_ORIGINAL = "original"
_BACKUP = "backup-"


def read_settings_file(path: str) -> bytes | None:
    """Return the bytes of a file, None when there is none.

    Links are followed. Raises StorageError for what cannot be read or is no regular file.
    """
    try:
        return read_regular(path, limit=MAX_BYTES, name=path)
    except FileNotFoundError:
        if os.path.islink(path):
            raise StorageError(f"{shown(path)}: a broken link; fix or remove it") from None
        return None
    except OSError as error:
        raise storage_error(error, path) from None


def check_writable(path: str) -> None:
    """Raise StorageError when ``path`` cannot be replaced or made; nothing is touched.

    A file whose owner has taken its write permission away counts as one that must stay.
    """
    full = os.path.realpath(path)
    try:
        if not os.stat(full).st_mode & stat.S_IWUSR:
            raise StorageError(f"{shown(path)}: read-only; run `chmod u+w {shell_word(path)}`")
    except FileNotFoundError:
        pass
    except OSError as error:
        raise storage_error(error, path) from None
    folder = os.path.dirname(full)
    while not os.path.lexists(folder):
        folder = os.path.dirname(folder)
    if not os.path.isdir(folder):
        raise StorageError(f"{shown(folder)}: not a folder; move it away")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise StorageError(
            f"{shown(folder)}: permission denied; grant yourself access to the folder"
        )


def replace_settings_file(path: str, data: bytes | None, *, expected: bytes | None) -> list[str]:
    """Put ``data`` in the place of ``expected``, in one step; None stands for "no file".

    Mode and owner stay, a link is followed to its target. Returns the folders that were made,
    outermost first. Raises StorageError, also when the file is not as expected any more.
    """
    full = os.path.realpath(path)
    folder = os.path.dirname(full)
    made: list[str] = []
    while not os.path.isdir(folder) and os.path.dirname(folder) != folder:
        made.insert(0, folder)
        folder = os.path.dirname(folder)
    try:
        with locked(full):
            os.makedirs(os.path.dirname(full), exist_ok=True)
            if read_settings_file(full) != expected:
                raise StorageError(f"{shown(path)}: changed by another program; run this again")
            _replace(full, data, fresh=expected is None)
    except OSError as error:
        raise storage_error(error, path) from None
    return made


def overwrite(path: str, data: bytes) -> None:
    """Write into a temporary file of another program, which waits for us to end.

    Raises StorageError; then it may hold a part, and our exit code has to say so.
    """
    try:
        with open(path, "r+b") as file:
            file.write(data)
            file.truncate()
    except OSError as error:
        raise storage_error(error, path) from None


def remove_empty(folders: list[str]) -> None:
    """Remove those folders, innermost first, that hold nothing."""
    for folder in sorted(folders, key=len, reverse=True):
        try:
            os.rmdir(folder)
        except OSError:
            continue


def back_up(path: str, data: bytes) -> str:
    """Keep ``data``, what ``path`` holds now, and return where; the last few are kept."""
    folder = _folder(path, create=True)
    name = f"{_BACKUP}{time.time_ns():020d}-{os.path.basename(path)}"
    write_private(os.path.join(folder, name), data)
    backups = sorted(entry for entry in os.listdir(folder) if entry.startswith(_BACKUP))
    for old in backups[:-KEPT_BACKUPS]:
        os.unlink(os.path.join(folder, old))
    return os.path.join(folder, name)


def read_change(path: str) -> tuple[dict[str, Any], bytes | None]:
    """Return what is remembered of our change of a file, ({}, None) when nothing is.

    The second is what the file held before, None when there was no file.
    """
    folder = _folder(path)
    name = os.path.join(folder, _RECORD)
    try:
        record = json.loads(read_regular(name, limit=MAX_BYTES, name=name))
        if not isinstance(record, dict):
            return {}, None
        original = os.path.join(folder, _ORIGINAL)
        before = (
            read_regular(original, limit=MAX_BYTES, name=original) if record["existed"] else None
        )
    except (OSError, StorageError, ValueError, KeyError):
        return {}, None
    return record, before


def remember_change(path: str, record: dict[str, Any], original: bytes | None) -> None:
    """Keep ``record`` (plain JSON data) and what the file held before it was changed first."""
    folder = _folder(path, create=True)
    if original is not None:
        write_private(os.path.join(folder, _ORIGINAL), original)
    kept = {**record, "path": os.path.realpath(path), "existed": original is not None}
    write_private(os.path.join(folder, _RECORD), json.dumps(kept).encode())


def forget_change(path: str) -> None:
    """Forget what ``remember_change`` kept; backups stay."""
    for name in (_RECORD, _ORIGINAL):
        try:
            os.unlink(os.path.join(_folder(path), name))
        except FileNotFoundError:
            continue
        except OSError as error:
            raise storage_error(error, path) from None


def _folder(path: str, *, create: bool = False) -> str:
    folder = os.path.join(state_home(), "installs", brain_key(path))
    if create:
        make_private(folder)
    return folder


def _replace(full: str, data: bytes | None, *, fresh: bool) -> None:
    if data is not None:
        replace_whole(full, data, fresh=fresh)
    elif not fresh:
        os.unlink(full)

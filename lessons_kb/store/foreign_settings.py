"""Change settings files of other programs atomically, and store their former content."""

from __future__ import annotations

import contextlib
import difflib
import json
import os
import stat
import time
from typing import Any

from lessons_kb.errors import StorageError
from lessons_kb.store.files import (
    list_folder,
    read_json,
    read_regular,
    replace_whole,
    shown,
    storage_errors,
)
from lessons_kb.store.identity import brain_key
from lessons_kb.store.locations import state_home
from lessons_kb.store.locks import locked
from lessons_kb.store.private_files import write_private
from lessons_kb.text.redact import redact
from lessons_kb.text.sanitize import shell_word
from lessons_kb.values import frozen

MAX_BYTES = 50_000_000


KEPT_BACKUPS = 5


_RECORD = "record.json"


_ORIGINAL = "original"


_BACKUP = "backup-"


_INSTALLS = "installs"
"""The folder in the state home with one folder for each changed file of another program."""


def read_settings_file(path: str) -> bytes | None:
    """Return the bytes of a file, or None if there is none.

    Links are followed. Raises StorageError if the file cannot be read or is not a regular file.
    """
    with storage_errors(path), contextlib.suppress(FileNotFoundError):
        return read_regular(path, limit=MAX_BYTES, name=path)
    if os.path.islink(path):
        raise StorageError(f"{shown(path)}: a broken link; fix or remove it")
    return None


def check_writable(path: str) -> None:
    """Raise StorageError if ``path`` cannot be replaced or created, without changing anything.

    A file without write permission must not be changed, even if its folder allows a replacement.
    """
    full = os.path.realpath(path)
    with storage_errors(path), contextlib.suppress(FileNotFoundError):
        if not os.stat(full).st_mode & stat.S_IWUSR:
            raise StorageError(f"{shown(path)}: read-only; run `chmod u+w {shell_word(path)}`")
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
    """Replace the content ``expected`` by ``data``, atomically. None means that there is no file.

    Mode and owner are preserved, and a link is followed to its target. A file with a second name
    (a hard link) is written in place, which is not atomic, because a replacement would separate the
    names. Return the folders that were created, outermost first. Raises StorageError, also if the
    content is not as expected.
    """
    full = os.path.realpath(path)
    folder = os.path.dirname(full)
    created: list[str] = []
    while not os.path.isdir(folder) and os.path.dirname(folder) != folder:
        created.insert(0, folder)
        folder = os.path.dirname(folder)
    with storage_errors(path), locked(full):
        os.makedirs(os.path.dirname(full), exist_ok=True)
        if read_settings_file(full) != expected:
            raise StorageError(f"{shown(path)}: changed by another program; run this again")
        if data is not None and expected is not None and os.stat(full).st_nlink > 1:
            overwrite(full, data)
        elif data is not None:
            replace_whole(full, data, fresh=expected is None)
        elif expected is not None:
            os.unlink(full)
    return created


def make_executable(path: str) -> None:
    """Make one of our files executable for its owner. Raises StorageError."""
    with storage_errors(path):
        os.chmod(path, os.stat(path).st_mode | 0o100)


@frozen
class FileChange:
    """A change of one file or of a key in git's configuration, which was made or is planned."""

    path: str
    action: str
    """``created``, ``changed``, ``unchanged``, ``removed`` (the file), ``kept`` (another agent
    uses the same entries), ``foreign`` (another program's file has this name), ``unread``
    (another program's file, which cannot be parsed) or ``edited`` (somebody changed our file)."""
    diff: str = ""
    """Unified diff, without secrets."""
    backup: str = ""
    """The path of a copy of the file's former content; "" if there is none."""


def show_change(path: str, before: bytes | None, after: bytes | None) -> str:
    """Return a change of a file as a unified diff, without secrets."""
    old = (before or b"").decode("utf-8", "replace").splitlines()
    new = (after or b"").decode("utf-8", "replace").splitlines()
    old_name = os.devnull if before is None else path
    new_name = os.devnull if after is None else path
    return redact("\n".join(difflib.unified_diff(old, new, old_name, new_name, lineterm="", n=2)))


def overwrite(path: str, data: bytes) -> None:
    """Write into a temporary file of another program, which waits until our process ends.

    Raises StorageError. The file may then be incomplete, so our exit code must report the failure.
    """
    with storage_errors(path), open(path, "r+b") as file:
        file.write(data)
        file.truncate()


def remove_empty(folders: list[str]) -> None:
    """Remove the folders that are empty, innermost first."""
    for folder in sorted(folders, key=len, reverse=True):
        with contextlib.suppress(OSError):
            os.rmdir(folder)


def back_up(path: str, data: bytes) -> str:
    """Save ``data``, the present content of ``path``, and return the path of the copy.

    Only the last KEPT_BACKUPS copies are preserved.
    """
    folder = _folder(path)
    name = f"{_BACKUP}{time.time_ns():020d}-{os.path.basename(path)}"
    write_private(os.path.join(folder, name), data)
    backups = sorted(entry for entry in os.listdir(folder) if entry.startswith(_BACKUP))
    for old in backups[:-KEPT_BACKUPS]:
        os.unlink(os.path.join(folder, old))
    return os.path.join(folder, name)


def read_change(path: str) -> tuple[dict[str, Any], bytes | None]:
    """Return the record of our change of a file, and the file's former content.

    The content is None if there was no file. Return ({}, None) if there is no record.
    """
    folder = _folder(path)
    record = read_json(os.path.join(folder, _RECORD), limit=MAX_BYTES)
    original = os.path.join(folder, _ORIGINAL)
    with contextlib.suppress(OSError, StorageError):
        existed = record.get("existed")
        return record, read_regular(original, limit=MAX_BYTES, name=original) if existed else None
    return {}, None


def remember_change(path: str, record: dict[str, Any], original: bytes | None) -> None:
    """Store ``record`` (plain JSON data) and the content of the file before its first change."""
    folder = _folder(path)
    if original is not None:
        write_private(os.path.join(folder, _ORIGINAL), original)
    data = {**record, "path": os.path.realpath(path), "existed": original is not None}
    write_private(os.path.join(folder, _RECORD), json.dumps(data).encode())


def forget_change(path: str) -> None:
    """Delete the data that ``remember_change`` stored, but not the backups."""
    for name in (_RECORD, _ORIGINAL):
        with storage_errors(path), contextlib.suppress(FileNotFoundError):
            os.unlink(os.path.join(_folder(path), name))


def has_changes() -> bool:
    """Return whether there is a record of any change."""
    return bool(list_folder(os.path.join(state_home(), _INSTALLS)))


def list_changes() -> list[dict[str, Any]]:
    """Return the records of the changed files that still exist, in the order of paths."""
    installs = os.path.join(state_home(), _INSTALLS)
    records = [
        read_json(os.path.join(installs, name, _RECORD), limit=MAX_BYTES)
        for name in list_folder(installs)
    ]
    remaining = [record for record in records if os.path.exists(str(record.get("path", "")))]
    return sorted(remaining, key=lambda record: str(record["path"]))


def _folder(path: str) -> str:
    return os.path.join(state_home(), _INSTALLS, brain_key(path))

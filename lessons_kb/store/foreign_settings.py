"""Settings files of other programs: change them in one step, keep what was there."""

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
"""In the state folder: a folder for each file of another program that we changed."""


def read_settings_file(path: str) -> bytes | None:
    """Return the bytes of a file, None when there is none.

    Links are followed. Raises StorageError for what cannot be read or is no regular file.
    """
    with storage_errors(path), contextlib.suppress(FileNotFoundError):
        return read_regular(path, limit=MAX_BYTES, name=path)
    if os.path.islink(path):
        raise StorageError(f"{shown(path)}: a broken link; fix or remove it")
    return None


def check_writable(path: str) -> None:
    """Raise StorageError when ``path`` cannot be replaced or made; nothing is touched.

    A file whose owner has taken its write permission away counts as one that must stay.
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
    with storage_errors(path), locked(full):
        os.makedirs(os.path.dirname(full), exist_ok=True)
        if read_settings_file(full) != expected:
            raise StorageError(f"{shown(path)}: changed by another program; run this again")
        if data is not None:
            replace_whole(full, data, fresh=expected is None)
        elif expected is not None:
            os.unlink(full)
    return made


def make_executable(path: str) -> None:
    """Let the owner run a file of ours. Raises StorageError."""
    with storage_errors(path):
        os.chmod(path, os.stat(path).st_mode | 0o100)


@frozen
class FileChange:
    """What is or would be done to one file, or to a key of git's configuration."""

    path: str
    action: str
    """``created``, ``changed``, ``unchanged``, ``removed`` (the file), ``kept`` (another agent
    uses the same entries), ``foreign`` (a file of somebody else's stands in its place) or
    ``unread`` (somebody else's file that cannot be parsed)."""
    diff: str = ""
    """Unified, without secrets."""
    backup: str = ""
    """Where the file's former content is kept."""


def show_change(path: str, before: bytes | None, after: bytes | None) -> str:
    """Return a change of a file as a unified diff, without secrets."""
    old, new = ((data or b"").decode("utf-8", "replace").splitlines() for data in (before, after))
    was, is_now = (os.devnull if data is None else path for data in (before, after))
    return redact("\n".join(difflib.unified_diff(old, new, was, is_now, lineterm="", n=2)))


def overwrite(path: str, data: bytes) -> None:
    """Write into a temporary file of another program, which waits for us to end.

    Raises StorageError; then it may hold a part, and our exit code has to say so.
    """
    with storage_errors(path), open(path, "r+b") as file:
        file.write(data)
        file.truncate()


def remove_empty(folders: list[str]) -> None:
    """Remove those folders, innermost first, that hold nothing."""
    for folder in sorted(folders, key=len, reverse=True):
        with contextlib.suppress(OSError):
            os.rmdir(folder)


def back_up(path: str, data: bytes) -> str:
    """Keep ``data``, what ``path`` holds now, and return where; the last few are kept."""
    folder = _folder(path)
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
    record = read_json(os.path.join(folder, _RECORD), limit=MAX_BYTES)
    original = os.path.join(folder, _ORIGINAL)
    with contextlib.suppress(OSError, StorageError):
        existed = record.get("existed")
        return record, read_regular(original, limit=MAX_BYTES, name=original) if existed else None
    return {}, None


def remember_change(path: str, record: dict[str, Any], original: bytes | None) -> None:
    """Keep ``record`` (plain JSON data) and what the file held before it was changed first."""
    folder = _folder(path)
    if original is not None:
        write_private(os.path.join(folder, _ORIGINAL), original)
    kept = {**record, "path": os.path.realpath(path), "existed": original is not None}
    write_private(os.path.join(folder, _RECORD), json.dumps(kept).encode())


def forget_change(path: str) -> None:
    """Forget what ``remember_change`` kept; backups stay."""
    for name in (_RECORD, _ORIGINAL):
        with storage_errors(path), contextlib.suppress(FileNotFoundError):
            os.unlink(os.path.join(_folder(path), name))


def list_changes() -> list[dict[str, Any]]:
    """Return the records of the files that we changed and that are still there, by path."""
    installs = os.path.join(state_home(), _INSTALLS)
    records = [
        read_json(os.path.join(installs, name, _RECORD), limit=MAX_BYTES)
        for name in list_folder(installs)
    ]
    remaining = [record for record in records if os.path.exists(str(record.get("path", "")))]
    return sorted(remaining, key=lambda record: str(record["path"]))


def _folder(path: str) -> str:
    return os.path.join(state_home(), _INSTALLS, brain_key(path))

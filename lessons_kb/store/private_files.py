"""Files and folders that only this user can access."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import stat

from lessons_kb.errors import StorageError
from lessons_kb.store.files import (
    is_inside,
    read_regular,
    shown,
    storage_error,
    storage_errors,
    sync_folder,
    temporary,
)
from lessons_kb.store.locations import (
    STATE_HOME_VARIABLE,
    cache_home,
    state_home,
    user_brain,
    user_settings_path,
)
from lessons_kb.text.sanitize import shell_word

OTHERS = stat.S_IRWXG | stat.S_IRWXO


_MADE = "made-folders.json"
"""The file with the folders around ours that did not exist before."""


def make_private(folder: str) -> None:
    """Create a folder, and missing folders above it, with access for this user alone.

    Raises StorageError if it cannot be created.
    """
    home = state_home()
    is_first = is_inside(folder, home) and not os.path.lexists(home)
    missing = [path for path in _list_parents() if not os.path.lexists(path)] if is_first else []
    _make(folder)
    if missing:
        with contextlib.suppress(StorageError):  # an empty folder would be left
            write_private(os.path.join(home, _MADE), json.dumps(missing).encode())


def list_made_folders() -> list[str]:
    """Return the folders around ours, such as ``.local/share``, that did not exist before."""
    folders: list[str] = []
    with contextlib.suppress(OSError, StorageError, ValueError):
        made = json.loads(read_private(os.path.join(state_home(), _MADE), limit=10_000))
        folders = [path for path in _list_parents() if path in made]
    return folders


def _list_parents() -> list[str]:
    """Return the folders between the user's home and our own folders, such as ``.local/share``."""
    top = os.path.expanduser("~")
    parents: set[str] = set()
    for folder in (state_home(), user_brain(), cache_home(), os.path.dirname(user_settings_path())):
        parent = os.path.dirname(folder)
        while parent != top and is_inside(parent, top):
            parents.add(parent)
            parent = os.path.dirname(parent)
    return list(parents)


def _make(folder: str) -> None:
    try:
        os.mkdir(folder, 0o700)
    except FileNotFoundError:
        _make(os.path.dirname(folder))
        _make(folder)  # another process may have created it meanwhile
    except OSError as error:
        if not isinstance(error, FileExistsError) or not os.path.isdir(folder):
            if isinstance(error, PermissionError) or error.errno == errno.EROFS:
                raise StorageError(
                    f"{shown(folder)}: {error.strerror}; grant yourself access, or set HOME or "
                    f"{STATE_HOME_VARIABLE} to a folder that you can write to, or leave the "
                    "sandbox of an agent"
                ) from None
            raise storage_error(error, folder) from None


def read_private(path: str, *, limit: int) -> bytes:
    """Return the content of a file with a secret.

    Raises StorageError if other users can read the file, or if it is not a regular file of at most
    ``limit`` bytes. Raises OSError if the file cannot be read.
    """
    if os.name == "posix" and stat.S_IMODE(os.stat(path).st_mode) & OTHERS:
        raise StorageError(f"others can read {path}; run `chmod 600 {shell_word(path)}`")
    return read_regular(path, limit=limit, name=path)


def write_private(path: str, data: bytes) -> None:
    """Write a file that only this user can access, atomically and durably.

    Missing folders are created. Raises StorageError and then leaves the old file unchanged.
    """
    folder = os.path.dirname(path)
    make_private(folder)
    with storage_errors(path):
        with temporary(folder, data, private=True) as temp:
            os.replace(temp, path)
        sync_folder(folder)

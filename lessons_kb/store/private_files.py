"""Files and folders that only this user can access."""

from __future__ import annotations

import errno
import os
import stat

from lessons_kb.errors import StorageError
from lessons_kb.store.files import (
    read_regular,
    shown,
    storage_error,
    storage_errors,
    sync_folder,
    temporary,
)
from lessons_kb.store.locations import STATE_HOME_VARIABLE
from lessons_kb.text.sanitize import shell_word

OTHERS = stat.S_IRWXG | stat.S_IRWXO


def make_private(folder: str) -> None:
    """Create a folder, and missing folders above it, with access for this user alone.

    Raises StorageError if it cannot be created.
    """
    try:
        os.mkdir(folder, 0o700)
    except FileNotFoundError:
        make_private(os.path.dirname(folder))
        make_private(folder)  # another process may have created it meanwhile
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

"""The private folder in which everything observed about one brain is kept.

It lies under the user's state home, never in the repository, keyed by the brain's real path.
"""

from __future__ import annotations

import os

from lessons_kb.storage.disk import discard, storage_error, sync_folder, write_temp
from lessons_kb.storage.locate import state_home

_PLAIN = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-")
_MAX_KEY_BYTES = 200
_KEPT_OF_LONG_KEY = 150


def brain_key(root: str) -> str:
    """Return a readable folder name that no other brain has.

    The real path with ``+`` for its separators; a run of other characters is ``=``, the
    hexadecimal of its bytes, ``=``. A key beyond 200 bytes is cut and ends with ``==`` and a
    hash, which no short key contains.
    """
    path = os.path.realpath(root)
    parts = []
    unsafe = ""
    for character in (*path, ""):
        if character and character != os.sep and character not in _PLAIN:
            unsafe += character
            continue
        if unsafe:
            parts.append(f"={os.fsencode(unsafe).hex()}=")
            unsafe = ""
        parts.append("+" if character == os.sep else character)
    key = "".join(parts)
    if len(key) <= _MAX_KEY_BYTES:
        return key
    import hashlib

    digest = hashlib.blake2b(os.fsencode(path), digest_size=16).hexdigest()
    return f"{key[:_KEPT_OF_LONG_KEY]}=={digest}"


def state_dir(root: str, *, create: bool = True) -> str:
    """Return the state folder of the brain at ``root``, made with mode 0700 if asked for.

    Raises StorageError when it cannot be made.
    """
    path = os.path.join(state_home(), "brains", brain_key(root))
    if create:
        make_private(path)
    return path


def make_private(folder: str) -> None:
    """Make a folder, and those above it that are missing, for this user alone.

    Raises StorageError when it cannot be made.
    """
    try:
        os.mkdir(folder, 0o700)
    except FileNotFoundError:
        make_private(os.path.dirname(folder))
        make_private(folder)  # by now another process may have made it
    except OSError as error:
        if not isinstance(error, FileExistsError) or not os.path.isdir(folder):
            raise storage_error(error, folder) from None


def write_private(path: str, data: bytes) -> None:
    """Write a whole file for this user alone, atomically and durably; its folder must exist.

    Raises StorageError and leaves the old file as it was.
    """
    folder = os.path.dirname(path)
    try:
        temp = write_temp(folder, data, private=True)
        try:
            os.replace(temp, path)
        except BaseException:
            discard(temp, data)
            raise
        sync_folder(folder)
    except OSError as error:
        raise storage_error(error, path) from None

"""Secrets of the user: keys in files, and the key that decides which lessons are withheld."""

from __future__ import annotations

import os

from lessons_kb.errors import ConfigError, StorageError
from lessons_kb.store.locations import state_home
from lessons_kb.store.private_files import read_private, write_private

_KEY_NAME, _KEY_BYTES = "withhold.key", 32


def withhold_key() -> bytes:
    """Return the user's secret that determines which lessons are withheld.

    The first call creates it.

    Raises StorageError or OSError if the secret can be neither read nor written.
    """
    path = os.path.join(state_home(), _KEY_NAME)
    if not os.path.exists(path):
        write_private(path, os.urandom(_KEY_BYTES))
    return read_private(path, limit=_KEY_BYTES)


_MAX_KEY_BYTES = 10_000


def read_key(path: str) -> str:
    """Return the key in a file, or "" for the path "".

    Raises ConfigError if other users can read the file, or if it does not contain a single key.
    """
    if not path:
        return ""
    try:
        data = read_private(os.path.expanduser(path), limit=_MAX_KEY_BYTES)
        key = data.decode("ascii").strip()
    except StorageError as error:
        raise ConfigError(str(error)) from None
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: {error}; give a file that contains the key") from None
    if not key.isprintable() or " " in key:
        raise ConfigError(f"{path} contains more than a key; give a file with the key alone")
    return key

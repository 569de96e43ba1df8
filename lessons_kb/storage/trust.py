"""Whom this user trusts, and where a brain's cache may lie.

A brain that was merely found may be anyone's: nothing in it is believed, least of all that a
cache in it was made by us. The record of trust lies in the user's state folder.
"""

from __future__ import annotations

import os
import stat

from lessons_kb.config import MAX_CONFIG_BYTES
from lessons_kb.errors import ConfigError, StorageError
from lessons_kb.storage.disk import read_regular
from lessons_kb.storage.locate import CACHE_NAME, CONFIG_NAME, cache_home, user_brain
from lessons_kb.storage.state import brain_key, make_private, state_dir, write_private

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

_RECORD = "brain.json"
_MAX_RECORD_BYTES = 4 * MAX_CONFIG_BYTES + 100_000
_CACHE_PREFIX = "cache-"


def read_record(root: str) -> dict[str, Any] | None:
    """Return what this user's state knows of a brain, None when nothing (usable).

    Keys: ``root``, ``trusted``, ``made`` (by this user), ``config`` (the text of
    ``lessons.toml`` when trust was given, byte for byte as Latin-1, or None) and ``cache_token``.
    """
    import json

    real = os.path.realpath(root)
    path = os.path.join(state_dir(real, create=False), _RECORD)
    try:
        record = json.loads(read_regular(path, limit=_MAX_RECORD_BYTES, name=path))
    except (OSError, StorageError, ValueError):
        return None
    usable = isinstance(record, dict) and record.get("root") == real
    return record if usable and isinstance(record.get("cache_token"), str) else None


def is_trusted(root: str) -> bool:
    """Tell whether this user trusts the brain as it is now.

    A found brain whose ``lessons.toml`` has changed since is not; its text is compared, for
    times can be set by whoever writes the file. The user's own brain always is.
    """
    real = os.path.realpath(root)
    return _holds(real, read_record(real))


def trust(root: str, *, made: bool = False) -> None:
    """Remember that this user trusts the brain with its present ``lessons.toml``.

    ``made`` says that this user has made it: then later changes of ``lessons.toml`` are the
    user's own. Raises ConfigError for a ``lessons.toml`` that cannot be read, StorageError.
    """
    real = os.path.realpath(root)
    config = _config_text(real)
    if config == _UNREADABLE:
        raise ConfigError(f"{CONFIG_NAME}: not a readable file of {MAX_CONFIG_BYTES:,} bytes")
    record = read_record(real) or {}
    made = made or record.get("made") is True
    _write_record(real, trusted=True, made=made, config=config)


def revoke(root: str) -> None:
    """Take trust back; the brain is silent until it is trusted again. Raises StorageError."""
    _write_record(os.path.realpath(root), trusted=False, made=False, config=None)


def cache_dir(root: str) -> str:
    """Return the folder for a brain's catalogue and index, made if need be.

    In a trusted brain it is ``.lessons/cache-<token>``: the token is random and known to this
    user's state alone, so no repository, and no checkout over an existing folder, can bring a
    cache that would be read. Where ``.lessons`` is a link, belongs to someone else or cannot be
    written, and for a brain that is not trusted, it lies in the user's cache home. Raises
    StorageError when neither can be made.
    """
    real = os.path.realpath(root)
    record = read_record(real)
    trusted = _holds(real, record)
    if trusted and record is None:  # the user's own brain, seen for the first time
        record = _introduce(real)
    if record is not None:
        outer = os.path.join(real, CACHE_NAME)
        folder = os.path.join(outer, _CACHE_PREFIX + record["cache_token"])
        if (_is_ours(outer) and _is_ours(folder)) or (trusted and _make_inside(outer, folder)):
            return folder
    fallback = os.path.join(cache_home(), brain_key(real))
    make_private(fallback)
    return fallback


_UNREADABLE = "\0"
"""Stands for a ``lessons.toml`` that cannot be compared; no record holds it."""


def _holds(real: str, record: Mapping[str, Any] | None) -> bool:
    if record is None:
        return real == os.path.realpath(user_brain())
    if record.get("trusted") is not True:
        return False
    return record.get("made") is True or _config_text(real) == record.get("config", "")


def _introduce(real: str) -> dict[str, Any] | None:
    try:
        trust(real, made=True)
    except (ConfigError, StorageError):
        return None
    return read_record(real)


def _config_text(root: str) -> str | None:
    path = os.path.join(root, CONFIG_NAME)
    try:
        return read_regular(path, limit=MAX_CONFIG_BYTES, name=path).decode("latin-1")
    except FileNotFoundError:
        return None
    except (OSError, StorageError):
        return _UNREADABLE


def _write_record(root: str, *, trusted: bool, made: bool, config: str | None) -> None:
    import json

    from lessons_kb.storage.locks import locked

    path = os.path.join(state_dir(root), _RECORD)
    with locked(path):
        known = read_record(root)
        record = {
            "root": root,
            "trusted": trusted,
            "made": made,
            "config": config,
            "cache_token": known["cache_token"] if known else os.urandom(16).hex(),
        }
        write_private(path, json.dumps(record).encode())


def _is_ours(folder: str) -> bool:
    """Tell whether this is a real folder of this user that can be written."""
    try:
        info = os.lstat(folder)
    except OSError:
        return False
    mine = not hasattr(os, "geteuid") or info.st_uid == os.geteuid()
    return stat.S_ISDIR(info.st_mode) and mine and os.access(folder, os.W_OK | os.X_OK)


def _make_inside(outer: str, folder: str) -> bool:
    """Make the cache folder inside ``.lessons``; False when it cannot be."""
    import contextlib

    try:
        with contextlib.suppress(FileExistsError):
            os.mkdir(outer, 0o755)
        if not _is_ours(outer):
            return False
        with contextlib.suppress(FileExistsError):
            os.mkdir(folder, 0o755)
        if not _is_ours(folder):
            return False
        # A strange .lessons may have brought a .gitignore of its own: it stays, ours is inside.
        for where in (outer, folder):
            with (
                contextlib.suppress(FileExistsError),
                open(os.path.join(where, ".gitignore"), "xb") as file,
            ):
                file.write(b"*\n")
    except OSError:
        return False
    return True

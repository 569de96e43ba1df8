"""Whom this user trusts, and where a brain's cache may lie.

A brain that was merely found may be anyone's: nothing in it is believed, least of all that a
cache in it was made by us. The record of trust lies in the user's state folder, and holds for
the folder that has its token (``store.identity``), wherever that is and whatever took its place.
"""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Mapping
from typing import Any

from lessons_kb.config import MAX_CONFIG_BYTES
from lessons_kb.errors import ConfigError, StorageError
from lessons_kb.store.catalogue import FORMAT
from lessons_kb.store.files import read_regular
from lessons_kb.store.gate_files import remove_gate_files
from lessons_kb.store.identity import (
    Identity,
    brain_key,
    can_be_marked,
    identify,
    make_cache_folder,
    new_mark,
    read_record_of,
    read_records,
    rename_state,
    write_mark,
    write_record_of,
)
from lessons_kb.store.locations import CACHE_NAME, CONFIG_NAME, cache_home, user_brain
from lessons_kb.store.locks import locked
from lessons_kb.store.private_files import make_private

_CACHE_PREFIX = "cache-"

BY_PATH = ""
"""In a record in the place of a mark's path: the brain could not be written when it was trusted.
Such trust ends when it can be: then a folder that was exchanged is no longer told apart."""
UNKNOWN, CHANGED, COPY, REPLACED = "unknown", "changed", "copy", "replaced"
"""Why a brain is silent: never trusted, another ``lessons.toml`` than the trusted one, a copy of
a brain that is still there, another folder than the one that was trusted at its path."""


def read_record(root: str) -> dict[str, Any] | None:
    """Return what this user's state knows of a brain, None when nothing (usable).

    Keys: ``root`` (where it was last), ``trusted``, ``made`` (by this user), ``config`` (the text
    of ``lessons.toml`` when trust was given, byte for byte as Latin-1, or None), ``cache_token``,
    ``token`` and ``place`` (of its mark; absent where it is known by its path). A brain that has
    moved, and the state of the first release, is taken along on the way.
    """
    return _find_record(root)[1]


def _find_record(root: str) -> tuple[str, dict[str, Any] | None]:
    """Return the name of a brain's state folder with what `read_record` does."""
    real = os.path.realpath(root)
    found = identify(real)
    key, record = found.key, found.record
    if record is None or real == os.path.realpath(user_brain()):
        return key, record
    if found.mark:
        if record["place"] != found.place:  # it has moved; one put under git gets its mark there
            record = {**record, "root": real, "place": found.place}
            with contextlib.suppress(StorageError):
                if found.mark != found.place:
                    write_mark(found.place, key, record["token"])
                write_record_of(key, record)
        return key, record
    if record.get("place") == BY_PATH:
        return key, None if can_be_marked(found.place) else record
    outer = os.path.join(real, CACHE_NAME)
    cache = os.path.join(outer, _CACHE_PREFIX + record["cache_token"])
    if not (_is_ours(outer) and _is_ours(cache)):
        return key, None
    adopted = _adopt(real)
    return adopted.key, adopted.record


def is_trusted(root: str) -> bool:
    """Tell whether this user trusts the brain as it is now.

    A found brain whose ``lessons.toml`` has changed since is not; its text is compared, for
    times can be set by whoever writes the file. The user's own brain always is.
    """
    return bool(trusted_key(root))


def trusted_key(root: str) -> str:
    """Return the name of the state folder of a brain that `is_trusted`, "" of any other."""
    real = os.path.realpath(root)
    key, record = _find_record(real)
    return key if _holds(real, record) else ""


def is_same(root: str, other: str) -> bool:
    """Tell whether two folders are one brain, such as work trees of one repository."""
    first, second = identify(root), identify(other)
    return bool(first.mark) and first.key == second.key


def goes_by_path(root: str) -> bool:
    """Tell whether a brain is trusted by its path alone, because no mark can be written there."""
    record = read_record(root)
    return record is not None and record.get("place") == BY_PATH


def why_silent(root: str) -> str:
    """Return why a brain that is not trusted is silent: UNKNOWN, CHANGED, COPY or REPLACED."""
    real = os.path.realpath(root)
    found = identify(real)
    if found.copied:
        return COPY
    if found.mark and found.record is not None and found.record.get("trusted") is True:
        return CHANGED
    return REPLACED if _find_replaced(real) else UNKNOWN


def note_told(root: str) -> None:
    """Remember that the user was told of a replaced folder; once is enough."""
    for key, record in _find_replaced(os.path.realpath(root)).items():
        with contextlib.suppress(StorageError):
            write_record_of(key, {**record, "told": True})


def trust(root: str, *, made: bool = False) -> None:
    """Remember that this user trusts the brain with its present ``lessons.toml``.

    ``made`` says that this user has made it: then later changes of ``lessons.toml`` are the
    user's own. Raises ConfigError for a ``lessons.toml`` that cannot be read, StorageError.
    """
    real = os.path.realpath(root)
    config = _config_text(real)
    if config == _UNREADABLE:
        raise ConfigError(f"{CONFIG_NAME}: not a readable file of {MAX_CONFIG_BYTES:,} bytes")
    known = read_record(real)
    found, record = identify(real), known or _new_record(real)
    key = found.key
    if known is None and real != os.path.realpath(user_brain()):
        if can_be_marked(found.place):
            key, token = new_mark()
            write_mark(found.place, key, token)
            # What was observed while the brain was only named is its own; what belongs to a brain
            # that was trusted at this path before stays with the record of that one.
            if read_record_of(brain_key(real)) is None:
                rename_state(brain_key(real), key)
            record |= {"token": token, "place": found.place}
        else:
            key, record["place"] = brain_key(real), BY_PATH
    made = made or record.get("made") is True
    record = {**record, "root": real, "trusted": True, "made": made, "config": config}
    record.pop("told", None)
    write_record_of(key, record)


def revoke(root: str) -> None:
    """Take trust back; the brain is silent until it is trusted again. Raises StorageError."""
    real = os.path.realpath(root)
    record = read_record(real) or _new_record(real)
    write_record_of(identify(real).key, {**record, "trusted": False, "made": False, "config": None})
    remove_gate_files()  # those of brains that are still trusted come back with their next refresh


def cache_dir(root: str) -> str:
    """Return the folder for a brain's catalogue and index, made if need be.

    In a trusted brain it is ``.lessons/cache-<token>-<format>``: the token is random and known to
    this user's state alone, so no repository, and no checkout over an existing folder, can bring
    a cache that would be read. Versions with another format of the catalogue have another folder:
    a process of one of them would go on writing into a file that was made anew.

    Where ``.lessons`` is a link, belongs to someone else or cannot be written, where the path is
    not UTF-8, and for a brain that is not trusted, it lies in the user's cache home. Raises
    StorageError when neither can be made.
    """
    real = os.path.realpath(root)
    record = read_record(real)
    trusted = _holds(real, record)
    if trusted and record is None:  # the user's own brain, seen for the first time
        with contextlib.suppress(ConfigError, StorageError):
            trust(real, made=True)
            record = read_record(real)
    # An engine's folder must have a name that is text.
    if record is not None and real.encode("utf-8", "ignore").decode() == real:
        outer = os.path.join(real, CACHE_NAME)
        folder = os.path.join(outer, f"{_CACHE_PREFIX}{record['cache_token']}-{FORMAT}")
        if trusted and not (_is_ours(outer) and _is_ours(folder)):
            with contextlib.suppress(OSError):
                make_cache_folder(outer)
                if _is_ours(outer):
                    make_cache_folder(folder)
        if _is_ours(outer) and _is_ours(folder):
            return folder
    fallback = os.path.join(cache_home(), f"{brain_key(real)}-{FORMAT}")
    make_private(fallback)
    return fallback


def _new_record(real: str) -> dict[str, Any]:
    return {"root": real, "cache_token": os.urandom(16).hex()}


def _adopt(real: str) -> Identity:
    """Give the state of the first release, kept by path, to the folder that it is about.

    Whatever is interrupted is done again: the cache proves the folder until the last step.
    """
    with contextlib.suppress(StorageError), locked(real):
        found = identify(real)
        if found.record is not None and not found.mark and can_be_marked(found.place):
            key, token = new_mark()
            write_record_of(found.key, {**found.record, "token": token, "place": found.place})
            write_mark(found.place, key, token)
            rename_state(found.key, key)
    return identify(real)


def _find_replaced(real: str) -> dict[str, dict[str, Any]]:
    """Return key → record of what was trusted at this path and is not there any more."""
    return {
        key: record
        for key, record in read_records().items()
        if (record.get("root"), record.get("trusted")) == (real, True) and not record.get("told")
    }


_UNREADABLE = "\0"
"""Stands for a ``lessons.toml`` that cannot be compared; no record holds it."""


def _holds(real: str, record: Mapping[str, Any] | None) -> bool:
    if record is None:
        return real == os.path.realpath(user_brain())
    if record.get("trusted") is not True:
        return False
    return record.get("made") is True or _config_text(real) == record.get("config", "")


def _config_text(root: str) -> str | None:
    path = os.path.join(root, CONFIG_NAME)
    try:
        return read_regular(path, limit=MAX_CONFIG_BYTES, name=path).decode("latin-1")
    except FileNotFoundError:
        return None
    except (OSError, StorageError):
        return _UNREADABLE


def _is_ours(folder: str) -> bool:
    """Tell whether this is a real folder of this user that can be written."""
    try:
        info = os.lstat(folder)
    except OSError:
        return False
    mine = not hasattr(os, "geteuid") or info.st_uid == os.geteuid()
    return stat.S_ISDIR(info.st_mode) and mine and os.access(folder, os.W_OK | os.X_OK)

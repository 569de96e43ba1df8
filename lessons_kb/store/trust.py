"""Trust records, and the cache folder that each one allows.

Anyone may have written a brain that was only discovered. So nothing in it is trusted, in particular
not a cache. The record of trust is in the user's state home. It applies to the folder with its
token (see ``store.identity``), even if that folder is moved or another folder replaces it.
"""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Mapping
from typing import Any

from lessons_kb.config import MAX_CONFIG_BYTES
from lessons_kb.errors import ConfigError, StorageError
from lessons_kb.on_demand import GATE_FILES, load
from lessons_kb.store.catalogue import FORMAT
from lessons_kb.store.files import read_regular
from lessons_kb.store.identity import (
    Identity,
    brain_key,
    can_be_marked,
    identify,
    identify_real,
    make_cache_folder,
    new_mark,
    read_record_of,
    read_records,
    rename_state,
    write_mark,
    write_record_of,
)
from lessons_kb.store.locations import (
    CACHE_NAME,
    CONFIG_NAME,
    cache_home,
    is_user_brain,
    real_path,
)
from lessons_kb.store.locks import locked
from lessons_kb.store.private_files import OTHERS, make_private

_CACHE_PREFIX = "cache-"

BY_PATH = ""
"""The value in a record in place of a mark's path if the brain was read-only when it was trusted.
Such trust ends when the brain can be written, because another folder may have replaced it."""
UNKNOWN, CHANGED, COPY, REPLACED = "unknown", "changed", "copy", "replaced"
"""The reasons why a brain is not used. It was never trusted, its ``lessons.toml`` has changed since
then, it is a copy of a brain that still exists, or another folder at its path was trusted."""


def read_record(root: str) -> dict[str, Any] | None:
    """Return the usable record of a brain in the user's state home, or None.

    Its keys are ``root`` (its last path), ``trusted``, ``made`` (by this user), ``config`` (the
    text of ``lessons.toml`` at the time of trust, byte for byte as Latin-1, or None),
    ``cache_token``, and ``token`` and ``place`` of its mark (missing if the brain is identified by
    its path). The record of a brain that was moved is updated, and a record of the first release is
    converted.
    """
    return _find_record(real_path(root))[1]


def _find_record(real: str) -> tuple[str, dict[str, Any] | None]:
    """Return the name of a brain's state folder, and the result of ``read_record``.

    ``real`` is the real path of the brain.
    """
    identity = identify_real(real)
    key, record = identity.key, identity.record
    if record is None or identity.is_user_brain:
        return key, record
    if identity.mark:
        # The brain was moved or added to git, and its mark now has another place.
        if record["place"] != identity.place:
            record = {**record, "root": real, "place": identity.place}
            with contextlib.suppress(StorageError):
                if identity.mark != identity.place:
                    write_mark(identity.place, key, record["token"])
                write_record_of(key, record)
        return key, record
    if record.get("place") == BY_PATH:
        return key, None if can_be_marked(identity.place) else record
    outer = os.path.join(real, CACHE_NAME)
    cache = os.path.join(outer, _CACHE_PREFIX + record["cache_token"])
    if not (_is_ours(outer) and _is_ours(cache)):
        return key, None
    adopted = _adopt(real)
    return adopted.key, adopted.record


def is_trusted(root: str) -> bool:
    """Return whether this user trusts the brain as it is now.

    The trust in a discovered brain ends when its ``lessons.toml`` changes. The texts are compared,
    because the author of a file can set its times. The user's own brain is always trusted.
    """
    return bool(trusted_key(root))


def trusted_key(root: str) -> str:
    """Return the name of the state folder of a trusted brain, or "" for any other brain."""
    return trusted_key_of_real(real_path(root))


def trusted_key_of_real(real: str) -> str:
    """Return the result of `trusted_key` for the brain at a real path."""
    key, record = _find_record(real)
    return key if _is_trusted_by(record, real) else ""


def is_same(root: str, other: str) -> bool:
    """Return whether two folders are the same brain, such as work trees of one repository."""
    first, second = identify(root), identify(other)
    return bool(first.mark) and first.key == second.key


def goes_by_path(root: str) -> bool:
    """Return whether the trust in a brain is tied to its path, because it cannot be marked."""
    record = read_record(root)
    return record is not None and record.get("place") == BY_PATH


def why_silent(root: str) -> str:
    """Return the reason why a brain is not trusted: UNKNOWN, CHANGED, COPY or REPLACED."""
    real = real_path(root)
    identity = identify(real)
    if identity.copied:
        return COPY
    record = identity.record
    if identity.mark and record is not None and record.get("trusted") is True:
        return CHANGED
    return REPLACED if _find_replaced(real) else UNKNOWN


def note_told(root: str) -> None:
    """Record that the user has seen the message about a replaced folder, which is shown once."""
    for key, record in _find_replaced(real_path(root)).items():
        with contextlib.suppress(StorageError):
            write_record_of(key, {**record, "told": True})


def trust(root: str, *, made: bool = False) -> None:
    """Record that this user trusts the brain with its present ``lessons.toml``.

    ``made`` means that this user created the brain, so later changes of ``lessons.toml`` do not end
    the trust. Raises ConfigError if ``lessons.toml`` cannot be read, or StorageError.
    """
    real = real_path(root)
    config = _config_text(real)
    if config == _UNREADABLE:
        limit = f"at most {MAX_CONFIG_BYTES:,} bytes"
        raise ConfigError(f"{CONFIG_NAME}: cannot be read; make it a readable file of {limit}")
    former = read_record(real)
    identity = identify(real)
    record = former or _new_record(real)
    key = identity.key
    if former is None and not is_user_brain(real):
        if can_be_marked(identity.place):
            key, token = new_mark()
            write_mark(identity.place, key, token)
            # State without a record was observed while the brain was only named, so it belongs to
            # this brain. State with a record belongs to a brain that was trusted here before.
            if read_record_of(brain_key(real)) is None:
                rename_state(brain_key(real), key)
            record |= {"token": token, "place": identity.place}
        else:
            key = brain_key(real)
            record["place"] = BY_PATH
    made = made or record.get("made") is True
    record = {**record, "root": real, "trusted": True, "made": made, "config": config}
    record.pop("told", None)
    write_record_of(key, record)


def revoke(root: str) -> None:
    """Revoke the trust in a brain. Raises StorageError."""
    real = real_path(root)
    record = read_record(real) or _new_record(real)
    write_record_of(identify(real).key, {**record, "trusted": False, "made": False, "config": None})
    for place in {real, str(record.get("root", real))}:
        load(GATE_FILES).remove_gate_file(place)


def cache_dir(root: str) -> str:
    """Return the folder for a brain's catalogue and index, and create it if it is missing.

    In a trusted brain it is ``.lessons/cache-<token>-<format>``. The token is random, and only the
    user's state contains it. So a repository or a checkout cannot introduce a cache that is read.
    Versions with another format of the catalogue use another folder, because a process of an older
    version continues to write to a file that was created again.

    The folder is in the user's cache home if the brain is not trusted, if ``.lessons`` is a link,
    belongs to another user or cannot be written, or if the path is not UTF-8. If the cache home
    cannot be written either, the folder is below the temporary folder. Raises StorageError if no
    folder can be created.
    """
    real = real_path(root)
    record = read_record(real)
    trusted = _is_trusted_by(record, real)
    if trusted and record is None:  # the first use of the user's own brain
        with contextlib.suppress(ConfigError, StorageError):
            trust(real, made=True)
            record = read_record(real)
    # The name of an engine's folder must be valid text.
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
    refusal: StorageError | None = None
    try:
        make_private(fallback)
    except StorageError as error:
        refusal = error
    if refusal is None and os.access(fallback, os.W_OK | os.X_OK):
        return fallback
    # The sandbox of an agent may allow no writes outside the project and the temporary folder.
    if temporary := _make_temporary_cache(os.path.basename(fallback)):
        return temporary
    if refusal is not None:
        raise refusal
    return fallback


def _make_temporary_cache(name: str) -> str:
    """Create a cache folder below the temporary folder, or return "" if that is impossible.

    Another user could create a folder of that name, so it counts only if it is this user's own.
    """
    import tempfile  # only a command in a sandbox needs it

    user = os.geteuid() if hasattr(os, "geteuid") else 0
    try:
        outer = os.path.join(tempfile.gettempdir(), f"lessons-kb-{user}")
        make_private(outer)
        is_private = os.name == "nt" or not stat.S_IMODE(os.lstat(outer).st_mode) & OTHERS
        if not (_is_ours(outer) and is_private):
            return ""
        folder = os.path.join(outer, name)
        make_private(folder)
    except (OSError, StorageError):
        return ""
    return folder


def _new_record(real: str) -> dict[str, Any]:
    return {"root": real, "cache_token": os.urandom(16).hex()}


def _adopt(real: str) -> Identity:
    """Mark a brain whose record is from the first release, which identified brains by path.

    After an interruption, the next call repeats these steps, because the cache identifies the
    folder until the last step.
    """
    with contextlib.suppress(StorageError), locked(real):
        identity = identify(real)
        record = identity.record
        if record is not None and not identity.mark and can_be_marked(identity.place):
            key, token = new_mark()
            write_record_of(identity.key, {**record, "token": token, "place": identity.place})
            write_mark(identity.place, key, token)
            rename_state(identity.key, key)
    return identify(real)


def _find_replaced(real: str) -> dict[str, dict[str, Any]]:
    """Return the records of other brains that were trusted at this path, by key.

    Brains about which the user has seen the message are left out.
    """
    trusted_here = {}
    for key, record in read_records().items():
        is_here = record.get("root") == real and record.get("trusted") is True
        if is_here and not record.get("told"):
            trusted_here[key] = record
    return trusted_here


_UNREADABLE = "\0"
"""The value for a ``lessons.toml`` that cannot be compared. No record contains it."""


def _is_trusted_by(record: Mapping[str, Any] | None, real: str) -> bool:
    """Return whether a record trusts the brain at ``real`` as it is now."""
    if record is None:
        return is_user_brain(real)
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
    """Return whether a path is a real folder of this user that can be written."""
    try:
        info = os.lstat(folder)
    except OSError:
        return False
    is_owner = not hasattr(os, "geteuid") or info.st_uid == os.geteuid()
    return stat.S_ISDIR(info.st_mode) and is_owner and os.access(folder, os.W_OK | os.X_OK)

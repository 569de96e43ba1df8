"""The private folder in which everything observed about one brain is kept, and whose it is.

It lies under the user's state home, never in the repository, and belongs to one folder, not to
whatever stands at a path. That folder is known by a token: a random text in the record here and
in a mark there, in git's own directory, which all work trees share and no checkout or
``git clean`` touches, else in ``.lessons/``. No repository can bring it. A brain without a mark
(one that was only named, one that cannot be written, the user's own) is known by its path.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import stat
from dataclasses import dataclass
from typing import Any

from lessons_kb.config import MAX_CONFIG_BYTES
from lessons_kb.errors import StorageError
from lessons_kb.store.disk import (
    discard,
    read_regular,
    shown,
    storage_error,
    sync_folder,
    write_temp,
)
from lessons_kb.store.locate import (
    CACHE_NAME,
    STATE_HOME_VARIABLE,
    above,
    find_work_tree,
    git_home,
    state_home,
    user_brain,
)
from lessons_kb.text.escape_controls import shell_word

_RECORD = "brain.json"
_MAX_RECORD_BYTES = 4 * MAX_CONFIG_BYTES + 100_000
_MARK_FOLDER = "lessons-kb"
_MARK_NAME = "identity"
_MARK_PARTS = (16, 32)
"""Hexadecimal digits of a key and of a token."""

_BRAINS = "brains"
_HEXADECIMAL = frozenset("0123456789abcdef")
_PLAIN = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-")
_MAX_KEY_BYTES = 200
_KEPT_OF_LONG_KEY = 150
_OTHERS = stat.S_IRWXG | stat.S_IRWXO


@dataclass(frozen=True, kw_only=True, slots=True)
class Identity:
    """What tells one brain from all others that may stand at its path."""

    key: str
    """Name of its state folder."""
    place: str
    """Where its mark belongs, there or not."""
    record: dict[str, Any] | None
    """What this user's state knows of it, None when nothing (usable)."""
    mark: str = ""
    """Where a mark with the token of the record lies; "" if the path is all that is known."""
    copied: bool = False
    """The mark is that of another folder, which is still there."""


def identify(root: str) -> Identity:
    """Return the identity of the brain at ``root``; nothing is written."""
    real = os.path.realpath(root)
    places = _places(real)
    copied = False
    for place in places if real != os.path.realpath(user_brain()) else ():
        key, token = _read_mark(place)
        record = read_record_of(key) if key else None
        if record is None or record.get("token") != token:
            continue
        known = str(record.get("place", ""))
        if place != places[0] and place != known:
            continue  # in git only a brain that was none before keeps its mark in .lessons
        if _is_elsewhere(known, place):
            copied = True
            continue
        return Identity(key=key, place=places[0], record=record, mark=place)
    key = brain_key(real)
    record = read_record_of(key)
    if record is not None and record.get("root") != real:
        record = None
    return Identity(key=key, place=places[0], record=record, copied=copied)


def new_mark() -> tuple[str, str]:
    """Return a key and a token that nobody can guess."""
    key, token = (os.urandom(digits // 2).hex() for digits in _MARK_PARTS)
    return key, token


def write_mark(place: str, key: str, token: str) -> None:
    """Write a mark where it belongs. Raises StorageError."""
    folder = os.path.dirname(place)
    try:
        if os.path.basename(folder) == CACHE_NAME:
            make_cache_folder(folder)
        elif not os.path.lexists(folder):
            os.mkdir(folder, 0o700)
    except OSError as error:
        raise storage_error(error, folder) from None
    if not _is_folder(folder):
        raise StorageError(f"{folder}: a link or a file is in its place; remove it")
    write_private(place, f"{key} {token}\n".encode())


def rename_state(old: str, new: str) -> None:
    """Give a state folder, if there is one, the name of another key. Raises StorageError."""
    brains = os.path.join(state_home(), _BRAINS)
    try:
        os.rename(os.path.join(brains, old), os.path.join(brains, new))
    except FileNotFoundError:
        return
    except OSError as error:
        raise storage_error(error, os.path.join(brains, old)) from None


def write_record_of(key: str, record: dict[str, Any]) -> None:
    """Write the record in the state folder ``key``. Raises StorageError."""
    folder = os.path.join(state_home(), _BRAINS, key)
    make_private(folder)
    write_private(os.path.join(folder, _RECORD), json.dumps(record).encode())


def can_be_marked(place: str) -> bool:
    """Tell whether a mark could be written at ``place`` once nothing is in the way."""
    folder = os.path.dirname(place)
    while not os.path.lexists(folder):
        folder = os.path.dirname(folder)
    return not _is_folder(folder) or os.access(folder, os.W_OK | os.X_OK)


def make_cache_folder(folder: str) -> None:
    """Make ``.lessons`` or a folder in it, which git ignores; one that is there stays.

    Raises OSError.
    """
    with contextlib.suppress(FileExistsError):
        os.mkdir(folder, 0o755)
    # A strange .lessons may have brought a .gitignore of its own: it stays.
    if _is_folder(folder):
        with (
            contextlib.suppress(FileExistsError),
            open(os.path.join(folder, ".gitignore"), "xb") as file,
        ):
            file.write(b"*\n")


def read_record_of(key: str) -> dict[str, Any] | None:
    """Return the record in the state folder ``key``, None when there is none that can be used."""
    path = os.path.join(state_home(), _BRAINS, key, _RECORD)
    try:
        record = json.loads(read_regular(path, limit=_MAX_RECORD_BYTES, name=path))
    except (OSError, StorageError, ValueError):
        return None
    usable = isinstance(record, dict) and isinstance(record.get("cache_token"), str)
    return record if usable else None


def list_keys() -> list[str]:
    """List the names of all state folders of brains."""
    try:
        return sorted(os.listdir(os.path.join(state_home(), _BRAINS)))
    except OSError:
        return []


def list_marked(top: str) -> list[str]:
    """List the folders of a work tree that marks in its git directory name, trusted or not.

    All work trees of a repository have the same.
    """
    home = git_home(top)
    folder = os.path.join(home, _MARK_FOLDER) if home is not None else ""
    try:
        # Of most repositories only the top itself is a brain: no record need be read for it.
        names = sorted({*os.listdir(folder)} - {_quote(os.sep)}) if folder else []
    except OSError:
        return []
    found = []
    for name in names:
        record = read_record_of(_read_mark(os.path.join(folder, name))[0]) or {}
        known = str(record.get("root", ""))  # wherever that was, its end is the path in here
        ends = (known[at:] for at, character in enumerate(known) if character == os.sep)
        if end := next((end for end in ends if _quote(end) == name), ""):
            root = os.path.realpath(top + end)
            if os.path.isdir(root) and find_work_tree(above(root)) == top:
                found.append(root)
    return found


def _places(real: str) -> list[str]:
    """List where the mark of a brain may lie, the proper place first."""
    inside = os.path.join(real, CACHE_NAME, _MARK_NAME)
    top = find_work_tree(above(real))
    home = git_home(top) if top is not None else None
    if top is None or home is None:
        return [inside]
    within = os.sep + real[len(top.rstrip(os.sep)) + 1 :]
    return [os.path.join(home, _MARK_FOLDER, _quote(within)), inside]


def _read_mark(place: str) -> tuple[str, str]:
    """Return key and token of a mark, two empty texts where there is no regular one."""
    try:
        if not _is_folder(os.path.dirname(place)) or not stat.S_ISREG(os.lstat(place).st_mode):
            return "", ""
        text = read_regular(place, limit=100, name=place).decode("ascii", "replace")
    except (OSError, StorageError):
        return "", ""
    key, _, token = text.rstrip("\n").partition(" ")
    sound = (len(key), len(token)) == _MARK_PARTS and set(key + token) <= _HEXADECIMAL
    return (key, token) if sound else ("", "")


def _is_elsewhere(known: str, place: str) -> bool:
    """Tell whether the mark at ``place`` is a copy of one that still lies where it was seen."""
    if known == place or _read_mark(known) != _read_mark(place):
        return False
    try:  # one folder may be mounted twice; folders, unlike files, have no hard links
        return not os.path.samefile(os.path.dirname(known), os.path.dirname(place))
    except OSError:
        return True


def _is_folder(folder: str) -> bool:
    try:
        return stat.S_ISDIR(os.lstat(folder).st_mode)
    except OSError:
        return False


def brain_key(root: str) -> str:
    """Return a readable folder name that no other path has.

    The real path with ``+`` for its separators; a run of other characters is ``=``, the
    hexadecimal of its bytes, ``=``. A key beyond 200 bytes is cut and ends with ``==`` and a
    hash, which no short key contains.
    """
    return _quote(os.path.realpath(root))


def _quote(path: str) -> str:
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

    import hashlib  # loads OpenSSL

    digest = hashlib.blake2b(os.fsencode(path), digest_size=16).hexdigest()
    return f"{key[:_KEPT_OF_LONG_KEY]}=={digest}"


def state_dir(root: str, *, create: bool = True) -> str:
    """Return the state folder of the brain at ``root``, made with mode 0700 if asked for.

    Raises StorageError when it cannot be made.
    """
    path = os.path.join(state_home(), _BRAINS, identify(root).key)
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
            if isinstance(error, PermissionError) or error.errno == errno.EROFS:
                raise StorageError(
                    f"{shown(folder)}: {error.strerror}; grant yourself access, or set HOME or "
                    f"{STATE_HOME_VARIABLE} to a folder that you can write to"
                ) from None
            raise storage_error(error, folder) from None


def read_private(path: str, *, limit: int) -> bytes:
    """Return a file that holds a secret; StorageError where others than its user can read it.

    Raises OSError too, and StorageError for no regular file or one of more than ``limit`` bytes.
    """
    if os.name == "posix" and stat.S_IMODE(os.stat(path).st_mode) & _OTHERS:
        raise StorageError(f"others can read {path}; run `chmod 600 {shell_word(path)}`")
    return read_regular(path, limit=limit, name=path)


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

"""Which brain a folder is: its key, its marks and the record of it.

The state of a brain lies under the user's state home, never in the repository, and belongs to one
folder, not to whatever stands at a path. That folder is known by a token: a random text in the
record there and in a mark in git's own directory, which all work trees share and no checkout or
``git clean`` touches, else in ``.lessons/``. No repository can bring it. A brain without a mark
(one that was only named, one that cannot be written, the user's own) is known by its path.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
from typing import Any

from lessons_kb.config import MAX_CONFIG_BYTES
from lessons_kb.errors import StorageError
from lessons_kb.on_demand import HASHES, load
from lessons_kb.store.files import list_folder, read_json, read_regular, storage_errors
from lessons_kb.store.locations import CACHE_NAME, above, state_home, user_brain
from lessons_kb.store.private_files import write_private
from lessons_kb.store.repositories import find_work_tree, git_home
from lessons_kb.values import frozen

_RECORD = "brain.json"


_MAX_RECORD_BYTES = 4 * MAX_CONFIG_BYTES + 100_000


_MARK_FOLDER = "lessons-kb"


_MARK_NAME = "identity"


_MARK = re.compile(r"([0-9a-f]{16}) ([0-9a-f]{32})")
"""Key and token."""


_MOST_MARKS, _MAX_MARKS_BYTES = 8, 1_000
"""In one file, the newest: one for each state of this user that trusts the folder."""


BRAINS_FOLDER = "brains"


_UNSAFE = re.compile(rf"[^A-Za-z0-9._{re.escape(os.sep)}-]+")


_MAX_KEY_BYTES = 200


_KEPT_OF_LONG_KEY = 150


@frozen
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
        for key, token in _read_marks(place):
            record = read_record_of(key) or {}
            known = str(record.get("place", ""))
            # In git only a brain that was none before keeps its mark in .lessons.
            if record.get("token") != token or place not in (places[0], known):
                continue
            if not _is_elsewhere(known, place, (key, token)):
                return Identity(key=key, place=places[0], record=record, mark=place)
            copied = True
    key = brain_key(real)
    found = read_record_of(key)
    if found is not None and found.get("root") != real:
        found = None
    return Identity(key=key, place=places[0], record=found, copied=copied)


def new_mark() -> tuple[str, str]:
    """Return a key and a token that nobody can guess."""
    return os.urandom(8).hex(), os.urandom(16).hex()


def write_mark(place: str, key: str, token: str) -> None:
    """Write a mark where it belongs, beside those of other states. Raises StorageError."""
    folder = os.path.dirname(place)
    with storage_errors(folder):
        if os.path.basename(folder) == CACHE_NAME:
            make_cache_folder(folder)
        elif not os.path.lexists(folder):
            os.mkdir(folder, 0o700)
    if not _is_folder(folder):
        raise StorageError(f"{folder}: a link or a file is in its place; remove it")
    # Another home that shares the folder, such as a container's, has a mark of its own there.
    others = [mark for mark in _read_marks(place) if read_record_of(mark[0]) is None]
    marks = [*(mark for mark in others if mark[0] != key), (key, token)][-_MOST_MARKS:]
    write_private(place, "".join(f"{one} {other}\n" for one, other in marks).encode())


def rename_state(old: str, new: str) -> None:
    """Give a state folder, if there is one, the name of another key. Raises StorageError."""
    before, after = (os.path.join(state_home(), BRAINS_FOLDER, key) for key in (old, new))
    with storage_errors(before), contextlib.suppress(FileNotFoundError):
        os.rename(before, after)


def write_record_of(key: str, record: dict[str, Any]) -> None:
    """Write the record in the state folder ``key``. Raises StorageError."""
    path = os.path.join(state_home(), BRAINS_FOLDER, key, _RECORD)
    write_private(path, json.dumps(record).encode())


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
        ignore = os.path.join(folder, ".gitignore")
        with contextlib.suppress(FileExistsError), open(ignore, "xb") as file:
            file.write(b"*\n")


def read_record_of(key: str) -> dict[str, Any] | None:
    """Return the record in the state folder ``key``, None when there is none that can be used."""
    path = os.path.join(state_home(), BRAINS_FOLDER, key, _RECORD)
    record = read_json(path, limit=_MAX_RECORD_BYTES)
    return record if isinstance(record.get("cache_token"), str) else None


def read_records() -> dict[str, dict[str, Any]]:
    """Return the name of each state folder of a brain → its record."""
    names = list_folder(os.path.join(state_home(), BRAINS_FOLDER))
    return {key: record for key in names if (record := read_record_of(key)) is not None}


def list_marked(top: str) -> list[str]:
    """List the folders of a work tree that marks in its git directory name, trusted or not.

    All work trees of a repository have the same.
    """
    home = git_home(top)
    folder = os.path.join(home, _MARK_FOLDER) if home is not None else ""
    found = []
    # Of most repositories the top alone is a brain: it needs no record.
    for name in {*list_folder(folder)} - {_quote(os.sep)} if folder else ():
        records = (read_record_of(key) for key, _token in _read_marks(os.path.join(folder, name)))
        record: dict[str, Any] = next(filter(None, records), {})
        known = str(record.get("root", ""))  # wherever that was, its end is the path in here
        ends = (known[at:] for at, character in enumerate(known) if character == os.sep)
        if end := next((end for end in ends if _quote(end) == name), ""):
            root = os.path.realpath(top + end)
            if os.path.isdir(root) and find_work_tree(above(root)) == top:
                found.append(root)
    return sorted(found)


def _places(real: str) -> list[str]:
    """List where the mark of a brain may lie, the proper place first."""
    inside = os.path.join(real, CACHE_NAME, _MARK_NAME)
    top = find_work_tree(above(real))
    home = git_home(top) if top is not None else None
    if top is None or home is None:
        return [inside]
    within = os.sep + real[len(top.rstrip(os.sep)) + 1 :]
    return [os.path.join(home, _MARK_FOLDER, _quote(within)), inside]


def _read_marks(place: str) -> list[tuple[str, str]]:
    """Return key and token of each mark in a file, none where there is no regular one."""
    try:
        if not _is_folder(os.path.dirname(place)) or os.path.islink(place):
            return []
        text = read_regular(place, limit=_MAX_MARKS_BYTES, name=place).decode("ascii", "replace")
    except (OSError, StorageError):
        return []
    return [(found[1], found[2]) for found in map(_MARK.fullmatch, text.splitlines()) if found]


def _is_elsewhere(known: str, place: str, mark: tuple[str, str]) -> bool:
    """Tell whether a mark at ``place`` is a copy of one that still lies where it was seen."""
    if known == place or mark not in _read_marks(known):
        return False
    try:  # one folder may be mounted twice; folders, unlike files, have no hard links
        return not os.path.samefile(os.path.dirname(known), os.path.dirname(place))
    except OSError:
        return True


def _is_folder(folder: str) -> bool:
    return os.path.isdir(folder) and not os.path.islink(folder)


def brain_key(root: str) -> str:
    """Return a readable folder name that no other path has.

    The real path with ``+`` for its separators; a run of other characters is ``=``, the
    hexadecimal of its bytes, ``=``. A key beyond 200 bytes is cut and ends with ``==`` and a
    hash, which no short key contains.
    """
    return _quote(os.path.realpath(root))


def _quote(path: str) -> str:
    key = _UNSAFE.sub(lambda run: f"={os.fsencode(run[0]).hex()}=", path).replace(os.sep, "+")
    if len(key) <= _MAX_KEY_BYTES:
        return key

    digest = load(HASHES).blake2b(os.fsencode(path), digest_size=16).hexdigest()
    return f"{key[:_KEPT_OF_LONG_KEY]}=={digest}"

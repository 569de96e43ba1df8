"""The identity of a brain: its key, its mark and its record.

The state of a brain is in the user's state home, never in the repository. It belongs to one folder,
not to any folder at a path. A token identifies that folder: a random text in the record, and in a
mark inside the folder. The mark is in git's own directory, which all work trees share and which no
checkout or ``git clean`` changes. Outside of git, it is in ``.lessons/``. No repository can contain
a valid mark. A brain without a mark is identified by its path. Such brains are the user's own
brain, brains that were only named, and brains that cannot be written.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import stat
from typing import Any

from lessons_kb.config import MAX_CONFIG_BYTES
from lessons_kb.errors import StorageError
from lessons_kb.on_demand import HASHES, load
from lessons_kb.store.files import (
    SmallFiles,
    list_folder,
    read_json,
    read_regular,
    storage_errors,
)
from lessons_kb.store.locations import CACHE_NAME, above, is_user_brain, real_path, state_home
from lessons_kb.store.private_files import write_private
from lessons_kb.store.repositories import find_work_tree, git_home
from lessons_kb.values import frozen

_RECORD = "brain.json"


_MAX_RECORD_BYTES = 4 * MAX_CONFIG_BYTES + 100_000


_MARK_FOLDER = "lessons-kb"


_MARK_NAME = "identity"


_MARK = re.compile(r"([0-9a-f]{16}) ([0-9a-f]{32})")
"""A line with key and token."""


_MOST_MARKS, _MAX_MARKS_BYTES = 8, 1_000
"""The limits of one file. It contains the newest marks, one for each state home that trusts the
folder."""


BRAINS_FOLDER = "brains"


_UNSAFE = re.compile(rf"[^A-Za-z0-9._{re.escape(os.sep)}-]+")


_MAX_KEY_BYTES = 200


_PREFIX_OF_LONG_KEY = 150


@frozen
class Identity:
    """The identity of one brain, which differs from that of any other brain at the same path."""

    key: str
    """Name of its state folder."""
    place: str
    """The path at which its mark should be, whether or not the mark exists."""
    record: dict[str, Any] | None
    """The usable record in the user's state home, or None."""
    mark: str = ""
    """The path of the mark with the token of the record; "" if the path identifies the brain."""
    copied: bool = False
    """Whether the mark was copied from another folder, which still exists."""
    is_user_brain: bool = False


def identify(root: str) -> Identity:
    """Return the identity of the brain at ``root``. Nothing is written."""
    return identify_real(real_path(root))


def identify_real(real: str) -> Identity:
    """Return the identity of the brain at a real path. Nothing is written."""
    places = _places(real)
    is_users = is_user_brain(real)
    copied = False
    for place in () if is_users else places:
        for key, token in _read_marks(place):
            record = read_record_of(key) or {}
            recorded_place = str(record.get("place", ""))
            # A brain in git has its mark in .lessons only if it was marked before it was in git.
            if record.get("token") != token or place not in (places[0], recorded_place):
                continue
            if not _is_elsewhere(recorded_place, place, (key, token)):
                return Identity(key=key, place=places[0], record=record, mark=place)
            copied = True
    key = _quote(real)
    record_of_path = read_record_of(key)
    if record_of_path is not None and record_of_path.get("root") != real:
        record_of_path = None
    return Identity(
        key=key,
        place=places[0],
        record=record_of_path,
        copied=copied,
        is_user_brain=is_users,
    )


def new_mark() -> tuple[str, str]:
    """Return a key and a token that nobody can guess."""
    return os.urandom(8).hex(), os.urandom(16).hex()


def write_mark(mark_path: str, key: str, token: str) -> None:
    """Write a mark to a file, beside the marks of other state homes. Raises StorageError."""
    folder = os.path.dirname(mark_path)
    with storage_errors(folder):
        if os.path.basename(folder) == CACHE_NAME:
            make_cache_folder(folder)
        elif not os.path.lexists(folder):
            os.mkdir(folder, 0o700)
    if not _is_folder(folder):
        raise StorageError(f"{folder}: a link or a file is in its place; remove it")
    # Another home that shares the folder, such as a container's, has a mark of its own there.
    others = [mark for mark in _read_marks(mark_path) if read_record_of(mark[0]) is None]
    marks = [mark for mark in others if mark[0] != key]
    marks.append((key, token))
    newest = marks[-_MOST_MARKS:]
    lines = [f"{mark_key} {mark_token}\n" for mark_key, mark_token in newest]
    write_private(mark_path, "".join(lines).encode())


def rename_state(old: str, new: str) -> None:
    """Rename the state folder of the key ``old``, if there is one. Raises StorageError."""
    folder = os.path.join(state_home(), BRAINS_FOLDER)
    before, after = os.path.join(folder, old), os.path.join(folder, new)
    with storage_errors(before), contextlib.suppress(FileNotFoundError):
        os.rename(before, after)


def write_record_of(key: str, record: dict[str, Any]) -> None:
    """Write the record in the state folder ``key``. Raises StorageError."""
    path = os.path.join(state_home(), BRAINS_FOLDER, key, _RECORD)
    write_private(path, json.dumps(record).encode())


def can_be_marked(mark_path: str) -> bool:
    """Return whether permissions allow a mark at this path. A file in the way is ignored."""
    folder = os.path.dirname(mark_path)
    while not os.path.lexists(folder):
        folder = os.path.dirname(folder)
    return not _is_folder(folder) or os.access(folder, os.W_OK | os.X_OK)


def make_cache_folder(folder: str) -> None:
    """Create ``.lessons`` or a folder in it, unless it exists, and make git ignore it.

    Raises OSError.
    """
    with contextlib.suppress(FileExistsError):
        os.mkdir(folder, 0o755)
    # A .lessons folder from another source may have its own .gitignore, which stays.
    if _is_folder(folder):
        ignore = os.path.join(folder, ".gitignore")
        with contextlib.suppress(FileExistsError), open(ignore, "xb") as file:
            file.write(b"*\n")


def read_record_of(key: str) -> dict[str, Any] | None:
    """Return the record in the state folder ``key``, or None if there is no usable record.

    The caller must not change the record.
    """
    path = os.path.join(state_home(), BRAINS_FOLDER, key, _RECORD)
    return _RECORDS.get(path)


def _parse_record(path: str) -> dict[str, Any] | None:
    record = read_json(path, limit=_MAX_RECORD_BYTES)
    return record if isinstance(record.get("cache_token"), str) else None


_RECORDS = SmallFiles(_parse_record)


def read_records() -> dict[str, dict[str, Any]]:
    """Return a mapping from the key of every brain with a usable record to its record."""
    records = {}
    for key in list_folder(os.path.join(state_home(), BRAINS_FOLDER)):
        record = read_record_of(key)
        if record is not None:
            records[key] = record
    return records


def list_marked(top: str) -> list[str]:
    """List the folders of a work tree that have a mark in its git directory, trusted or not.

    All work trees of a repository share these marks.
    """
    home = git_home(top)
    if home is None:
        return []
    folder = os.path.join(home, _MARK_FOLDER)
    roots = []
    for name in list_folder(folder):
        if name == _quote(os.sep):  # the top itself, the only brain of most repositories
            continue
        path = _find_marked_path(os.path.join(folder, name))
        if not path:
            continue
        root = real_path(top + path)
        if os.path.isdir(root) and find_work_tree(above(root)) == top:
            roots.append(root)
    return sorted(roots)


def _find_marked_path(mark: str) -> str:
    """Return the path of a brain below its work tree, which begins with a slash, or "".

    The name of the mark is the quoted path, which may be cut. The record contains the full path of
    the brain, perhaps in another work tree, and this full path ends with the path below the work
    tree.
    """
    name = os.path.basename(mark)
    records = (read_record_of(key) for key, _token in _read_marks(mark))
    record: dict[str, Any] = next(filter(None, records), {})
    root = str(record.get("root", ""))
    for position, character in enumerate(root):
        end = root[position:]
        if character == os.sep and _quote(end) == name:
            return end
    return ""


def _places(real: str) -> list[str]:
    """List the paths at which the mark of a brain may be, starting with the proper place."""
    inside = os.path.join(real, CACHE_NAME, _MARK_NAME)
    top = find_work_tree(above(real))
    home = git_home(top) if top is not None else None
    if top is None or home is None:
        return [inside]
    within = os.sep + real[len(top.rstrip(os.sep)) + 1 :]
    return [os.path.join(home, _MARK_FOLDER, _quote(within)), inside]


def _read_marks(mark_path: str) -> list[tuple[str, str]]:
    """Return the key and the token of each mark in a file; [] if there is no regular file."""
    if not _is_folder(os.path.dirname(mark_path)) or os.path.islink(mark_path):
        return []
    return _MARKS.get(mark_path)


def _parse_marks(mark_path: str) -> list[tuple[str, str]]:
    try:
        data = read_regular(mark_path, limit=_MAX_MARKS_BYTES, name=mark_path)
    except (OSError, StorageError):
        return []
    text = data.decode("ascii", "replace")
    matches = map(_MARK.fullmatch, text.splitlines())
    return [(match[1], match[2]) for match in matches if match]


_MARKS = SmallFiles(_parse_marks)


def _is_elsewhere(recorded_place: str, mark_path: str, mark: tuple[str, str]) -> bool:
    """Return whether a mark is a copy whose original is still at its recorded place."""
    if recorded_place == mark_path or mark not in _read_marks(recorded_place):
        return False
    try:  # a folder may be mounted twice; unlike a file, it has no hard links
        return not os.path.samefile(os.path.dirname(recorded_place), os.path.dirname(mark_path))
    except OSError:
        return True


def _is_folder(folder: str) -> bool:
    """Return whether a path is a folder and not a link."""
    try:
        return stat.S_ISDIR(os.lstat(folder).st_mode)
    except (OSError, ValueError):
        return False


def brain_key(root: str) -> str:
    """Return a readable folder name that is unique to this path.

    It is the real path with ``+`` as separator. A run of unsafe characters becomes ``=``, the
    hexadecimal of its bytes, ``=``. A key of more than 200 bytes is cut and ends with ``==``, which
    no short key contains, and a hash.
    """
    return _quote(real_path(root))


def _quote(path: str) -> str:
    key = _UNSAFE.sub(lambda run: f"={os.fsencode(run[0]).hex()}=", path).replace(os.sep, "+")
    if len(key) <= _MAX_KEY_BYTES:
        return key

    digest = load(HASHES).blake2b(os.fsencode(path), digest_size=16).hexdigest()
    return f"{key[:_PREFIX_OF_LONG_KEY]}=={digest}"

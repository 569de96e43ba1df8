"""One thing kept in the state folder: a file and what is known of it.

Each has a folder of its own, ``<time>-<random>``, with ``meta.json`` and the file itself,
``card``, which is moved there and not copied where the file system allows.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from lessons_kb.errors import StorageError
from lessons_kb.store.disk import TEMP_PREFIX, discard, read_regular, write_temp
from lessons_kb.store.state import make_private, state_dir, write_private
from lessons_kb.store.swap import is_being_written, rename_new

CARD = "card"
MAX_BYTES = 1 << 30
_META = "meta.json"
_TRASH = "trash"


@dataclass(frozen=True, kw_only=True, slots=True)
class Trashed:
    """One file in the trash."""

    name: str
    """Unique name of the entry."""
    path: str
    """POSIX path in the brain it came from."""
    when: str
    """ISO date and time, UTC, to the second."""
    why: str
    size: int
    """Bytes."""


def trash_dir(root: str, *, create: bool = True) -> str:
    """Return the folder of the things in the trash of a brain."""
    return os.path.join(state_dir(root, create=create), _TRASH)


def new_entry(
    kind: str, path: str, why: str, *, link: str | None = None, expected: bytes | None = None
) -> str:
    """Make an entry in the folder ``kind`` and return its path; its file is moved in next.

    ``link`` is the text of a symbolic link, ``expected`` the bytes the file ought to hold.
    """
    entry = os.path.join(kind, f"{time.time_ns():020d}-{os.urandom(4).hex()}")
    make_private(entry)
    when = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    meta: dict[str, Any] = {"path": path, "when": when, "why": why}
    if link is not None:
        meta["link"] = link
    if expected is not None:
        meta["expected"] = digest(expected)
    data = json.dumps(meta).encode()
    try:
        if expected is None:
            write_private(os.path.join(entry, _META), data)
        else:  # for some seconds only, and what was expected is known: not worth a sync
            file = os.open(os.path.join(entry, _META), os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            try:
                os.write(file, data)
            finally:
                os.close(file)
    except BaseException:
        abandon(entry)
        raise
    return entry


def read_meta(entry: str) -> Mapping[str, Any]:
    """Return what is known of an entry, {} when its note is damaged."""
    try:
        data = read_regular(os.path.join(entry, _META), limit=1 << 20, name=_META)
        meta = json.loads(data)
    except (OSError, StorageError, ValueError):
        return {}
    return meta if isinstance(meta, dict) else {}


def read_entry(entry: str) -> Trashed | None:
    """Return an entry of the trash, None when it has no file."""
    name = os.path.basename(entry)
    meta = read_meta(entry)
    size = 0
    if "link" not in meta:
        try:
            size = os.lstat(os.path.join(entry, CARD)).st_size
        except OSError:
            return None  # its process was killed before the card came
    return Trashed(
        name=name,
        path=str(meta.get("path", f"recovered-{name}.md")),
        when=str(meta.get("when", "")),
        why=str(meta.get("why", "")),
        size=size,
    )


def digest(data: bytes) -> str:
    """Return what tells two files apart."""
    return hashlib.blake2b(data, digest_size=16).hexdigest()


def move_in(source: str, entry: str) -> None:
    """Move a file into a fresh entry; across file systems by a durable copy."""
    target = os.path.join(entry, CARD)
    try:
        os.rename(source, target)
    except OSError as error:
        if error.errno != errno.EXDEV:
            raise
        _copy_in(source, target)


def _copy_in(source: str, target: str) -> None:
    aside = os.path.join(os.path.dirname(source), TEMP_PREFIX + os.urandom(8).hex())
    data = read_regular(source, limit=MAX_BYTES, name=source)
    write_private(target, data)
    try:
        os.rename(source, aside)
    except BaseException:
        os.unlink(target)
        raise
    # From here on nobody finds it by its name; what was saved since the copy is copied again.
    if (late := read_regular(aside, limit=MAX_BYTES, name=source)) != data:
        write_private(target, late)
    if not is_being_written(aside):  # else it stays until adopt_leftovers() finds it
        os.unlink(aside)


def move_out(source: str, target: str) -> None:
    """Move a file of the trash to a free name; FileExistsError when it is taken."""
    try:
        rename_new(source, target)
    except OSError as error:
        if error.errno != errno.EXDEV:
            raise
        data = read_regular(source, limit=MAX_BYTES, name=source)
        temp = write_temp(os.path.dirname(target), data, like=os.stat(source))
        try:
            rename_new(temp, target)
        except BaseException:
            discard(temp, data)
            raise


def abandon(entry: str) -> None:
    """Remove an entry that got no card; one that did is kept, whatever failed afterwards."""
    if not os.path.lexists(os.path.join(entry, CARD)):
        drop(entry)


def drop(entry: str) -> None:
    """Remove an entry with all it holds."""
    for name in listed(entry):
        try:
            os.unlink(os.path.join(entry, name))
        except OSError:
            continue
    try:
        os.rmdir(entry)
    except OSError:
        return


def listed(folder: str) -> list[str]:
    """List the names in a folder in order; none when it cannot be read."""
    try:
        return sorted(os.listdir(folder))
    except OSError:
        return []

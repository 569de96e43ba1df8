"""Files that were replaced a moment ago, and those that a killed process left behind.

A program that keeps a card open goes on writing into the file that was replaced. So that file
stays in the state folder, under ``displaced/<tens of seconds>/``, until nobody has it open for
writing. If it still holds what we had read it is then removed; else another program wrote to it,
and it moves to the trash.
"""

from __future__ import annotations

import os
import stat
import time

from lessons_kb.errors import StorageError
from lessons_kb.store.disk import TEMP_PREFIX, read_regular, relative, storage_error
from lessons_kb.store.state import make_private, state_dir
from lessons_kb.store.swap import is_being_written
from lessons_kb.store.trash_entry import (
    CARD,
    MAX_BYTES,
    abandon,
    digest,
    drop,
    listed,
    move_in,
    new_entry,
    read_meta,
    trash_dir,
)

_DISPLACED = "displaced"
_BUCKET_SECONDS = 10
_GIVEN_UP_SECONDS = 7 * 86_400
"""Some network file systems call every file open; an unchanged one is not kept for ever."""
_LEFTOVER_SECONDS = 86_400


def put_aside(root: str, path: str, displaced: str, *, expected: bytes | None, why: str) -> None:
    """Take over the file that was just replaced at ``path``.

    It is kept while it may still be written. ``expected`` is what we had read there: a file with
    other bytes, or any file where it is None, goes to the trash. Raises StorageError and leaves
    ``displaced`` where it is when it cannot be kept.
    """
    try:
        if expected is None:
            kind = trash_dir(root)
        elif _same_device(displaced, state_dir(root)):
            kind = os.path.join(_displaced(root), _bucket())
        elif _is_unchanged(displaced, expected):
            os.unlink(displaced)  # it cannot be moved, only copied, and the copy is in the card
            return
        else:
            kind, expected = trash_dir(root), None
        entry = new_entry(kind, path, why, expected=expected)
        try:
            move_in(displaced, entry)
        except BaseException:
            abandon(entry)
            raise
    except OSError as error:
        raise storage_error(error, path) from None


def sweep(root: str) -> bool:
    """Decide about files displaced some seconds ago: remove the unchanged, trash the others.

    Returns whether none has been displaced in the last seconds: a good time for more cleaning.
    """
    folder = _displaced(root)
    now = time.time()
    buckets = listed(folder)
    for bucket in buckets:
        if not bucket.isdigit() or (int(bucket) + 2) * _BUCKET_SECONDS > now:
            continue
        path = os.path.join(folder, bucket)
        for name in listed(path):
            try:
                _settle(os.path.join(path, name), os.path.join(trash_dir(root), name), now)
            except (OSError, StorageError):
                continue  # another process was faster, or next time
        try:
            os.rmdir(path)
        except OSError:
            continue  # not empty: something is still open
    return not buckets or buckets[-1] != _bucket()


def adopt_leftovers(root: str, folder: str) -> None:
    """Move temporary files that a killed process left in ``folder`` to the trash.

    Only those older than a day; one of them may hold what another program saved.
    """
    limit = time.time() - _LEFTOVER_SECONDS
    for name in listed(folder):
        if not name.startswith(TEMP_PREFIX):
            continue
        full = os.path.join(folder, name)
        try:
            info = os.lstat(full)
            if not stat.S_ISREG(info.st_mode) or max(info.st_mtime, info.st_ctime) > limit:
                continue
            if info.st_nlink > 1:
                os.unlink(full)  # the same file has its proper name as well
            else:
                left = name.removeprefix(TEMP_PREFIX)
                path = relative(root, os.path.join(folder, f"recovered-{left}.md"))
                put_aside(root, path, full, expected=None, why="left by an interrupted save")
        except (OSError, StorageError):
            continue


def _displaced(root: str) -> str:
    return os.path.join(state_dir(root, create=False), _DISPLACED)


def _bucket() -> str:
    return f"{int(time.time()) // _BUCKET_SECONDS:012d}"


def _settle(entry: str, trashed: str, now: float) -> None:
    card = os.path.join(entry, CARD)
    try:
        info = os.lstat(card)
    except FileNotFoundError:  # its process was killed before the card came
        drop(entry)
        return
    if is_being_written(card) and now - info.st_ctime < _GIVEN_UP_SECONDS:
        return
    data = read_regular(card, limit=MAX_BYTES, name=card)
    if digest(data) == read_meta(entry).get("expected"):
        drop(entry)
        return
    make_private(os.path.dirname(trashed))
    os.rename(entry, trashed)


def _is_unchanged(full: str, expected: bytes) -> bool:
    size = os.stat(full).st_size
    if is_being_written(full) or size != len(expected):
        return False
    return read_regular(full, limit=size, name=full) == expected


def _same_device(first: str, second: str) -> bool:
    return os.lstat(first).st_dev == os.stat(second).st_dev

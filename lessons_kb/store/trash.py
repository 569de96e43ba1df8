"""The trash of a brain: what was deleted, and what another program wrote in a race.

Each entry has a folder of its own, ``<time>-<random>``, with ``meta.json`` and the file itself,
``card``, which is moved there and not copied where the file system allows.

A program that keeps a card open goes on writing into the file that was replaced. So that file is
first in quarantine, an entry under ``displaced/``, until nobody has it open for writing. If it
still holds what we had read it is then removed; else another program wrote to it, and it moves to
the trash.
"""

from __future__ import annotations

import contextlib
import difflib
import errno
import hashlib
import json
import os
import shutil
import stat
import time
from collections.abc import Callable, Mapping
from typing import Any

from lessons_kb.errors import CardNotFound, ConfigError, DuplicateCard, StorageError
from lessons_kb.store.brain_settings import read_settings
from lessons_kb.store.files import (
    TEMP_PREFIX,
    is_being_written,
    list_folder,
    on_failure,
    read_json,
    read_regular,
    relative,
    rename_new,
    resolve,
    shown,
    storage_error,
    storage_errors,
    sync_folder,
    temporary,
    write_unsynced,
)
from lessons_kb.store.locks import locked
from lessons_kb.store.private_files import make_private, write_private
from lessons_kb.store.state_folder import state_dir
from lessons_kb.text.redact import redact
from lessons_kb.text.sanitize import shell_word
from lessons_kb.values import frozen

CARD = "card"
MAX_BYTES = 1 << 30
_META = "meta.json"
_TRASH = "trash"
_DISPLACED = "displaced"
_QUARANTINE_SECONDS = 15
_GIVEN_UP_SECONDS = 7 * 86_400
"""Some network file systems call every file open; an unchanged one is not kept for ever."""
_LEFTOVER_SECONDS = 86_400
_DAY_NS = 86_400 * 10**9


@frozen
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
    meta = {"path": redact(path), "when": when, "why": redact(why)}
    meta |= {} if link is None else {"link": link}
    meta |= {} if expected is None else {"expected": digest(expected)}
    note, data = os.path.join(entry, _META), json.dumps(meta).encode()
    with on_failure(abandon, entry):
        if expected is not None:  # for some seconds only: not worth a sync
            write_unsynced(note, data)
            return entry
        try:
            write_private(note, data)
        except StorageError:
            if link is not None:
                raise
            os.symlink(path, note)  # a full disk has room for a link
    return entry


def read_meta(entry: str) -> Mapping[str, Any]:
    """Return what is known of an entry, {} when its note is damaged."""
    note = os.path.join(entry, _META)
    if os.path.islink(note):
        return {"path": os.readlink(note), "why": "deleted"}
    return read_json(note, limit=1 << 20)


def digest(data: bytes) -> str:
    """Return what tells two files apart."""
    return hashlib.blake2b(data, digest_size=16).hexdigest()


def move_in(source: str, target: str) -> None:
    """Move a file into a fresh entry; across file systems by a durable copy."""
    try:
        os.rename(source, target)
    except OSError as error:
        if error.errno != errno.EXDEV:
            raise
    else:
        return
    aside = os.path.join(os.path.dirname(source), TEMP_PREFIX + os.urandom(8).hex())
    data = _read_whole(source)
    write_private(target, data)
    with on_failure(os.unlink, target):
        os.rename(source, aside)
    # From here on nobody finds it by its name; what was saved since the copy is copied again.
    if (late := _read_whole(aside)) != data:
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
        data = _read_whole(source)
        with temporary(os.path.dirname(target), data, like=os.stat(source)) as temp:
            rename_new(temp, target)


def abandon(entry: str) -> None:
    """Remove an entry that got no card; one that did is kept, whatever failed afterwards."""
    if not os.path.lexists(os.path.join(entry, CARD)):
        drop(entry)


def drop(entry: str) -> None:
    """Remove an entry with all it holds, as far as that can be done."""
    shutil.rmtree(entry, ignore_errors=True)


def put_aside(root: str, path: str, displaced: str, *, expected: bytes | None, why: str) -> None:
    """Take over the file that was just replaced at ``path``.

    It is kept while it may still be written. ``expected`` is what we had read there: a file with
    other bytes, or any file where it is None, goes to the trash. Raises StorageError and leaves
    ``displaced`` where it is when it cannot be kept.
    """
    with storage_errors(path, brain=root):
        state = state_dir(root)
        if expected is None:
            kind = os.path.join(state, _TRASH)
        elif os.lstat(displaced).st_dev == os.stat(state).st_dev:
            kind = os.path.join(state, _DISPLACED)
        elif not is_being_written(displaced) and _read_whole(displaced) == expected:
            os.unlink(displaced)  # it cannot be moved, only copied, and the copy is in the card
            return
        else:
            kind, expected = os.path.join(state, _TRASH), None
        _fill(new_entry(kind, path, why, expected=expected), lambda to: move_in(displaced, to))


def _fill(entry: str, move: Callable[[str], object]) -> str:
    """Return the entry when ``move`` has put a file at its path; else remove it."""
    with on_failure(abandon, entry):
        move(os.path.join(entry, CARD))
    return os.path.basename(entry)


def _read_whole(full: str) -> bytes:
    return read_regular(full, limit=MAX_BYTES, name=full)


def sweep(root: str) -> bool:
    """Decide about files displaced some seconds ago: remove the unchanged, trash the others.

    Returns whether none has been displaced in the last seconds: a good time for more cleaning.
    """
    folder = os.path.join(state_dir(root, create=False), _DISPLACED)
    young = int((time.time() - _QUARANTINE_SECONDS) * 1e9)
    names = list_folder(folder)
    for name in names:
        if name < f"{young:020d}":
            with contextlib.suppress(OSError, StorageError):  # another was faster, or next time
                _settle(os.path.join(folder, name), os.path.join(trash_dir(root), name))
    return not names or names[-1] < f"{young:020d}"


def adopt_leftovers(root: str, folder: str, *, called: str | None = None) -> None:
    """Move temporary files that a killed process left in ``folder`` to the trash.

    Only those older than a day; one of them may hold what another program saved. ``called`` is the
    folder of the brain into which they can be restored, if ``folder`` is not in the brain.
    """
    place = relative(root, folder) if called is None else called
    limit = time.time() - _LEFTOVER_SECONDS
    for name in list_folder(folder):
        if not name.startswith(TEMP_PREFIX):
            continue
        full = os.path.join(folder, name)
        with contextlib.suppress(OSError, StorageError):
            info = os.lstat(full)
            if not stat.S_ISREG(info.st_mode) or max(info.st_mtime, info.st_ctime) > limit:
                continue
            if info.st_nlink > 1:
                os.unlink(full)  # the same file has its proper name as well
            else:
                left = name.removeprefix(TEMP_PREFIX)
                path = os.path.normpath(os.path.join(place, f"recovered-{left}.md"))
                put_aside(root, path, full, expected=None, why="left by an interrupted save")


def _settle(entry: str, trashed: str) -> None:
    card = os.path.join(entry, CARD)
    if os.path.lexists(card):
        young = time.time() - os.lstat(card).st_ctime < _GIVEN_UP_SECONDS
        if young and is_being_written(card):
            return
        if digest(_read_whole(card)) != read_meta(entry).get("expected"):
            make_private(os.path.dirname(trashed))
            os.rename(entry, trashed)
            return
    drop(entry)  # unchanged, or its process was killed before the card came


def put(root: str, path: str, *, why: str = "deleted") -> str:
    """Move a card to the trash and return the entry's name.

    A link goes as a link, its target stays. Works across file systems: at every moment the card
    is whole in its place or whole in the trash. What the settings of the brain no longer keep
    is forgotten. Raises StorageError.
    """
    full = resolve(root, path, follow=False, writing=True)
    with locked(full), storage_errors(path, brain=root):
        info = os.lstat(full)
        link = os.readlink(full) if stat.S_ISLNK(info.st_mode) else None
        if link is None and not stat.S_ISREG(info.st_mode):
            raise StorageError(f"{shown(path)}: not a file; remove it by hand")
        entry = new_entry(trash_dir(root), relative(root, full), why, link=link)
        name = _fill(entry, lambda to: move_in(full, to) if link is None else os.unlink(full))
        sync_folder(os.path.dirname(full))
    _prune_as_set(root)
    return name


def put_bytes(root: str, path: str, data: bytes, why: str) -> str:
    """Keep ``data`` in the trash as a version of ``path`` and return the entry's name."""
    with storage_errors(path, brain=root):
        name = _fill(new_entry(trash_dir(root), path, why), lambda to: write_private(to, data))
    _prune_as_set(root)
    return name


def _prune_as_set(root: str) -> None:
    """Remove what is older, or more bytes, than the settings keep, but not the newest.

    That is what an undo brings back. A setting that cannot be read removes nothing.
    """
    with contextlib.suppress(ConfigError):
        settings = read_settings(root)[0].trash
        oldest, size = time.time_ns() - settings.retention_days * _DAY_NS, 0
        for place, entry in enumerate(entries(root)):
            size += entry.size
            began, _, _rest = entry.name.partition("-")
            late = began.isdigit() and int(began) < oldest
            if place and (late or size > settings.max_bytes):
                drop(os.path.join(trash_dir(root), entry.name))


def entries(root: str) -> list[Trashed]:
    """List what is in the trash, newest first."""
    sweep(root)
    folder = trash_dir(root, create=False)
    found: list[Trashed] = []
    for name in reversed(list_folder(folder)):
        entry = os.path.join(folder, name)
        meta = read_meta(entry)
        with contextlib.suppress(OSError):  # its process was killed before the card came
            path = str(meta.get("path", f"recovered-{name}.md"))
            when, why = str(meta.get("when", "")), str(meta.get("why", ""))
            size = 0 if "link" in meta else os.lstat(os.path.join(entry, CARD)).st_size
            found.append(Trashed(name=name, path=path, when=when, why=why, size=size))
    return found


def restore(root: str, name_or_path: str) -> str:
    """Bring an entry back to the path it came from and return that path.

    Takes the name of an entry or the path of a card, of which the newest version comes back.
    Raises CardNotFound, DuplicateCard when a file has taken the place, or StorageError.
    """
    trashed = entries(root)
    chosen = next((e for e in trashed if name_or_path in (e.name, e.path)), None)
    if chosen is None:
        near = difflib.get_close_matches(name_or_path, [e.path for e in trashed], n=1)
        hint = f"; did you mean {shown(near[0])}?" if near else ""
        raise CardNotFound(f"{shown(name_or_path)} is not in the trash{hint}")
    entry = os.path.join(trash_dir(root), chosen.name)
    full = resolve(root, chosen.path, follow=False, writing=True)
    try:
        os.makedirs(os.path.dirname(full), exist_ok=True)
        if (link := read_meta(entry).get("link")) is not None:
            os.symlink(link, full)
        else:
            move_out(os.path.join(entry, CARD), full)
        sync_folder(os.path.dirname(full))
    except FileExistsError:
        taken = shown(chosen.path)
        raise DuplicateCard(
            f"{taken} exists; first run `lessons rename {shell_word(taken)} 'ANOTHER TITLE'`",
            existing=chosen.path,
        ) from None
    except OSError as error:
        raise storage_error(error, chosen.path, brain=root) from None
    drop(entry)
    return chosen.path

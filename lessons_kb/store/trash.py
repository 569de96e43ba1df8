"""The trash of a brain: deleted cards, and versions that another program saved at the same time.

Each entry is a folder, ``<time>-<random>``, with ``meta.json`` and the file itself, ``card``. The
file is moved there, or copied if the file system requires it.

A program that has a card open may keep writing to the file after it was replaced. So a replaced
file is first quarantined, as an entry under ``displaced/``, until no process has it open for
writing. If it still has the content that we read, it is then removed. Otherwise another program
wrote to it, and it moves to the trash.
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
"""The time after which an unchanged file is removed although it seems to be open. Some network file
systems report every file as open."""
_LEFTOVER_SECONDS = 86_400
_DAY_NS = 86_400 * 10**9


@frozen
class Trashed:
    """One file in the trash."""

    name: str
    """The unique name of the entry."""
    path: str
    """The former POSIX path in the brain."""
    when: str
    """The ISO date and time in UTC, to the second."""
    why: str
    size: int
    """The size in bytes."""


def trash_dir(root: str, *, create: bool = True) -> str:
    """Return the folder of a brain's trash."""
    return os.path.join(state_dir(root, create=create), _TRASH)


def new_entry(
    kind: str, path: str, why: str, *, link: str | None = None, expected: bytes | None = None
) -> str:
    """Create an entry in the folder ``kind`` and return its path.

    The caller moves the file into the entry. ``link`` is the target of a symbolic link.
    ``expected`` is the expected content of the file.
    """
    entry = os.path.join(kind, f"{time.time_ns():020d}-{os.urandom(4).hex()}")
    make_private(entry)
    when = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    meta = {"path": redact(path), "when": when, "why": redact(why)}
    meta |= {} if link is None else {"link": link}
    meta |= {} if expected is None else {"expected": digest(expected)}
    note = os.path.join(entry, _META)
    data = json.dumps(meta).encode()
    with on_failure(abandon, entry):
        if expected is not None:  # the entry lasts only some seconds, so a sync is not needed
            write_unsynced(note, data)
            return entry
        try:
            write_private(note, data)
        except StorageError:
            if link is not None:
                raise
            os.symlink(path, note)  # a full disk has space for a link
    return entry


def read_meta(entry: str) -> Mapping[str, Any]:
    """Return the metadata of an entry, or {} if it is damaged."""
    note = os.path.join(entry, _META)
    if os.path.islink(note):
        return {"path": os.readlink(note), "why": "deleted"}
    return read_json(note, limit=1 << 20)


def digest(data: bytes) -> str:
    """Return a digest of the content of a file."""
    return hashlib.blake2b(data, digest_size=16).hexdigest()


def move_in(source: str, target: str) -> None:
    """Move a file into a new entry; across file systems, copy it durably."""
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
    # No program can open the file by its name any more. If a program saved it after the copy, the
    # file is copied again.
    latest = _read_whole(aside)
    if latest != data:
        write_private(target, latest)
    if not is_being_written(aside):  # otherwise it stays until adopt_leftovers() finds it
        os.unlink(aside)


def move_out(source: str, target: str) -> None:
    """Move a file out of the trash. Raises FileExistsError if the name is taken."""
    try:
        rename_new(source, target)
    except OSError as error:
        if error.errno != errno.EXDEV:
            raise
        data = _read_whole(source)
        with temporary(os.path.dirname(target), data, like=os.stat(source)) as temp:
            rename_new(temp, target)


def abandon(entry: str) -> None:
    """Remove an entry after a failure, unless the card has been moved into it."""
    if not os.path.lexists(os.path.join(entry, CARD)):
        drop(entry)


def drop(entry: str) -> None:
    """Remove an entry and its content, as far as possible."""
    shutil.rmtree(entry, ignore_errors=True)


def put_aside(root: str, path: str, displaced: str, *, expected: bytes | None, why: str) -> None:
    """Move ``displaced``, the file that was just replaced at ``path``, to quarantine or the trash.

    It is quarantined while a program may still write to it. ``expected`` is the content that we
    read. A file with other content goes to the trash. If ``expected`` is None, every file does.
    Raises StorageError and then does not move ``displaced``.
    """
    with storage_errors(path, brain=root):
        state = state_dir(root)
        if expected is None:
            kind = os.path.join(state, _TRASH)
        elif os.lstat(displaced).st_dev == os.stat(state).st_dev:
            kind = os.path.join(state, _DISPLACED)
        elif not is_being_written(displaced) and _read_whole(displaced) == expected:
            os.unlink(
                displaced
            )  # the file could only be copied, and the new card is based on its content
            return
        else:
            kind = os.path.join(state, _TRASH)
            expected = None
        _fill(new_entry(kind, path, why, expected=expected), lambda to: move_in(displaced, to))


def _fill(entry: str, move: Callable[[str], object]) -> str:
    """Call ``move`` with the path of the entry's card, and return the name of the entry.

    If ``move`` raises an error, the entry is removed.
    """
    with on_failure(abandon, entry):
        move(os.path.join(entry, CARD))
    return os.path.basename(entry)


def _read_whole(full: str) -> bytes:
    return read_regular(full, limit=MAX_BYTES, name=full)


def sweep(root: str) -> bool:
    """End the quarantine of older files: remove unchanged files and move the others to the trash.

    Return whether no file was displaced in the last seconds, so that there is time to clean up.
    """
    state = state_dir(root, create=False)
    folder = os.path.join(state, _DISPLACED)
    limit = f"{int((time.time() - _QUARANTINE_SECONDS) * 1e9):020d}"
    names = list_folder(folder)
    for name in names:
        if name < limit:
            # After an error, another process has settled the entry, or the next call settles it.
            with contextlib.suppress(OSError, StorageError):
                _settle(os.path.join(folder, name), os.path.join(state, _TRASH, name))
    return not names or names[-1] < limit


def adopt_leftovers(root: str, folder: str, *, called: str | None = None) -> None:
    """Move temporary files that a killed process left in ``folder`` to the trash.

    These files are at least a day old, and may contain a version that another program saved.
    ``called`` is the folder of the brain into which they can be restored, if ``folder`` is not in
    the brain.
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
                os.unlink(full)  # the file also has its proper name
            else:
                suffix = name.removeprefix(TEMP_PREFIX)
                path = os.path.normpath(os.path.join(place, f"recovered-{suffix}.md"))
                put_aside(root, path, full, expected=None, why="left by an interrupted save")


def _settle(entry: str, trashed: str) -> None:
    card = os.path.join(entry, CARD)
    if os.path.lexists(card):
        is_young = time.time() - os.lstat(card).st_ctime < _GIVEN_UP_SECONDS
        if is_young and is_being_written(card):
            return
        if digest(_read_whole(card)) != read_meta(entry).get("expected"):
            make_private(os.path.dirname(trashed))
            os.rename(entry, trashed)
            return
    drop(entry)  # the card is unchanged, or its process was killed before the card was moved in


def put(root: str, path: str, *, why: str = "deleted") -> str:
    """Move a card to the trash and return the name of the entry.

    A link is moved, not its target. At every moment the complete card is in its place or in the
    trash, even across file systems. Entries beyond the limits in the brain's settings are removed.
    Raises StorageError.
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
    _prune(root)
    return name


def put_bytes(root: str, path: str, data: bytes, why: str) -> str:
    """Store ``data`` in the trash as a version of ``path``. Return the name of the entry."""
    with storage_errors(path, brain=root):
        name = _fill(new_entry(trash_dir(root), path, why), lambda to: write_private(to, data))
    _prune(root)
    return name


def _prune(root: str) -> None:
    """Remove entries beyond the age and size in the settings, but not the newest entry.

    An undo needs the newest entry. If the settings cannot be read, nothing is removed.
    """
    with contextlib.suppress(ConfigError):
        settings = read_settings(root)[0].trash
        oldest = time.time_ns() - settings.retention_days * _DAY_NS
        size = 0
        for position, entry in enumerate(entries(root)):
            size += entry.size
            created, _, _rest = entry.name.partition("-")
            is_old = created.isdigit() and int(created) < oldest
            if position > 0 and (is_old or size > settings.max_bytes):
                drop(os.path.join(trash_dir(root), entry.name))


def entries(root: str) -> list[Trashed]:
    """List the files in the trash, newest first."""
    sweep(root)
    folder = trash_dir(root, create=False)
    files: list[Trashed] = []
    for name in reversed(list_folder(folder)):
        entry = os.path.join(folder, name)
        meta = read_meta(entry)
        with contextlib.suppress(OSError):  # its process was killed before it moved the card in
            path = str(meta.get("path", f"recovered-{name}.md"))
            when, why = str(meta.get("when", "")), str(meta.get("why", ""))
            size = 0 if "link" in meta else os.lstat(os.path.join(entry, CARD)).st_size
            files.append(Trashed(name=name, path=path, when=when, why=why, size=size))
    return files


def restore(root: str, name_or_path: str) -> str:
    """Move an entry back to its former path and return that path.

    ``name_or_path`` is the name of an entry, or the path of a card, whose newest version is
    restored. Raises CardNotFound, StorageError, or DuplicateCard if the path is taken.
    """
    trashed = entries(root)
    matches = [entry for entry in trashed if name_or_path in (entry.name, entry.path)]
    if not matches:
        similar = difflib.get_close_matches(name_or_path, [entry.path for entry in trashed], n=1)
        hint = f"; did you mean {shown(similar[0])}?" if similar else ""
        raise CardNotFound(f"{shown(name_or_path)} is not in the trash{hint}")
    chosen = matches[0]
    entry = os.path.join(trash_dir(root), chosen.name)
    full = resolve(root, chosen.path, follow=False, writing=True)
    try:
        os.makedirs(os.path.dirname(full), exist_ok=True)
        link = read_meta(entry).get("link")
        if link is not None:
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

"""The trash of a brain: what was deleted, and what another program wrote in a race.

Each entry has a folder of its own, ``<time>-<random>``, with ``meta.json`` and the file itself,
``card``, which is moved there and not copied where the file system allows.

A program that keeps a card open goes on writing into the file that was replaced. So that file is
first in quarantine, under ``displaced/<tens of seconds>/``, until nobody has it open for writing.
If it still holds what we had read it is then removed; else another program wrote to it, and it
moves to the trash.
"""

from __future__ import annotations

import contextlib
import difflib
import errno
import hashlib
import json
import os
import stat
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from lessons_kb.config import TrashSettings
from lessons_kb.errors import CardNotFound, ConfigError, DuplicateCard, StorageError
from lessons_kb.store.files import (
    TEMP_PREFIX,
    discard,
    is_being_written,
    read_regular,
    relative,
    rename_new,
    resolve,
    shown,
    storage_error,
    sync_folder,
    write_temp,
)
from lessons_kb.store.locks import locked
from lessons_kb.store.settings import read_settings
from lessons_kb.store.user_state import make_private, state_dir, write_private
from lessons_kb.text.redact import redact
from lessons_kb.text.sanitize import shell_word

CARD = "card"
MAX_BYTES = 1 << 30
_META = "meta.json"
_TRASH = "trash"
_DISPLACED = "displaced"
_BUCKET_SECONDS = 10
_GIVEN_UP_SECONDS = 7 * 86_400
"""Some network file systems call every file open; an unchanged one is not kept for ever."""
_LEFTOVER_SECONDS = 86_400
_DAY_NS = 86_400 * 10**9


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
    meta: dict[str, Any] = {"path": redact(path), "when": when, "why": redact(why)}
    if link is not None:
        meta["link"] = link
    if expected is not None:
        meta["expected"] = digest(expected)
    data = json.dumps(meta).encode()
    try:
        if expected is None:
            try:
                write_private(os.path.join(entry, _META), data)
            except StorageError:
                if link is not None:
                    raise
                os.symlink(path, os.path.join(entry, _META))  # a full disk has room for a link
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
        if os.path.islink(os.path.join(entry, _META)):
            return {"path": os.readlink(os.path.join(entry, _META)), "why": "deleted"}
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
        raise storage_error(error, path, brain=root) from None


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


def put(root: str, path: str, *, why: str = "deleted") -> str:
    """Move a card to the trash and return the entry's name.

    A link goes as a link, its target stays. Works across file systems: at every moment the card
    is whole in its place or whole in the trash. What the settings of the brain no longer keep
    is forgotten. Raises StorageError.
    """
    full = resolve(root, path, follow=False, writing=True)
    with locked(full):
        try:
            info = os.lstat(full)
            link = os.readlink(full) if stat.S_ISLNK(info.st_mode) else None
            if link is None and not stat.S_ISREG(info.st_mode):
                raise StorageError(f"{shown(path)}: not a file; remove it by hand")
            entry = new_entry(trash_dir(root), relative(root, full), why, link=link)
            try:
                if link is not None:
                    os.unlink(full)
                else:
                    move_in(full, entry)
            except BaseException:
                abandon(entry)
                raise
            sync_folder(os.path.dirname(full))
        except OSError as error:
            raise storage_error(error, path, brain=root) from None
    _prune_as_set(root)
    return os.path.basename(entry)


def put_bytes(root: str, path: str, data: bytes, why: str) -> str:
    """Keep ``data`` in the trash as a version of ``path`` and return the entry's name."""
    try:
        entry = new_entry(trash_dir(root), path, why)
        try:
            write_private(os.path.join(entry, CARD), data)
        except BaseException:
            abandon(entry)
            raise
    except OSError as error:
        raise storage_error(error, path, brain=root) from None
    _prune_as_set(root)
    return os.path.basename(entry)


def prune(root: str, settings: TrashSettings) -> list[Trashed]:
    """Remove what is older or more than the settings keep, and return it."""
    gone = find_beyond(entries(root), settings)
    for entry in gone:
        drop(os.path.join(trash_dir(root), entry.name))
    return gone


def find_beyond(trashed: list[Trashed], settings: TrashSettings) -> list[Trashed]:
    """Return those of the entries, newest first, that are too old, or too many bytes.

    The newest is never among them: it is what an undo brings back.
    """
    oldest = time.time_ns() - settings.retention_days * _DAY_NS
    size, beyond = 0, []
    for place, entry in enumerate(trashed):
        size += entry.size
        began, _, _rest = entry.name.partition("-")
        late = began.isdigit() and int(began) < oldest
        if place and (late or size > settings.max_bytes):
            beyond.append(entry)
    return beyond


def _prune_as_set(root: str) -> None:
    with contextlib.suppress(ConfigError):  # a setting that cannot be read removes nothing
        prune(root, read_settings(root)[0].trash)


def entries(root: str) -> list[Trashed]:
    """List what is in the trash, newest first."""
    sweep(root)
    folder = trash_dir(root, create=False)
    found = (read_entry(os.path.join(folder, name)) for name in listed(folder))
    return sorted((e for e in found if e is not None), key=lambda e: e.name, reverse=True)


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

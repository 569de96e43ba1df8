"""What was deleted, and what a race displaced: brought back on request, forgotten in the end."""

from __future__ import annotations

import contextlib
import difflib
import os
import stat
import time

from lessons_kb.config import TrashSettings
from lessons_kb.errors import CardNotFound, ConfigError, DuplicateCard, StorageError
from lessons_kb.store.disk import relative, resolve, shown, storage_error, sync_folder
from lessons_kb.store.locks import locked
from lessons_kb.store.quarantine import sweep
from lessons_kb.store.settings import read_settings
from lessons_kb.store.state import write_private
from lessons_kb.store.trash_entry import (
    CARD,
    Trashed,
    abandon,
    drop,
    listed,
    move_in,
    move_out,
    new_entry,
    read_entry,
    read_meta,
    trash_dir,
)

_DAY_NS = 86_400 * 10**9


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
            raise storage_error(error, path) from None
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
        raise storage_error(error, path) from None
    _prune_as_set(root)
    return os.path.basename(entry)


def prune(root: str, settings: TrashSettings) -> list[Trashed]:
    """Remove what is older or more than the settings keep, and return it."""
    gone = find_beyond(entries(root), settings)
    for entry in gone:
        drop(os.path.join(trash_dir(root), entry.name))
    return gone


def find_beyond(kept: list[Trashed], settings: TrashSettings) -> list[Trashed]:
    """Return those of the entries, newest first, that are too old, or too many bytes.

    The newest is never among them: it is what an undo brings back.
    """
    oldest = time.time_ns() - settings.retention_days * _DAY_NS
    size, beyond = 0, []
    for place, entry in enumerate(kept):
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
    kept = entries(root)
    chosen = next((e for e in kept if name_or_path in (e.name, e.path)), None)
    if chosen is None:
        near = difflib.get_close_matches(name_or_path, [e.path for e in kept], n=1)
        hint = f"; the nearest is {shown(near[0])}" if near else ""
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
            f"{taken} exists; rename or delete that file first", existing=chosen.path
        ) from None
    except OSError as error:
        raise storage_error(error, chosen.path) from None
    drop(entry)
    return chosen.path

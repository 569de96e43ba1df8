"""Read and write card files, without lost updates, torn files or loss of other programs' text."""

from __future__ import annotations

import contextlib
import errno
import os
import stat
import time
from collections.abc import Callable, Iterator

from lessons_kb.errors import DuplicateCard, LessonsError, StorageError
from lessons_kb.store import files as disk
from lessons_kb.store.locks import locked
from lessons_kb.store.trash import adopt_leftovers, put_aside, sweep
from lessons_kb.text.sanitize import shell_word

MAX_BYTES = 100_000_000
"""The maximum size of a file that is rewritten, because a rewrite reads the whole file."""

_PATIENCE_SECONDS = 1.0
"""Total time that one rewrite waits for programs that are in the middle of a save."""
_TRIES = 20
_RACE = "another program saved it at the same moment"
_DISPLACED = "another program wrote to the replaced file"


def read_bytes(root: str, path: str, *, limit: int) -> bytes:
    """Return the content of a file of a brain; ``path`` is POSIX and relative, ``limit`` in bytes.

    No link is followed. Folders, FIFOs and devices are refused without waiting. Raises
    StorageError, or InputError for a path that leads out of the brain.
    """
    with disk.storage_errors(path, brain=root):
        return disk.read_inside(root, path, limit=limit)


def rewrite(root: str, path: str, change: Callable[[bytes], bytes]) -> bytes:
    """Replace a card's bytes by ``change(bytes)`` and return the new content of the card.

    The replacement is atomic. A reader sees the old file or the new file, even if this process is
    killed. Mode, owner and extended attributes are preserved, and no link is followed. Rewrites of
    one file run one after another. If another program saves the file meanwhile, the change is
    applied to the saved version, so ``change`` may be called several times and must be pure. If the
    program saves during the exchange itself, its version also goes to the trash. An error of
    ``change`` is passed on, and the card stays unchanged. Raises StorageError.
    """
    full = disk.resolve(root, path, writing=True)
    quiet = sweep(root)
    with locked(full), disk.storage_errors(path, brain=root):
        data = _Rewrite(root, full, change).run()
    if quiet:
        adopt_leftovers(root, os.path.dirname(full))
    return data


def create(root: str, path: str, data: bytes) -> str:
    """Write a new file in one step and return its path.

    Missing folders are created. Raises DuplicateCard if the name is taken, InputError for a path
    that cannot be that of a card, StorageError, or BrainNotFound.
    """
    full = disk.resolve(root, path, follow=False, writing=True)
    folder = os.path.dirname(full)
    with _report_taken(root, path, new=path):
        _make_folders(folder)
        with disk.temporary(folder, data) as temp:
            disk.rename_new(temp, full)
        disk.sync_folder(folder)
    return disk.relative(root, full)


def move(root: str, source: str, target: str) -> str:
    """Rename a card within its brain and return its new path; a link is renamed, not its target.

    Missing folders are created. Raises DuplicateCard if ``target`` exists, or StorageError.
    """
    old = disk.resolve(root, source, follow=False, writing=True)
    new = disk.resolve(root, target, follow=False, writing=True)
    with locked(old), _report_taken(root, source, target):
        os.lstat(old)
        _make_folders(os.path.dirname(new))
        disk.rename_new(old, new)
        disk.sync_folder(os.path.dirname(new))
        disk.sync_folder(os.path.dirname(old))
    return disk.relative(root, new)


def _make_folders(folder: str) -> None:
    """Create a folder and its parents. Raises NotADirectoryError if one of the paths is a file."""
    try:
        os.makedirs(folder, exist_ok=True)
    except FileExistsError as error:
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR)) from error


@contextlib.contextmanager
def _report_taken(root: str, path: str, new: str) -> Iterator[None]:
    """Turn errors of the disk into StorageError, or DuplicateCard if the name ``new`` is taken."""
    with disk.storage_errors(path, brain=root):
        try:
            yield
        except FileExistsError:
            text = f"{disk.shown(new)} exists; choose another name"
            raise DuplicateCard(text, existing=new) from None


class _Rewrite:
    """A single rewrite of one file. The caller has the lock of the file."""

    def __init__(self, root: str, full: str, change: Callable[[bytes], bytes]) -> None:
        self.root = root
        self.full = full
        self.folder = os.path.dirname(full)
        self.path = disk.relative(root, full)
        self.change = change
        self.until = time.monotonic() + _PATIENCE_SECONDS

    def run(self) -> bytes:
        base = self.read(self.full)
        for tries_left in reversed(range(_TRIES)):
            data = self.change(base)
            if data == base:
                return base
            if not os.stat(self.full).st_mode & stat.S_IWUSR:
                where = f"`chmod u+w {shell_word(self.full)}`"
                raise StorageError(f"{disk.shown(self.path)}: read-only; run {where}")
            temp = self.write(data)
            with disk.on_failure(disk.discard, temp, data):
                current = self.read(self.full)
                # If a program saves without a pause, the file never stays equal to ``base``. After
                # the last try, the files are exchanged anyway, which loses no text either.
                if current == base or not tries_left:
                    self.exchange(temp)
                    break
            disk.discard(temp, data)
            base = current
        displaced = self.read(temp)
        if displaced == base:
            self.put_aside(temp, expected=base)
            return data
        return self.merge(temp, displaced, data)

    def merge(self, temp: str, saved: bytes, data: bytes) -> bytes:
        """Apply the change to the version that another program saved before the exchange.

        ``temp`` is the other program's file with the bytes ``saved``. The card contains ``data``
        for now.
        """
        try:
            put_aside(self.root, self.path, temp, expected=None, why=_RACE)
        except StorageError:
            self.exchange(temp)  # restore the other program's version, which has no other copy
            disk.discard(temp, data)
            raise
        failure = None
        try:
            merged = self.change(saved)
        except LessonsError as error:
            merged, failure = saved, error  # a refused change leaves the card as it was saved
        second = self.write(merged)
        with disk.on_failure(disk.discard, second, merged):
            is_unchanged = self.read(self.full) == data
            if is_unchanged:
                self.exchange(second)
        if is_unchanged:
            self.put_aside(second, expected=data)
        else:  # the other program saved again, after it could see our change
            disk.discard(second, merged)
        if failure is not None:
            raise failure
        return merged if is_unchanged else data

    def read(self, full: str) -> bytes:
        return disk.read_settled(full, until=self.until, limit=MAX_BYTES, name=self.path)

    def write(self, data: bytes) -> str:
        temp = disk.write_temp(self.folder, data, like=os.stat(self.full))
        disk.copy_attributes(self.full, temp)
        return temp

    def exchange(self, temp: str) -> None:
        disk.exchange(temp, self.full)
        # The sync also gives a program that is opening the old file time to become visible.
        disk.sync_folder(self.folder)

    def put_aside(self, temp: str, *, expected: bytes) -> None:
        try:
            put_aside(self.root, self.path, temp, expected=expected, why=_DISPLACED)
        except StorageError:
            # For example, the disk with the state folder is full. The file is removed if it still
            # has the expected bytes; otherwise it stays, and adopt_leftovers() finds it.
            disk.discard(temp, expected)


_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
_PLACES = (
    os.path.join(_PACKAGE, "templates"),
    os.path.join(os.path.dirname(_PACKAGE), "templates"),
)


def read_template(name: str) -> str:
    """Return the text of the template ``name``. Raises StorageError if it is not installed."""
    for place in _PLACES:
        path = os.path.join(place, name)
        if os.path.isfile(path):
            with open(path, encoding="utf-8") as file:
                return file.read()
    raise StorageError(f"the template {name} is missing; reinstall lessons-kb")

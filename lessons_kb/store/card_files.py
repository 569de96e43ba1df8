"""Read and write card files: no lost update, no torn file, nothing of others' gone."""

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
"""No file beyond this is rewritten: it is read whole."""

_PATIENCE_SECONDS = 1.0
"""How long one rewrite waits, in all, for programs that are in the middle of a save."""
_TRIES = 20
_RACE = "another program saved it at the same moment"
_DISPLACED = "another program wrote to the replaced file"


def read_bytes(root: str, path: str, *, limit: int) -> bytes:
    """Read a file of a brain whole; ``path`` is POSIX and relative, ``limit`` in bytes.

    No link is followed; folders, FIFOs and devices are refused, never waited for. Raises
    StorageError, or InputError for a path that leaves the brain by its form.
    """
    with disk.storage_errors(path, brain=root):
        return disk.read_inside(root, path, limit=limit)


def rewrite(root: str, path: str, change: Callable[[bytes], bytes]) -> bytes:
    """Replace a card's bytes by ``change(bytes)`` and return what the card now holds.

    One step for all who look on: a reader, or a kill at any moment, finds the old file or the
    new one, mode, owner and extended attributes kept; nothing is written through a link.
    Rewrites of one file follow one another. If another program saves meanwhile, the change is
    made again on what it saved (``change`` may be called several times and must be pure); if it
    saves in the very moment of the exchange, its version is kept in the trash too. What
    ``change`` raises is raised, and the card stays as it was. Raises StorageError.
    """
    full = disk.resolve(root, path, writing=True)
    quiet = sweep(root)
    with locked(full), disk.storage_errors(path, brain=root):
        data = _Rewrite(root, full, change).run()
    if quiet:
        adopt_leftovers(root, os.path.dirname(full))
    return data


def create(root: str, path: str, data: bytes) -> str:
    """Write a new file with all its content at once and return its path.

    Missing folders are made. Raises DuplicateCard when something has that name, StorageError.
    """
    full = disk.resolve(root, path, follow=False, writing=True)
    folder = os.path.dirname(full)
    with _taking(root, path, path):
        _make_folders(folder)
        with disk.temporary(folder, data) as temp:
            disk.rename_new(temp, full)
        disk.sync_folder(folder)
    return disk.relative(root, full)


def move(root: str, source: str, target: str) -> str:
    """Rename a card (a link as a link) within its brain and return its new path.

    Missing folders are made. Raises DuplicateCard when ``target`` exists, StorageError.
    """
    old = disk.resolve(root, source, follow=False, writing=True)
    new = disk.resolve(root, target, follow=False, writing=True)
    with locked(old), _taking(root, source, target):
        os.lstat(old)
        _make_folders(os.path.dirname(new))
        disk.rename_new(old, new)
        disk.sync_folder(os.path.dirname(new))
        disk.sync_folder(os.path.dirname(old))
    return disk.relative(root, new)


def _make_folders(folder: str) -> None:
    """Make a folder and those above it; NotADirectoryError where something else has the name."""
    try:
        os.makedirs(folder, exist_ok=True)
    except FileExistsError as error:
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR)) from error


@contextlib.contextmanager
def _taking(root: str, path: str, new: str) -> Iterator[None]:
    """Say in one line what the disk refuses for ``path``, or that the name ``new`` is taken."""
    with disk.storage_errors(path, brain=root):
        try:
            yield
        except FileExistsError:
            text = f"{disk.shown(new)} exists; choose another name"
            raise DuplicateCard(text, existing=new) from None


class _Rewrite:
    """One rewrite of one file, its lock held."""

    def __init__(self, root: str, full: str, change: Callable[[bytes], bytes]) -> None:
        self.root = root
        self.full = full
        self.folder = os.path.dirname(full)
        self.path = disk.relative(root, full)
        self.change = change
        self.until = time.monotonic() + _PATIENCE_SECONDS

    def run(self) -> bytes:
        base = self.read(self.full)
        for left in reversed(range(_TRIES)):
            data = self.change(base)
            if data == base:
                return base
            if not os.stat(self.full).st_mode & stat.S_IWUSR:
                where = f"`chmod u+w {shell_word(self.full)}`"
                raise StorageError(f"{disk.shown(self.path)}: read-only; run {where}")
            temp = self.write(data)
            with disk.on_failure(disk.discard, temp, data):
                now = self.read(self.full)
                # Against a program that saves without a pause the comparison would never hold;
                # in the end the exchange decides, which loses nothing either.
                if now == base or not left:
                    self.exchange(temp)
                    break
            disk.discard(temp, data)
            base = now
        found = self.read(temp)
        if found == base:
            self.put_aside(temp, expected=base)
            return data
        return self.merge(temp, found, data)

    def merge(self, temp: str, found: bytes, data: bytes) -> bytes:
        """Make the change on what another program saved between comparison and exchange.

        ``temp`` is its file with the bytes ``found``; ``data`` stands at the card for now.
        """
        try:
            put_aside(self.root, self.path, temp, expected=None, why=_RACE)
        except StorageError:
            self.exchange(temp)  # its version has no other place: it stands again, ours goes
            disk.discard(temp, data)
            raise
        failure = None
        try:
            again = self.change(found)
        except LessonsError as error:
            again, failure = found, error  # as ever when a change is refused: the card stays
        second = self.write(again)
        with disk.on_failure(disk.discard, second, again):
            mine = self.read(self.full) == data
            if mine:
                self.exchange(second)
        if mine:
            self.put_aside(second, expected=data)
        else:  # a save upon our change: both are in it, or its author left ours out
            disk.discard(second, again)
        if failure is not None:
            raise failure
        return again if mine else data

    def read(self, full: str) -> bytes:
        return disk.read_settled(full, until=self.until, limit=MAX_BYTES, name=self.path)

    def write(self, data: bytes) -> str:
        temp = disk.write_temp(self.folder, data, like=os.stat(self.full))
        disk.copy_attributes(self.full, temp)
        return temp

    def exchange(self, temp: str) -> None:
        disk.exchange(temp, self.full)
        # Also gives a program that was just opening the old file the time to be seen.
        disk.sync_folder(self.folder)

    def put_aside(self, temp: str, *, expected: bytes) -> None:
        try:
            put_aside(self.root, self.path, temp, expected=expected, why=_DISPLACED)
        except StorageError:
            # The state folder is full, say. The bytes we had read are in the card or known;
            # any others stay in place, and adopt_leftovers() finds them.
            disk.discard(temp, expected)


_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
_PLACES = (
    os.path.join(_PACKAGE, "templates"),
    os.path.join(os.path.dirname(_PACKAGE), "templates"),
)


def read_template(name: str) -> str:
    """Return the text of the template ``name``; StorageError when the installation lacks it."""
    for place in _PLACES:
        path = os.path.join(place, name)
        if os.path.isfile(path):
            with open(path, encoding="utf-8") as file:
                return file.read()
    raise StorageError(f"the template {name} is missing; reinstall lessons-kb")

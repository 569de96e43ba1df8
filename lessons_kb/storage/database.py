"""A SQLite file that many processes write, kept through damage and brought up to date."""

from __future__ import annotations

import contextlib
import os
import sqlite3
import time
from _thread import RLock  # what `threading` offers, without its import on a hook's path

from lessons_kb.errors import StorageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import Any

    Parameters = Sequence[Any] | Mapping[str, Any]

_SIDES = ("-wal", "-shm", "-journal", "")
"""What SQLite keeps beside the file, and the file: in the order in which they are moved."""
_DAMAGED = ".damaged-"
_DAMAGE_CODES = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
_BUSY_CODES = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
_POLL_SECONDS = 0.01


class Database:
    """An open file. Safe to share between threads and processes; everything raises StorageError.

    A damaged file is moved aside, never deleted, and a fresh one begun.
    """

    def __init__(self, path: str, migrations: Sequence[str], *, patience: float) -> None:
        """Open or create ``path``; ``patience`` is how many seconds another writer is waited for.

        Each of ``migrations`` (statements with ``;`` between them) brings the file from version
        n to n + 1. Raises StorageError when that cannot be done.
        """
        self.path = path
        self.set_aside = ""
        """Where a damaged predecessor was moved by this process, "" when there was none."""
        self._migrations = migrations
        self._patience = patience
        self._lock = RLock()
        self._db = self._open()

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._db.close()

    @contextlib.contextmanager
    def transaction(self) -> Iterator[None]:
        """Make what is done inside one immediate transaction; a nested one joins the outer."""
        with self._lock:
            if self._db.in_transaction:
                yield
                return
            with self._complaining():
                self._db.execute("BEGIN IMMEDIATE")
            try:
                yield
                with self._complaining():
                    self._db.execute("COMMIT")
            except BaseException:
                with contextlib.suppress(sqlite3.Error):
                    if self._db.in_transaction:
                        self._db.execute("ROLLBACK")
                raise

    def run(self, sql: str, parameters: Parameters = ()) -> list[tuple[Any, ...]]:
        """Run one statement to its end and return its rows."""
        with self._lock, self._complaining():
            return self._db.execute(sql, parameters).fetchall()

    def run_each(self, sql: str, rows: Sequence[Parameters]) -> None:
        """Run one statement for each of ``rows``."""
        with self._lock, self._complaining():
            self._db.executemany(sql, rows)

    def change(self, sql: str, parameters: Parameters = ()) -> int:
        """Run one statement to its end and return how many rows it changed."""
        with self._lock, self._complaining():
            return self._db.execute(sql, parameters).rowcount

    def forget(self, table: str, key: str, before: float, *, most: int) -> int:
        """Delete up to ``most`` rows whose ``at`` is older than a moment; return how many went.

        ``table`` and ``key``, the columns that tell its rows apart, are names of our own.
        """
        sql = (
            f"DELETE FROM {table} WHERE ({key}) IN"  # noqa: S608
            f" (SELECT {key} FROM {table} WHERE at < ? LIMIT ?)"
        )
        return self.change(sql, (before, most))

    @contextlib.contextmanager
    def _complaining(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            if not _is_damage(error):
                raise _storage_error(self.path, error) from None
            self._db.close()
            self.set_aside = move_aside(self.path) or self.set_aside
            self._db = self._open()
            kept = f" and is kept as {self.set_aside}" if self.set_aside else ""
            raise StorageError(f"{self.path} was damaged{kept}; do it again") from None

    def _open(self) -> sqlite3.Connection:
        deadline = time.monotonic() + self._patience
        while True:
            try:
                return self._connect()
            except sqlite3.Error as error:
                if _is_damage(error) and not self.set_aside:
                    self.set_aside = move_aside(self.path)
                    continue
                # Two processes that turn on WAL at once are refused without any waiting.
                if not _is_busy(error) or time.monotonic() > deadline:
                    raise _storage_error(self.path, error) from None
            time.sleep(_POLL_SECONDS)

    def _connect(self) -> sqlite3.Connection:
        db = sqlite3.connect(
            self.path, timeout=self._patience, isolation_level=None, check_same_thread=False
        )
        try:
            db.execute("PRAGMA synchronous = NORMAL")
            if self._version(db) < len(self._migrations):
                self._migrate(db)
        except BaseException:
            db.close()
            raise
        return db

    def _migrate(self, db: sqlite3.Connection) -> None:
        from lessons_kb.storage.mounts import is_network

        if os.name != "nt":
            os.chmod(self.path, 0o600)
        db.execute("PRAGMA journal_mode = " + ("DELETE" if is_network(self.path) else "WAL"))
        db.execute("BEGIN IMMEDIATE")
        for migration in self._migrations[self._version(db) :]:  # another may have done it
            for statement in migration.split(";"):
                db.execute(statement)
        db.execute(f"PRAGMA user_version = {len(self._migrations)}")
        db.execute("COMMIT")

    def _version(self, db: sqlite3.Connection) -> int:
        (version,) = db.execute("PRAGMA user_version").fetchone()
        if version > len(self._migrations):
            raise StorageError(f"{self.path} was written by a newer lessons_kb; upgrade this one")
        return int(version)


def move_aside(path: str) -> str:
    """Move a damaged file and what SQLite keeps beside it away; return its new path.

    Returns "" when another process has done so meanwhile. Raises StorageError when the file
    cannot be moved.
    """
    from lessons_kb.storage.disk import storage_error
    from lessons_kb.storage.locks import locked

    with locked(os.path.realpath(path)):
        if not _is_damaged(path):
            return ""
        when = time.strftime("%Y%m%d-%H%M%S", time.gmtime())
        kept = f"{path}{_DAMAGED}{when}-{os.urandom(2).hex()}"
        try:
            # The log first: beside a fresh file it would be taken for that file's own.
            for side in _SIDES:
                with contextlib.suppress(FileNotFoundError):
                    os.replace(path + side, kept + side)
        except OSError as error:
            raise storage_error(error, path) from None
    return kept


def find_set_aside(path: str) -> list[str]:
    """Return the damaged predecessors of a file that were kept, oldest first."""
    folder, name = os.path.split(path)
    try:
        names = os.listdir(folder)
    except OSError:
        return []
    kept = [n for n in names if n.startswith(name + _DAMAGED) and not n.endswith(_SIDES[:-1])]
    return [os.path.join(folder, n) for n in sorted(kept)]


def _is_damaged(path: str) -> bool:
    if not os.path.isfile(path):
        return False
    db = sqlite3.connect(path, timeout=1.0)
    try:
        return bool(db.execute("PRAGMA quick_check(1)").fetchone() != ("ok",))
    except sqlite3.Error as error:
        return _is_damage(error)
    finally:
        db.close()


def _is_damage(error: sqlite3.Error) -> bool:
    return _primary_code(error) in _DAMAGE_CODES


def _is_busy(error: sqlite3.Error) -> bool:
    return _primary_code(error) in _BUSY_CODES


def _primary_code(error: sqlite3.Error) -> int:
    return int(getattr(error, "sqlite_errorcode", -1)) & 0xFF


def _storage_error(path: str, error: sqlite3.Error) -> StorageError:
    mend = "wait a moment" if _is_busy(error) else "check the folder, its permissions and the disk"
    return StorageError(f"{path}: {error}; {mend}")

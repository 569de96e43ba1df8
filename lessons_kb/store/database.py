"""A SQLite file that many processes write: migrations, damage, and a fallback in memory."""

from __future__ import annotations

import contextlib
import json
import os
import re
import sqlite3
import sys
import time
from _thread import RLock
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from lessons_kb.data import read_words
from lessons_kb.errors import StorageError
from lessons_kb.on_demand import PATHS, load
from lessons_kb.store.files import (
    identify_file,
    list_folder,
    on_failure,
    sqlite_error,
    storage_errors,
)
from lessons_kb.store.locks import locked
from lessons_kb.store.private_files import make_private
from lessons_kb.store.state_folder import state_dir
from lessons_kb.text.sanitize import shell_word

Parameters = Sequence[Any] | Mapping[str, Any]


SIDES = ("-wal", "-shm", "-journal", "")
"""Suffixes of SQLite's files beside a database, then of the database itself, in the order of a
move."""
_DAMAGED = ".damaged-"
_DAMAGE_CODES = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
_BUSY_CODES = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
_POLL_SECONDS = 0.01
_RETRY_SECONDS = 0.2
"""The time in memory after which the file is tried again. A try takes 1 ms."""
_READ_ONLY = ("mode=ro", "immutable=1")
"""Options for a file that cannot be written. SQLite accepts the second if there is no log beside
the file and none can be created."""


class Database:
    """An open file. Threads and processes may share it. Every method raises StorageError.

    A damaged file is moved aside, never deleted, and a new file is created. With ``fallback``, no
    method raises an error. A database in memory then replaces a file that is locked, read-only, on
    a full disk or without its folder, and only the content of a damaged file is lost.
    """

    def __init__(
        self,
        path: str,
        migrations: Sequence[str],
        *,
        patience: float,
        fallback: Sequence[str] | None = None,
    ) -> None:
        """Open or create ``path``.

        ``patience`` is the time to wait for another writer, in seconds. Each of ``migrations``
        (statements separated by ``;``) brings the file from version n to n + 1. The statements of
        ``fallback`` copy recent rows from the file, attached as ``kept``, into the database in
        memory. If ``fallback`` is None, there is no such database. Raises StorageError if the file
        cannot be opened.
        """
        self.path = path
        self.set_aside = ""
        """The path to which this process moved a damaged predecessor; "" if there is none."""
        self.trouble = ""
        """The reason why memory replaces the file at the moment; "" while the file is used."""
        self._migrations = migrations
        self._patience = patience
        self._fallback = fallback
        self._retry_at = 0.0
        self._inside = False
        """Whether a ``transaction`` is active; SQLite itself may have rolled it back."""
        self._lock = RLock()
        self._db = self._open()

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._db.close()

    @contextlib.contextmanager
    def transaction(self) -> Iterator[None]:
        """Run the block in one immediate transaction; a nested transaction joins the outer one.

        All other processes that write wait for the end of the transaction, so the block must not
        sleep, use files or start a process.
        """
        with self._lock:
            if self._inside:
                yield
                return
            self._do("BEGIN IMMEDIATE")
            self._inside = True
            try:
                yield
                if self._db.in_transaction:
                    self._do("COMMIT")
            finally:
                with contextlib.suppress(sqlite3.Error):
                    if self._db.in_transaction:
                        self._db.execute("ROLLBACK")
                self._inside = False

    def run(self, sql: str, parameters: Parameters = ()) -> list[tuple[Any, ...]]:
        """Run one statement to its end and return its rows."""
        return self._do(sql, parameters)[0]

    def value(self, sql: str, parameters: Parameters = (), *, default: Any = None) -> Any:
        """Run one statement and return the first cell, or ``default`` if there is no row."""
        rows = self._do(sql, parameters)[0]
        return rows[0][0] if rows else default

    def run_each(self, sql: str, rows: Sequence[Parameters]) -> None:
        """Run one statement for each of ``rows``."""
        self._do(sql, rows, many=True)

    def change(self, sql: str, parameters: Parameters = ()) -> int:
        """Run one statement to its end and return the number of changed rows."""
        return self._do(sql, parameters)[1]

    def forget(self, table: str, key: str, before: float, *, most: int) -> int:
        """Delete up to ``most`` rows with ``at`` earlier than ``before``; return their number.

        ``table`` and its ``key`` columns are names from our code, never from input.
        """
        sql = (
            f"DELETE FROM {table} WHERE ({key}) IN"  # noqa: S608
            f" (SELECT {key} FROM {table} WHERE at < ? LIMIT ?)"
        )
        return self.change(sql, (before, most))

    def _do(
        self, sql: str, parameters: Any = (), *, many: bool = False, again: bool = False
    ) -> tuple[list[tuple[Any, ...]], int]:
        """Run a statement to its end; return its rows and the number of changed rows.

        If the file fails, the statement runs ``again`` on its replacement.
        """
        with self._lock:
            if self.trouble and not self._inside and time.monotonic() >= self._retry_at:
                self._retry()
            try:
                cursor = (self._db.executemany if many else self._db.execute)(sql, parameters)
                return cursor.fetchall(), cursor.rowcount
            except sqlite3.Error as error:
                if again:
                    raise _storage_error(self.path, error) from None
                self._replace(error)
            return self._do(sql, parameters, many=many, again=True)

    def _retry(self) -> None:
        """Use the file again if it accepts a write at once; otherwise update ``trouble``."""
        self._retry_at = time.monotonic() + _RETRY_SECONDS
        try:
            db = self._connect(patience=0.0)
            with on_failure(db.close):
                db.execute("BEGIN IMMEDIATE")
                db.execute(f"PRAGMA user_version = {len(self._migrations)}")
                db.execute("COMMIT")
                db.execute(f"PRAGMA busy_timeout = {int(self._patience * 1_000)}")
        except (StorageError, sqlite3.Error) as error:
            if _has_code(error, _DAMAGE_CODES):
                self._replace(error)
            else:
                self.trouble = str(_storage_error(self.path, error))
        else:
            self._db.close()
            self._db, self.trouble = db, ""

    def _replace(self, error: Exception) -> None:
        """Replace the database that failed by another database, or raise its error."""
        damaged = _has_code(error, _DAMAGE_CODES)
        if self._fallback is None and not damaged:
            raise _storage_error(self.path, error) from None
        self._db.close()
        if damaged:
            self._db = self._open(damaged=True)
        else:
            self._db = self._stand_in(_storage_error(self.path, error))
        if self._fallback is None:
            backup = f" and saved as {self.set_aside}" if self.set_aside else ""
            raise StorageError(f"{self.path} was damaged{backup}; try again") from None
        if self._inside:
            self._db.execute("BEGIN")

    def _open(self, *, damaged: bool = False) -> sqlite3.Connection:
        """Return a connection to the file, or to its replacement in memory.

        A damaged file is first moved aside and created again.
        """
        for last in (False, True):
            try:
                if damaged:
                    self.set_aside = move_aside(self.path) or self.set_aside
                db = self._connect(patience=self._patience)
                self.trouble = ""
            except (StorageError, sqlite3.Error) as error:
                failure = _storage_error(self.path, error)
                damaged = not (last or self.set_aside) and _has_code(error, _DAMAGE_CODES)
            else:
                return db
            if not damaged:
                break
        if self._fallback is None:
            raise failure from None
        return self._stand_in(failure)

    def _stand_in(self, error: StorageError) -> sqlite3.Connection:
        """Return a database in memory with the recent rows of the file, if it can be read."""
        self.trouble = str(error)
        self._retry_at = time.monotonic() + _RETRY_SECONDS
        db = sqlite3.connect(
            ":memory:", timeout=0, isolation_level=None, check_same_thread=False, uri=True
        )
        for migration in self._migrations:
            db.executescript(migration)

        if not self._fallback or not os.path.isfile(self.path):
            return db
        file = load(PATHS).Path(self.path).absolute().as_uri()
        for option in _READ_ONLY:
            try:
                db.execute("ATTACH ? AS kept", (f"{file}?{option}",))
                db.executescript("BEGIN;" + ";".join(self._fallback) + ";COMMIT")
            except sqlite3.Error:
                if db.in_transaction:
                    db.execute("ROLLBACK")
                with contextlib.suppress(sqlite3.Error):
                    db.execute("DETACH kept")
                continue
            db.execute("DETACH kept")
            break
        return db

    def _connect(self, *, patience: float) -> sqlite3.Connection:
        make_private(os.path.dirname(self.path))
        # Opening a FIFO would wait until another program writes to it.
        if os.path.exists(self.path) and not os.path.isfile(self.path):
            raise StorageError(f"{self.path} is not a file; move it away: {self._move_away}")
        version = len(self._migrations)
        return connect(self.path, version, self._migrate, patience=patience, private=True)

    def _migrate(self, db: sqlite3.Connection, version: int) -> None:
        """Bring a file of this version up to date."""
        if version > len(self._migrations):
            raise StorageError(
                f"{self.path} was written by a newer lessons_kb; upgrade this one, or start with "
                f"a new file: {self._move_away}"
            )
        for migration in self._migrations[version:]:
            for statement in migration.split(";"):
                db.execute(statement)

    @property
    def _move_away(self) -> str:
        return f"`mv {shell_word(self.path)} {shell_word(f'{self.path}.old')}`"


def connect(
    path: str,
    version: int,
    migrate: Callable[[sqlite3.Connection, int], None],
    *,
    patience: float,
    private: bool = False,
) -> sqlite3.Connection:
    """Open or create a SQLite file that many processes write. Raises sqlite3.Error.

    For a file of another version, ``migrate`` is called in a transaction, with that version.
    ``patience`` is the time to wait for another writer, in seconds; ``private`` sets mode 0600.
    """
    deadline = time.monotonic() + patience
    while True:
        file = identify_file(path)
        try:
            db = sqlite3.connect(
                path, timeout=patience, isolation_level=None, check_same_thread=False
            )
            with on_failure(db.close):
                db.execute("PRAGMA synchronous = NORMAL")
                if _read_version(db) != version:
                    if private and os.name != "nt":
                        os.chmod(path, 0o600)
                    db.execute("PRAGMA journal_mode = " + ("DELETE" if is_network(path) else "WAL"))
                    with one_transaction(db):
                        old_version = _read_version(db)
                        if old_version != version:  # another process may have migrated it
                            migrate(db, old_version)
                            db.execute(f"PRAGMA user_version = {version}")
        except sqlite3.OperationalError as error:
            # If two processes turn on WAL at the same time, SQLite refuses one without waiting. It
            # reports a disk error to a process that opens the file while another replaces it.
            is_temporary = _has_code(error, _BUSY_CODES) or identify_file(path) != file
            if not is_temporary or time.monotonic() > deadline:
                raise
        else:
            return db
        time.sleep(_POLL_SECONDS)


@contextlib.contextmanager
def one_transaction(db: sqlite3.Connection) -> Iterator[None]:
    """Run the block in one immediate transaction."""
    db.execute("BEGIN IMMEDIATE")
    try:
        yield
        db.execute("COMMIT")
    finally:
        if db.in_transaction:  # a full disk may have ended it already
            db.execute("ROLLBACK")


def _read_version(db: sqlite3.Connection) -> int:
    return int(db.execute("PRAGMA user_version").fetchone()[0])


def move_aside(path: str) -> str:
    """Move a damaged file and SQLite's files beside it away, and return the new path.

    Returns "" if the file is no longer there or no longer damaged, since another process may have
    moved or replaced it. Raises StorageError if the file cannot be moved.
    """
    with locked(os.path.realpath(path)):
        if not _is_damaged(path):
            return ""
        when = time.strftime("%Y%m%d-%H%M%S", time.gmtime())
        target = f"{path}{_DAMAGED}{when}-{os.urandom(2).hex()}"
        with storage_errors(path):
            # The log is moved first, because SQLite would apply it to a new file beside it.
            for side in SIDES:
                with contextlib.suppress(FileNotFoundError):
                    os.replace(path + side, target + side)
    return target


def find_set_aside(path: str) -> list[str]:
    """Return the damaged predecessors of a file that were moved aside, oldest first."""
    folder, name = os.path.split(path)
    damaged = [entry for entry in list_folder(folder) if entry.startswith(name + _DAMAGED)]
    databases = [entry for entry in damaged if not entry.endswith(SIDES[:-1])]
    return [os.path.join(folder, entry) for entry in databases]


def _is_damaged(path: str) -> bool:
    """Return whether SQLite finds damage in a database; False for a missing or busy file."""
    if not os.path.isfile(path):
        return False
    db = sqlite3.connect(path, timeout=1.0)
    try:
        return bool(db.execute("PRAGMA quick_check(1)").fetchone() != ("ok",))
    except sqlite3.Error as error:
        return _has_code(error, _DAMAGE_CODES)
    finally:
        db.close()


def _has_code(error: Exception, codes: tuple[int, ...]) -> bool:
    return int(getattr(error, "sqlite_errorcode", -1)) & 0xFF in codes


def _storage_error(path: str, error: Exception) -> StorageError:
    if isinstance(error, StorageError):
        return error
    if _has_code(error, _BUSY_CODES):
        return StorageError(f"{path}: {error}; wait a moment, or end the process that uses it")
    return sqlite_error(error, path, "check the folder, its permissions and the disk")


_TABLE = read_words("network_file_systems.txt")
_MOUNTS = "/proc/self/mountinfo"
_POINT = 4
"""Position of the mount point among the fields of a line."""
_OCTAL = r"\\([0-7]{3})"
"""The escape of a space, tab, line end or backslash in a field."""


def is_network(path: str) -> bool:
    """Return whether ``path``, or the folder where it would be created, is on a network.

    Shared folders of a virtual machine count as a network. If the system gives no information,
    return False.
    """
    real = os.path.realpath(path)
    if os.name == "nt":  # a mapped drive's real path is the share's
        return real.startswith("\\\\") and not real.startswith(("\\\\?\\", "\\\\.\\"))
    if sys.platform != "linux":
        return False
    try:
        with open(_MOUNTS, "rb") as file:
            table = file.read().decode("utf-8", "surrogateescape")
    except OSError:
        return False
    nearest, file_system = "", ""
    for line in table.splitlines():
        before, _, after = line.partition(" - ")
        parts = before.split(" ")
        if not after or len(parts) <= _POINT:
            continue
        point = re.sub(_OCTAL, lambda code: chr(int(code[1], 8)), parts[_POINT])
        contains_path = real == point or real.startswith(point.rstrip("/") + "/")
        if contains_path and len(point) >= len(nearest):  # a later mount covers an earlier one
            nearest = point
            file_system = after.split(" ", 1)[0]
    kind, _, subtype = file_system.partition(".")
    if kind in ("fuse", "fuseblk"):
        return subtype.startswith(tuple(_TABLE["fuse"]))  # such as ``fuse.sshfs``
    return kind in _TABLE["types"]


_NAME = "mined.db"
_PATIENCE = 5.0
_MIGRATIONS = (
    """CREATE TABLE sources (path TEXT PRIMARY KEY, stamp TEXT NOT NULL, data TEXT NOT NULL);
    CREATE TABLE commits (id TEXT PRIMARY KEY, data TEXT NOT NULL)""",
    # The data of commits has more fields since this version, so the commits are read again.
    "DELETE FROM commits",
    # The ranking needs the patches of more commits since this version.
    "DELETE FROM commits",
    # The ranking needs the patches of other commits since this version.
    "DELETE FROM commits",
)


def was_mined(root: str) -> bool:
    """Return whether `lessons mine` has ever read the past of a brain on this machine."""
    return os.path.exists(os.path.join(state_dir(root, create=False), _NAME))


class Mined(Database):
    """A cache of the data that `mine` reads from sessions and commits.

    Every method raises StorageError.
    """

    def __init__(self, root: str) -> None:
        super().__init__(os.path.join(state_dir(root), _NAME), _MIGRATIONS, patience=_PATIENCE)

    def read_source(self, path: str, stamp: str) -> list[dict[str, Any]] | None:
        """Return the cached results for a source, or None if it has changed or was never read."""
        sql = "SELECT data FROM sources WHERE path = ? AND stamp = ?"
        results: list[dict[str, Any]] | None = json.loads(
            self.value(sql, (path, stamp), default="null")
        )
        return results

    def write_sources(self, rows: Sequence[tuple[str, str, Sequence[Mapping[str, Any]]]]) -> None:
        """Store the path, the stamp and the results of each source."""
        texts = [(path, stamp, json.dumps(data, ensure_ascii=False)) for path, stamp, data in rows]
        with self.transaction():
            self.run_each("INSERT OR REPLACE INTO sources VALUES (?, ?, ?)", texts)

    def read_commits(self) -> dict[str, dict[str, Any]]:
        """Return a mapping from the id of each commit to its cached data."""
        rows = self.run("SELECT id, data FROM commits")
        return {commit: json.loads(data) for commit, data in rows}

    def write_commits(self, rows: Mapping[str, Mapping[str, Any]]) -> None:
        """Store the data of commits, given by their ids."""
        pairs = [(commit, json.dumps(row, ensure_ascii=False)) for commit, row in rows.items()]
        with self.transaction():
            self.run_each("INSERT OR REPLACE INTO commits VALUES (?, ?)", pairs)

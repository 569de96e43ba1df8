"""A SQLite file that many processes write, kept through damage and brought up to date."""

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
from pathlib import Path
from typing import Any

from lessons_kb.data import read_words
from lessons_kb.errors import StorageError
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
"""What SQLite keeps beside the file, and the file: in the order in which they are moved."""
_DAMAGED = ".damaged-"
_DAMAGE_CODES = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
_BUSY_CODES = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
_POLL_SECONDS = 0.01
_RETRY_SECONDS = 0.2
"""How long memory stands in for a file before the file is tried again, which takes 1 ms."""
_READ_ONLY = ("mode=ro", "immutable=1")
"""How to open a file that cannot be written; SQLite takes the second where no log lies beside it
and none can be made."""


class Database:
    """An open file. Safe to share between threads and processes; everything raises StorageError.

    A damaged file is moved aside, never deleted, and a fresh one begun. With ``fallback`` nothing
    raises: a database in memory stands in for a file that is locked, read-only, on a full disk or
    missing its folder, and a damaged file costs no more than what it held.
    """

    def __init__(
        self,
        path: str,
        migrations: Sequence[str],
        *,
        patience: float,
        fallback: Sequence[str] | None = None,
    ) -> None:
        """Open or create ``path``; ``patience`` is how many seconds another writer is waited for.

        Each of ``migrations`` (statements with ``;`` between them) brings the file from version
        n to n + 1. ``fallback`` are the statements that copy what is worth knowing from the file,
        attached as ``kept``, into the database in memory; None = no such database. Raises
        StorageError when the file cannot be opened.
        """
        self.path = path
        self.set_aside = ""
        """Where a damaged predecessor was moved by this process, "" when there was none."""
        self.trouble = ""
        """Why memory stands in for the file now, "" while the file is used."""
        self._migrations = migrations
        self._patience = patience
        self._fallback = fallback
        self._retry_at = 0.0
        self._inside = False
        """Within ``transaction``: SQLite itself may have rolled back."""
        self._lock = RLock()
        self._db = self._open()

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._db.close()

    @contextlib.contextmanager
    def transaction(self) -> Iterator[None]:
        """Make what is done inside one immediate transaction; a nested one joins the outer.

        All other processes that write wait for its end: nothing inside may sleep, touch a file or
        start a process.
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
        """Run one statement and return the first cell, ``default`` where there is none."""
        rows = self._do(sql, parameters)[0]
        return rows[0][0] if rows else default

    def run_each(self, sql: str, rows: Sequence[Parameters]) -> None:
        """Run one statement for each of ``rows``."""
        self._do(sql, rows, many=True)

    def change(self, sql: str, parameters: Parameters = ()) -> int:
        """Run one statement to its end and return how many rows it changed."""
        return self._do(sql, parameters)[1]

    def forget(self, table: str, key: str, before: float, *, most: int) -> int:
        """Delete up to ``most`` rows whose ``at`` is older than a moment; return how many went.

        ``table`` and ``key``, the columns that tell its rows apart, are names of our own.
        """
        sql = (
            f"DELETE FROM {table} WHERE ({key}) IN"  # noqa: S608
            f" (SELECT {key} FROM {table} WHERE at < ? LIMIT ?)"
        )
        return self.change(sql, (before, most))

    def _do(
        self, sql: str, parameters: Any = (), *, many: bool = False, again: bool = False
    ) -> tuple[list[tuple[Any, ...]], int]:
        """Run a statement to its end; return its rows and how many it changed.

        Where the file fails it is done ``again``, in what stands in for it.
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
        """Use the file again if it takes a write at once; else note why it does not now."""
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
        """Go on with another database than the one that failed, or raise what it said."""
        damaged = _has_code(error, _DAMAGE_CODES)
        if self._fallback is None and not damaged:
            raise _storage_error(self.path, error) from None
        self._db.close()
        if damaged:
            self._db = self._open(damaged=True)
        else:
            self._db = self._stand_in(_storage_error(self.path, error))
        if self._fallback is None:
            kept = f" and saved as {self.set_aside}" if self.set_aside else ""
            raise StorageError(f"{self.path} was damaged{kept}; try again") from None
        if self._inside:
            self._db.execute("BEGIN")

    def _open(self, *, damaged: bool = False) -> sqlite3.Connection:
        """Return a connection to the file, made anew where it is damaged, or what stands in."""
        for last in (False, True):
            try:
                if damaged:
                    self.set_aside = move_aside(self.path) or self.set_aside
                db, self.trouble = self._connect(patience=self._patience), ""
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
        """Return a database in memory that knows what the file tells of the last days."""
        self.trouble = str(error)
        self._retry_at = time.monotonic() + _RETRY_SECONDS
        db = sqlite3.connect(
            ":memory:", timeout=0, isolation_level=None, check_same_thread=False, uri=True
        )
        for migration in self._migrations:
            db.executescript(migration)

        file = Path(self.path).absolute().as_uri()
        for way in _READ_ONLY if self._fallback and os.path.isfile(self.path) else ():
            try:
                db.execute("ATTACH ? AS kept", (f"{file}?{way}",))
                db.executescript("BEGIN;" + ";".join(self._fallback or ()) + ";COMMIT")
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
        # A FIFO would be waited for until somebody writes to it.
        if os.path.exists(self.path) and not os.path.isfile(self.path):
            raise StorageError(f"{self.path} is not a file; move it away: {self._move_away}")
        version = len(self._migrations)
        return connect(self.path, version, self._migrate, patience=patience, private=True)

    def _migrate(self, db: sqlite3.Connection, found: int) -> None:
        if found > len(self._migrations):
            raise StorageError(
                f"{self.path} was written by a newer lessons_kb; upgrade this one, or begin "
                f"anew: {self._move_away}"
            )
        for migration in self._migrations[found:]:
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
    """Open or create a SQLite file that many processes write; raise sqlite3.Error.

    A file of another version is handed, in one transaction and with its version, to ``migrate``.
    ``patience`` is how many seconds another writer is waited for; ``private`` is mode 0600.
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
                        if (found := _read_version(db)) != version:  # another may have done it
                            migrate(db, found)
                            db.execute(f"PRAGMA user_version = {version}")
        except sqlite3.OperationalError as error:
            # Two processes that turn on WAL at once are refused without any waiting, and one that
            # opens the file while another replaces it is told of a disk error.
            again = _has_code(error, _BUSY_CODES) or identify_file(path) != file
            if not again or time.monotonic() > deadline:
                raise
        else:
            return db
        time.sleep(_POLL_SECONDS)


@contextlib.contextmanager
def one_transaction(db: sqlite3.Connection) -> Iterator[None]:
    """Make what is done inside one immediate transaction."""
    db.execute("BEGIN IMMEDIATE")
    try:
        yield
        db.execute("COMMIT")
    finally:
        if db.in_transaction:  # unless a full disk has ended it already
            db.execute("ROLLBACK")


def _read_version(db: sqlite3.Connection) -> int:
    return int(db.execute("PRAGMA user_version").fetchone()[0])


def move_aside(path: str) -> str:
    """Move a damaged file and what SQLite keeps beside it away; return its new path.

    Returns "" when another process has done so meanwhile. Raises StorageError when the file
    cannot be moved.
    """
    with locked(os.path.realpath(path)):
        if not _is_damaged(path):
            return ""
        when = time.strftime("%Y%m%d-%H%M%S", time.gmtime())
        kept = f"{path}{_DAMAGED}{when}-{os.urandom(2).hex()}"
        with storage_errors(path):
            # The log first: beside a fresh file it would be taken for that file's own.
            for side in SIDES:
                with contextlib.suppress(FileNotFoundError):
                    os.replace(path + side, kept + side)
    return kept


def find_set_aside(path: str) -> list[str]:
    """Return the damaged predecessors of a file that were kept, oldest first."""
    folder, name = os.path.split(path)
    kept = (n for n in list_folder(folder) if n.startswith(name + _DAMAGED))
    return [os.path.join(folder, n) for n in kept if not n.endswith(SIDES[:-1])]


def _is_damaged(path: str) -> bool:
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
        return StorageError(f"{path}: {error}; wait a moment, or end the process that holds it")
    return sqlite_error(error, path, "check the folder, its permissions and the disk")


_TABLE = read_words("network_file_systems.txt")
_MOUNTS = "/proc/self/mountinfo"
_POINT = 4
"""Field of a mount's place."""
_OCTAL = re.compile(r"\\([0-7]{3})")
"""How a space, tab, line end or backslash is written there."""


def is_network(path: str) -> bool:
    """Return whether ``path``, or the folder where it would be made, lies on a network.

    Shared folders of a virtual machine count. Where the system does not tell, the answer is no.
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
    best, found = "", ""
    for line in table.splitlines():
        before, _, after = line.partition(" - ")
        if after and len(parts := before.split(" ")) > _POINT:
            point = _OCTAL.sub(lambda code: chr(int(code[1], 8)), parts[_POINT])
            around = real == point or real.startswith(point.rstrip("/") + "/")
            if around and len(point) >= len(best):  # of two at one place the later
                best, found = point, after.split(" ", 1)[0]
    kind, _, subtype = found.partition(".")
    if kind in ("fuse", "fuseblk"):
        return subtype.startswith(tuple(_TABLE["fuse"]))  # such as ``fuse.sshfs``
    return kind in _TABLE["types"]


_NAME = "mined.db"
_PATIENCE = 5.0
_MIGRATIONS = (
    """CREATE TABLE sources (path TEXT PRIMARY KEY, stamp TEXT NOT NULL, data TEXT NOT NULL);
    CREATE TABLE commits (id TEXT PRIMARY KEY, data TEXT NOT NULL)""",
)


class Mined(Database):
    """What was found in the past of one brain; everything raises StorageError."""

    def __init__(self, root: str) -> None:
        super().__init__(os.path.join(state_dir(root), _NAME), _MIGRATIONS, patience=_PATIENCE)

    def read_source(self, path: str, stamp: str) -> list[dict[str, Any]] | None:
        """Return what was found in a source, None when it was not read as it is now."""
        sql = "SELECT data FROM sources WHERE path = ? AND stamp = ?"
        found: list[dict[str, Any]] | None = json.loads(
            self.value(sql, (path, stamp), default="null")
        )
        return found

    def write_sources(self, rows: Sequence[tuple[str, str, Sequence[Mapping[str, Any]]]]) -> None:
        """Remember what was found in sources: path, stamp, finds."""
        texts = [(path, stamp, json.dumps(data, ensure_ascii=False)) for path, stamp, data in rows]
        with self.transaction():
            self.run_each("INSERT OR REPLACE INTO sources VALUES (?, ?, ?)", texts)

    def read_commits(self) -> dict[str, dict[str, Any]]:
        """Return what is known of commits, by id."""
        rows = self.run("SELECT id, data FROM commits")
        return {number: json.loads(data) for number, data in rows}

    def write_commits(self, rows: Mapping[str, Mapping[str, Any]]) -> None:
        """Remember what commits told."""
        pairs = [(number, json.dumps(row, ensure_ascii=False)) for number, row in rows.items()]
        with self.transaction():
            self.run_each("INSERT OR REPLACE INTO commits VALUES (?, ?)", pairs)

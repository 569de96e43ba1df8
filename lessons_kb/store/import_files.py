"""Files that an import reads, and the one that an export writes."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from typing import Any
from urllib.parse import quote

from lessons_kb.errors import InputError, StorageError
from lessons_kb.store.disk import (
    open_regular,
    read_regular,
    replace_whole,
    shown,
    storage_error,
)

MAX_TEXT_BYTES = 20_000_000
MAX_LINE_BYTES = 20_000_000
"""No longer line is held in memory."""
_CHUNK_BYTES = 1 << 20
_MAX_CELL_CHARS = 100_000
_BUSY_SECONDS = 2.0


def read_source(path: str) -> str:
    r"""Return the text of a file, its lines ended by ``\n``; raise InputError or StorageError."""
    try:
        data = read_regular(path, limit=MAX_TEXT_BYTES, name=path)
    except OSError as error:
        raise storage_error(error, path) from None
    text = _decoded(data.removeprefix(b"\xef\xbb\xbf"), path, 1)
    return text.replace("\r\n", "\n").replace("\r", "\n")


def read_head(path: str, size: int) -> bytes:
    """Return the first bytes of a file; raise InputError or StorageError."""
    try:
        with open_regular(path) as file:
            return file.read(size)
    except OSError as error:
        raise storage_error(error, path) from None


def read_source_lines(path: str) -> Iterator[tuple[int, str]]:
    """Yield (line number, line) of a file that may be larger than memory.

    Raises InputError naming the line that is not UTF-8 or too long, StorageError.
    """
    for number, data in read_byte_lines(path):
        if len(data) >= MAX_LINE_BYTES:
            raise InputError(
                f"{shown(path)}:{number}: more than {MAX_LINE_BYTES:,} bytes; split the line"
            )
        yield number, _decoded(data, path, number)


def read_byte_lines(path: str) -> Iterator[tuple[int, bytes]]:
    """Yield (line number, line without its end); of a line too long the first MAX_LINE_BYTES."""
    try:
        with open_regular(path) as file:
            number, rest, cut = 1, b"", False
            while chunk := file.read(_CHUNK_BYTES):
                first, *others = chunk.split(b"\n")
                rest += b"" if cut else first
                for line in others:
                    yield number, rest[:MAX_LINE_BYTES].removesuffix(b"\r")
                    number, rest, cut = number + 1, line, False
                cut = len(rest) > MAX_LINE_BYTES
            if rest:
                yield number, rest[:MAX_LINE_BYTES]
    except OSError as error:
        raise storage_error(error, path) from None


def read_table(
    path: str, table: str, names: Sequence[str]
) -> tuple[list[str], list[dict[str, Any]]]:
    """Return the names of a SQLite table's columns, and its rows by the named ones.

    The file is opened for reading only and nothing is written beside it. Text is cut after
    100,000 characters. Raises InputError for a file that is no SQLite database or lacks the
    table, StorageError.
    """
    try:
        read_head = os.stat(path)
    except OSError as error:
        raise storage_error(error, path) from None
    if not os.path.isfile(path):
        raise StorageError(f"{shown(path)}: not a file; give the database file")
    if not read_head.st_size:
        raise InputError(f"{shown(path)}: empty; give the database with the table {table}")
    try:
        db = _open_readonly(path)
    except sqlite3.Error as error:
        raise _unreadable(path, error) from None
    try:
        return _read_rows(db, path, table, names)
    except sqlite3.Error as error:
        raise _unreadable(path, error) from None
    finally:
        db.close()


def _open_readonly(path: str) -> sqlite3.Connection:
    uri = f"file:{quote(os.path.abspath(path))}?mode=ro"
    for mode in ("", "&immutable=1"):
        db = sqlite3.connect(uri + mode, uri=True, timeout=_BUSY_SECONDS)
        try:
            db.execute("SELECT count(*) FROM sqlite_master").fetchall()
        except sqlite3.OperationalError:
            # A folder that cannot be written, and a database whose last writer left a log.
            db.close()
            if mode or os.path.exists(f"{path}-wal"):
                raise
            continue
        except BaseException:
            db.close()
            raise
        return db
    raise sqlite3.OperationalError("cannot be opened")


def _read_rows(
    db: sqlite3.Connection, path: str, table: str, names: Sequence[str]
) -> tuple[list[str], list[dict[str, Any]]]:
    db.text_factory = lambda data: data.decode("utf-8", "replace")
    tables = [row[0] for row in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
    if table not in tables:
        has = ", ".join(sorted(tables)[:8]) or "no tables"
        raise InputError(f"{shown(path)}: no table {table}, only {has}; give another database")
    columns = [str(row[1]) for row in db.execute(f"PRAGMA table_info({table})")]
    chosen = [column for column in names if column in columns]
    order = " ORDER BY id" if "id" in columns else ""
    cells = ", ".join(
        f"CASE WHEN typeof({c}) IN ('text', 'blob') THEN substr({c}, 1, {_MAX_CELL_CHARS})"
        f" ELSE {c} END"
        for c in chosen
    )
    rows = db.execute(f"SELECT {cells or 1} FROM {table}{order}")  # noqa: S608 names of our own
    return columns, [dict(zip(chosen, row, strict=False)) for row in rows]


def write_export(path: str, lines: Iterable[str]) -> None:
    """Write lines to a file in one step: it holds all of them, or what it held before."""
    full = os.path.realpath(path)
    try:
        data = "".join(f"{line}\n" for line in lines).encode("utf-8", "replace")
        there = os.path.lexists(full)
        if there and not os.path.isfile(full):
            raise StorageError(f"{shown(path)}: not a regular file; give another")
        replace_whole(full, data, fresh=not there)
    except OSError as error:
        raise storage_error(error, path) from None


def _unreadable(path: str, error: sqlite3.Error) -> InputError | StorageError:
    if error.sqlite_errorcode in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        return StorageError(f"{shown(path)}: locked by another program; try again later")
    return InputError(f"{shown(path)}: not readable as SQLite ({error}); give another file")


def _decoded(data: bytes, path: str, first: int) -> str:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = first + data.count(b"\n", 0, error.start)
        raise InputError(f"{shown(path)}:{line}: not UTF-8; save the file as UTF-8") from None

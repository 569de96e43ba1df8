"""The size and age of a journal, and making it smaller: asked for by hand, never by a hook."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from dataclasses import dataclass

from lessons_kb.store.database import Database

_AT_ONCE = 5_000
"""Rows deleted in one transaction: other processes write in between."""
_WORTH_BYTES = 4_000_000
"""Free space inside the file from which rewriting it pays."""


@dataclass(frozen=True, kw_only=True, slots=True)
class JournalSize:
    """How much a journal holds."""

    size: int
    """Bytes of the file and of what SQLite keeps beside it."""
    rows: int
    """Events."""
    oldest: float
    """Seconds since the epoch of the oldest event, 0 when there is none."""


class Upkeep:
    """Measures and shortens the file of a journal."""

    def __init__(self, db: Database, ageing: Mapping[str, str]) -> None:
        """``ageing``: table whose rows are forgotten → its key."""
        self._db = db
        self._ageing = ageing

    def write_test(self) -> None:
        """Write something, as a full disk lets a transaction begin; StorageError says why not."""
        self._db.run("INSERT OR REPLACE INTO facts VALUES ('written', ?)", (str(time.time()),))

    def measure(self) -> JournalSize:
        """Return how large and how old the journal is."""
        ((rows, oldest),) = self._db.run("SELECT count(*), min(at) FROM events")
        sides = (self._db.path + side for side in ("", "-wal"))
        size = sum(os.path.getsize(path) for path in sides if os.path.exists(path))
        return JournalSize(size=size, rows=int(rows), oldest=float(oldest or 0))

    def count_older(self, before: float) -> int:
        """Return how many rows are older than a moment, in all tables that forget."""
        counts = (
            self._db.run(f"SELECT count(*) FROM {table} WHERE at < ?", (before,))  # noqa: S608
            for table in self._ageing
        )
        return sum(int(rows[0][0]) for rows in counts)

    def prune(self, before: float) -> int:
        """Forget all rows older than a moment and return how many; free space is given back."""
        gone = 0
        for table, key in self._ageing.items():
            while deleted := self._db.forget(table, key, before, most=_AT_ONCE):
                gone += deleted
        ((pages,),) = self._db.run("PRAGMA freelist_count")
        ((size,),) = self._db.run("PRAGMA page_size")
        if gone and int(pages) * int(size) > _WORTH_BYTES:
            self._db.run("VACUUM")
        return gone

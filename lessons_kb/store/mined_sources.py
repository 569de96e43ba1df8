"""What mining has read of a project's past: a row a source, so that the next time is short."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from typing import Any

from lessons_kb.store.database import Database
from lessons_kb.store.user_state import state_dir

_NAME = "mined.db"
_PATIENCE = 5.0
_MIGRATIONS = (
    """CREATE TABLE sources (path TEXT PRIMARY KEY, stamp TEXT NOT NULL, data TEXT NOT NULL);
    CREATE TABLE commits (id TEXT PRIMARY KEY, data TEXT NOT NULL)""",
)


class Mined:
    """The file of one brain in the user's state folder; everything raises StorageError."""

    def __init__(self, root: str) -> None:
        self._db = Database(os.path.join(state_dir(root), _NAME), _MIGRATIONS, patience=_PATIENCE)

    def close(self) -> None:
        """Close the file."""
        self._db.close()

    def read_source(self, path: str, stamp: str) -> list[dict[str, Any]] | None:
        """Return what was found in a source, None when it was not read as it is now."""
        rows = self._db.run("SELECT data FROM sources WHERE path = ? AND stamp = ?", (path, stamp))
        return json.loads(rows[0][0]) if rows else None

    def write_sources(self, rows: Sequence[tuple[str, str, Sequence[Mapping[str, Any]]]]) -> None:
        """Remember what was found in sources: path, stamp, finds."""
        texts = [(path, stamp, json.dumps(data, ensure_ascii=False)) for path, stamp, data in rows]
        with self._db.transaction():
            self._db.run_each("INSERT OR REPLACE INTO sources VALUES (?, ?, ?)", texts)

    def read_commits(self) -> dict[str, dict[str, Any]]:
        """Return what is known of commits, by id."""
        rows = self._db.run("SELECT id, data FROM commits")
        return {number: json.loads(data) for number, data in rows}

    def write_commits(self, rows: Mapping[str, Mapping[str, Any]]) -> None:
        """Remember what commits told."""
        pairs = [(number, json.dumps(row, ensure_ascii=False)) for number, row in rows.items()]
        with self._db.transaction():
            self._db.run_each("INSERT OR REPLACE INTO commits VALUES (?, ?)", pairs)

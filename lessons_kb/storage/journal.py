"""The journal: what was observed, one SQLite file per brain in the user's state folder."""

from __future__ import annotations

import os
import sqlite3

from lessons_kb.errors import StorageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

JOURNAL_NAME = "journal.db"

_MIGRATIONS = (
    """
    CREATE TABLE injections (
      id INTEGER PRIMARY KEY,
      session TEXT NOT NULL,
      turn INTEGER NOT NULL,
      at INTEGER NOT NULL,
      card TEXT NOT NULL,
      digest TEXT NOT NULL,
      rank INTEGER NOT NULL,
      tokens INTEGER NOT NULL,
      in_context INTEGER NOT NULL DEFAULT 1
    );
    CREATE INDEX injections_by_session ON injections (session, card);
    CREATE TABLE turns (session TEXT PRIMARY KEY, turn INTEGER NOT NULL) WITHOUT ROWID;
    """,
)
"""Each brings the file from version n to n + 1; none is ever changed after a release."""


class Journal:
    """An open journal file; any number of processes may write."""

    def __init__(self, path: str) -> None:
        """Open or create ``path``; StorageError when that cannot be done."""
        try:
            self._db = sqlite3.connect(
                path, timeout=5.0, isolation_level=None, check_same_thread=False
            )
            self._db.execute("PRAGMA synchronous = NORMAL")
            self._migrate(path)
        except sqlite3.Error as error:
            raise StorageError(
                f"cannot open the journal {path}: {error}; check the folder, or move the file away"
            ) from None

    def close(self) -> None:
        """Close the file."""
        self._db.close()

    def next_turn(self, session: str) -> int:
        """Count a prompt of this session; return its number, from 1."""
        (turn,) = self._db.execute(
            "INSERT INTO turns VALUES (?, 1)"
            " ON CONFLICT (session) DO UPDATE SET turn = turn + 1 RETURNING turn",
            (session,),
        ).fetchone()
        return int(turn)

    def in_context(self, session: str, *, since_turn: int) -> set[tuple[str, str]]:
        """Return (card id, digest) of what this session was given at or after a turn."""
        rows = self._db.execute(
            "SELECT card, digest FROM injections WHERE session = ? AND turn >= ? AND in_context",
            (session, since_turn),
        )
        return set(rows)

    def record_injections(
        self, session: str, *, turn: int, at: int, cards: Sequence[tuple[str, str, int]]
    ) -> None:
        """Store (card id, digest, tokens) in rank order; ``at`` in seconds since the epoch."""
        rows = [
            (session, turn, at, card, digest, rank, tokens)
            for rank, (card, digest, tokens) in enumerate(cards, 1)
        ]
        self._db.execute("BEGIN IMMEDIATE")
        self._db.executemany(
            "INSERT INTO injections (session, turn, at, card, digest, rank, tokens)"
            " VALUES (?, ?, ?, ?, ?, ?, ?)",
            rows,
        )
        self._db.execute("COMMIT")

    def last_injected(self, session: str | None) -> list[str]:
        """Return the card ids of the latest block, of this session or of any, by rank."""
        rows = self._db.execute(
            "SELECT card FROM injections WHERE (session, turn, at) = (SELECT session, turn, at"
            " FROM injections WHERE ?1 IS NULL OR session = ?1 ORDER BY id DESC LIMIT 1)"
            " ORDER BY rank",
            (session,),
        )
        return list(dict.fromkeys(card for (card,) in rows))

    def forget_context(self, session: str, cards: Collection[str] | None = None) -> None:
        """Note that the session's context was compacted: all or some cards are gone from it."""
        if cards is None:
            self._db.execute("UPDATE injections SET in_context = 0 WHERE session = ?", (session,))
            return
        self._db.executemany(
            "UPDATE injections SET in_context = 0 WHERE session = ? AND card = ?",
            [(session, card) for card in cards],
        )

    def _migrate(self, path: str) -> None:
        (version,) = self._db.execute("PRAGMA user_version").fetchone()
        if version == len(_MIGRATIONS):
            return
        if version > len(_MIGRATIONS):
            raise StorageError(f"{path} was written by a newer lessons_kb; upgrade this one")
        os.chmod(path, 0o600)
        self._db.execute("PRAGMA journal_mode = WAL")
        self._db.execute("BEGIN IMMEDIATE")
        (version,) = self._db.execute("PRAGMA user_version").fetchone()
        for migration in _MIGRATIONS[version:]:
            for statement in migration.split(";"):
                self._db.execute(statement)
        self._db.execute(f"PRAGMA user_version = {len(_MIGRATIONS)}")
        self._db.execute("COMMIT")

"""What sessions were given, looked up after the fact: no prompt waits for anything here."""

from __future__ import annotations

from dataclasses import dataclass

from lessons_kb.store.database import Database

_MAX_ROWS = 1_000


@dataclass(frozen=True, kw_only=True, slots=True)
class Injection:
    """One card that a session was given."""

    session: str
    turn: int
    """Number of the session's prompt; 0 for a preflight without a session."""
    at: int
    """Seconds since the epoch."""
    card: str
    """Id in its brain."""
    digest: str
    """Of the card as it was then; see ``brain.memory.card_digest``."""
    rank: int
    tokens: int
    in_context: bool
    """False once the session's context was compacted."""


class Injections:
    """The rows of a journal's table, read only."""

    def __init__(self, db: Database) -> None:
        self._db = db

    def of(self, session: str) -> list[Injection]:
        """Return the newest thousand of a session, oldest first, by rank within one block."""
        rows = self._db.run(
            "SELECT session, turn, at, card, digest, rank, tokens, in_context FROM injections"
            " WHERE session = ? ORDER BY id DESC LIMIT ?",
            (session, _MAX_ROWS),
        )
        names = ("session", "turn", "at", "card", "digest", "rank", "tokens")
        return [
            Injection(**dict(zip(names, row, strict=False)), in_context=bool(row[-1]))
            for row in reversed(rows)
        ]

    def ranked(self, session: str) -> list[tuple[int, int, str]]:
        """Return (prompts since, rank, card) of the blocks of the latest turn that brought any.

        All say the same of the prompts that came since: none where the latest one brought them.
        """
        rows = self._db.run(
            "SELECT DISTINCT turn, rank, card FROM injections WHERE session = ? AND turn ="
            " (SELECT max(turn) FROM injections WHERE session = ?)",
            (session, session),
        )
        now = self.turn(session)
        return [(now - int(turn), int(rank), str(card)) for turn, rank, card in rows]

    def newest(self) -> tuple[str, int] | None:
        """Return the session that was given something last, and when; None if none was."""
        rows = self._db.run("SELECT session, at FROM injections ORDER BY id DESC LIMIT 1")
        return (str(rows[0][0]), int(rows[0][1])) if rows else None

    def turn(self, session: str) -> int:
        """Return the number of a session's latest prompt without counting one; 0 = none yet."""
        rows = self._db.run("SELECT turn FROM turns WHERE session = ?", (session,))
        return int(rows[0][0]) if rows else 0

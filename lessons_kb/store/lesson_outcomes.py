"""What became of the lessons that sessions were given: asked afterwards, not in a hook."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from lessons_kb.store.database import Database

INJECTED = "injected"
"""What is counted by the journal itself; the rest by those who know of it."""
BUMPED = "bumped"
TOKENS, SESSIONS = "tokens", "sessions"
ALL = ""
"""Counted in place of a card where all cards are meant: the sessions that were given any."""


class Outcomes:
    """What was seen once a session, and the sums of what was counted by day."""

    def __init__(self, db: Database, count: Callable[..., None]) -> None:
        self._db = db
        self._count = count

    def note(self, session: str, card: str, what: str, *, at: float) -> bool:
        """Count ``what`` of a card, once a session; False when it was counted already.

        Without a session it always counts.
        """
        with self._db.transaction():
            if session and not self._db.change(
                "INSERT OR IGNORE INTO outcomes VALUES (?, ?, ?, ?)", (session, card, what, at)
            ):
                return False
            self._count(card, what, at=at)
        return True

    def is_noted(self, session: str, card: str, what: str) -> bool:
        """Return whether ``note`` has counted this in a session."""
        sql = "SELECT 1 FROM outcomes WHERE session = ? AND card = ? AND what = ?"
        return bool(self._db.run(sql, (session, card, what)))

    def take_back(self, card: str, what: str, *, at: float) -> bool:
        """Uncount what ``note`` counted at that very moment; False when it counted nothing then."""
        with self._db.transaction():
            gone = self._db.change(
                "DELETE FROM outcomes WHERE card = ? AND what = ? AND at = ?", (card, what, at)
            )
            if gone:
                self._count(card, what, at=at, times=-gone)
        return bool(gone)

    def given(self, session: str) -> dict[str, float]:
        """Return the cards that a session was given → when first, in whole seconds."""
        rows = self._db.run(
            "SELECT card, min(at) FROM injections WHERE session = ? GROUP BY card", (session,)
        )
        return {str(card): float(at) for card, at in rows}

    def last_session(self, card: str, *, since: float) -> str:
        """Return the session that was given a card last, "" if none was after ``since``."""
        rows = self._db.run(
            "SELECT session FROM injections WHERE at >= ? AND card = ? AND session != ''"
            " ORDER BY at DESC, id DESC LIMIT 1",
            (since, card),
        )
        return str(rows[0][0]) if rows else ""

    def totals(self, cards: Sequence[str] | None = None) -> dict[str, dict[str, int]]:
        """Return card → what → how often in all, of these cards or of every one."""
        where = "" if cards is None else f" WHERE card IN ({', '.join('?' * len(cards))})"
        rows = self._db.run(
            f"SELECT card, what, sum(times) FROM counts{where}"  # noqa: S608 values are bound
            " GROUP BY card, what",
            cards or (),
        )
        found: dict[str, dict[str, int]] = {}
        for card, what, times in rows:
            found.setdefault(card, {})[what] = times
        return found

    def span(self, card: str | None = None) -> dict[str, tuple[str, str]]:
        """Return card → the first and the last day (ISO) on which it was given."""
        rows = self._db.run(
            "SELECT card, min(day), max(day) FROM counts WHERE what = ?"
            " AND (? IS NULL OR card = ?) GROUP BY card",
            (INJECTED, card, card),
        )
        return {str(card): (str(first), str(last)) for card, first, last in rows}

    def days(
        self, whats: Sequence[str], cards: set[str] | None = None
    ) -> list[tuple[str, str, int]]:
        """Return (ISO day, what, times), of these cards or of every one, a row or more a day."""
        marks = ", ".join("?" * len(whats))
        if cards is None:
            rows = self._db.run(
                "SELECT day, what, sum(times) FROM counts"  # noqa: S608 values are bound
                f" WHERE what IN ({marks}) AND card != '' GROUP BY day, what",
                whats,
            )
            return [(str(day), str(what), int(times)) for day, what, times in rows]
        rows = self._db.run(
            f"SELECT card, day, what, times FROM counts WHERE what IN ({marks})",  # noqa: S608
            whats,
        )
        return [(str(day), str(what), int(n)) for card, day, what, n in rows if card in cards]

    def first_day(self) -> str | None:
        """Return the day on which the first thing was counted, None when nothing was."""
        ((day,),) = self._db.run("SELECT min(day) FROM counts")
        return day if day is None else str(day)

    def sessions(self, cards: Iterable[str]) -> int:
        """Return how many sessions of those still journalled were given any of these cards."""
        asked = set(cards)
        rows = self._db.run("SELECT DISTINCT session, card FROM injections WHERE session != ''")
        return len({session for session, card in rows if card in asked})

    def first_given(self, *, without: str) -> dict[str, float]:
        """Return card → when any session was given it first, as far as that is journalled.

        Cards of which ``without`` was counted are left out.
        """
        rows = self._db.run(
            "SELECT card, min(at) FROM injections WHERE card NOT IN"
            " (SELECT card FROM counts WHERE what = ?) GROUP BY card",
            (without,),
        )
        return {str(card): float(at) for card, at in rows}

    def keep(self, card: str, day: str, counts: dict[str, int]) -> None:
        """Set what was counted of a card on a day, whatever stood there."""
        with self._db.transaction():
            for what, times in counts.items():
                self._db.run(
                    "INSERT OR REPLACE INTO counts VALUES (?, ?, ?, ?)", (card, what, day, times)
                )

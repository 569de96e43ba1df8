"""Shifts, and who signed up for them."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass
from datetime import datetime

from shiftboard.clock import from_text, to_text
from shiftboard.people import Person


class NoSuchShift(LookupError):
    """No shift has that id."""


class ShiftFull(ValueError):
    """Nobody else can sign up."""


@dataclass(frozen=True)
class Shift:
    id: int
    title: str
    place: str
    begins: datetime
    ends: datetime
    capacity: int

    @property
    def hours(self) -> float:
        return (self.ends - self.begins).total_seconds() / 3600


class Shifts:
    """The tables of shifts and of who signed up."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self.connection = connection

    def add(
        self, title: str, place: str, begins: datetime, ends: datetime, capacity: int = 3
    ) -> Shift:
        if ends <= begins:
            raise ValueError("a shift ends after it has begun")
        with self.connection as db:
            row = db.execute(
                "INSERT INTO shifts (title, place, begins, ends, capacity) VALUES (?, ?, ?, ?, ?)",
                (title, place, to_text(begins), to_text(ends), capacity),
            )
        return self.get(int(row.lastrowid or 0))

    def get(self, shift_id: int) -> Shift:
        row = self.connection.execute("SELECT * FROM shifts WHERE id = ?", (shift_id,)).fetchone()
        if row is None:
            raise NoSuchShift(shift_id)
        return _read(row)

    def after(self, at: datetime) -> list[Shift]:
        """Return the shifts that begin then or later, the next first."""
        rows = self.connection.execute(
            "SELECT * FROM shifts WHERE begins >= ? ORDER BY begins, id", (to_text(at),)
        )
        return [_read(row) for row in rows]

    def sign_up(self, shift: Shift, person: Person) -> None:
        """Put somebody down for a shift; again is no error."""
        names = [one.id for one in self.signed_up(shift)]
        if person.id in names:
            return
        if len(names) >= shift.capacity:
            raise ShiftFull(shift.title)
        with self.connection as db:
            db.execute("INSERT INTO signups VALUES (?, ?)", (shift.id, person.id))

    def signed_up(self, shift: Shift) -> list[Person]:
        rows = self.connection.execute(
            "SELECT people.* FROM people JOIN signups ON person = id WHERE shift = ? ORDER BY name",
            (shift.id,),
        )
        return [Person(r["id"], r["name"], r["email"], bool(r["minor"])) for r in rows]

    def of_person(self, person: Person) -> list[Shift]:
        rows = self.connection.execute(
            "SELECT shifts.* FROM shifts JOIN signups ON shift = id WHERE person = ?"
            " ORDER BY begins, id",
            (person.id,),
        )
        return [_read(row) for row in rows]


def _read(row: sqlite3.Row) -> Shift:
    return Shift(
        row["id"],
        row["title"],
        row["place"],
        from_text(row["begins"]),
        from_text(row["ends"]),
        row["capacity"],
    )

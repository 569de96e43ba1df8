"""Volunteers."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass


class NoSuchPerson(LookupError):
    """No volunteer has that id."""


@dataclass(frozen=True)
class Person:
    id: int
    name: str
    email: str = ""
    minor: bool = False
    """Under 16: a guardian has to sign."""


class People:
    """The table of volunteers."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self.connection = connection

    def add(self, name: str, email: str = "", *, minor: bool = False) -> Person:
        if not name.strip():
            raise ValueError("a volunteer has a name")
        with self.connection as db:
            row = db.execute(
                "INSERT INTO people (name, email, minor) VALUES (?, ?, ?)",
                (name.strip(), email.strip(), int(minor)),
            )
        return self.get(int(row.lastrowid or 0))

    def get(self, person_id: int) -> Person:
        row = self.connection.execute("SELECT * FROM people WHERE id = ?", (person_id,)).fetchone()
        if row is None:
            raise NoSuchPerson(person_id)
        return _read(row)

    def all(self) -> list[Person]:
        return [_read(row) for row in self.connection.execute("SELECT * FROM people ORDER BY name")]


def _read(row: sqlite3.Row) -> Person:
    return Person(row["id"], row["name"], row["email"], bool(row["minor"]))

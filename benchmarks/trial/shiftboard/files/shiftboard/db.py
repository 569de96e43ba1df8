"""The SQLite file."""

from __future__ import annotations

import sqlite3

from shiftboard.migrations import MIGRATIONS


def connect(path: str = ":memory:") -> sqlite3.Connection:
    """Open the file and bring its schema up to date."""
    connection = sqlite3.connect(path)
    connection.row_factory = sqlite3.Row
    connection.execute("PRAGMA foreign_keys = ON")
    migrate(connection)
    return connection


def version(connection: sqlite3.Connection) -> int:
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


def migrate(connection: sqlite3.Connection) -> int:
    """Run the steps that the file lacks; return how many."""
    done = version(connection)
    for number, statements in enumerate(MIGRATIONS[done:], done + 1):
        for statement in statements:
            connection.execute(statement)
        connection.execute(f"PRAGMA user_version = {number}")
        connection.commit()
    return len(MIGRATIONS) - done

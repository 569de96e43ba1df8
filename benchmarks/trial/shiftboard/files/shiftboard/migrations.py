"""The steps of the schema: each is a list of statements, run once, in order."""

from __future__ import annotations

MIGRATIONS: list[list[str]] = [
    [
        "CREATE TABLE people (id INTEGER PRIMARY KEY, name TEXT NOT NULL,"
        " email TEXT NOT NULL DEFAULT '', minor INTEGER NOT NULL DEFAULT 0)",
    ],
    [
        "CREATE TABLE shifts (id INTEGER PRIMARY KEY, title TEXT NOT NULL, place TEXT NOT NULL,"
        " begins TEXT NOT NULL, ends TEXT NOT NULL, capacity INTEGER NOT NULL)",
        "CREATE INDEX shifts_begin ON shifts (begins)",
    ],
    [
        "CREATE TABLE signups (shift INTEGER NOT NULL REFERENCES shifts (id),"
        " person INTEGER NOT NULL REFERENCES people (id), PRIMARY KEY (shift, person))",
    ],
]

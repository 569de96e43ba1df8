"""The names that a project's files have had, commit by commit, in one SQLite file.

The file is a cache. It is filled once from the whole history, and then only with new commits.
"""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from lessons_kb.errors import StorageError
from lessons_kb.store.database import connect, one_transaction
from lessons_kb.store.files import sqlite_error
from lessons_kb.text.name_changes import NamedCommit

HISTORY_NAME = "history.sqlite"
_FORMAT = 7
_PATIENCE = 30.0
_TABLES = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT) WITHOUT ROWID;
CREATE TABLE commits (
  number INTEGER PRIMARY KEY, id TEXT NOT NULL, day TEXT NOT NULL, parents TEXT NOT NULL
);
CREATE INDEX commits_by_day ON commits (day);
CREATE TABLE paths (path TEXT PRIMARY KEY, changes TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE added (
  content TEXT NOT NULL, path TEXT NOT NULL, PRIMARY KEY (content, path)
) WITHOUT ROWID;
CREATE TABLE renames (
  commit_id TEXT NOT NULL, path TEXT NOT NULL, target TEXT NOT NULL,
  PRIMARY KEY (commit_id, path)
) WITHOUT ROWID;
CREATE TABLE gaps (commit_id TEXT PRIMARY KEY, reason TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE words (
  commit_id TEXT NOT NULL, word TEXT NOT NULL, present INTEGER NOT NULL,
  PRIMARY KEY (commit_id, word)
) WITHOUT ROWID;
CREATE TABLE matches (name TEXT PRIMARY KEY, fields TEXT NOT NULL) WITHOUT ROWID
"""
"""``paths.changes`` holds the changes of a path in one text: for each its number, status and
content, and a space. One row for each change would take twice as long.
"""
_ALL_TABLES = ("commits", "paths", "added", "renames", "gaps", "words", "matches")
_ALL_READ = ""
"""The path of a row which says that the renames of a commit were read. No file has this path."""


_HASH_DIGITS = 12
"""The number of digits of the hash of a content that are stored."""
_EMPTY, _EMPTY_SHA256 = "e69de29bb2d1", "473a0f4c3be8"
"""The first digits of the hashes of an empty file, in SHA-1 and in SHA-256."""
_BATCH, _MOST_COLLECTED = 500, 20_000
"""The numbers of added files, and of changes, that are collected before they are written."""


class Removal(NamedTuple):
    """The commit in which a path ceased to exist."""

    number: int
    """The position of the commit in the history. Later commits have larger numbers."""
    commit: str
    day: str


class _Change(NamedTuple):
    """A change of one path."""

    number: int
    """The position of the commit in the history."""
    status: str
    content: str
    """The first digits of the hash of the content, as in ``NameChange``."""


class FileVersion(NamedTuple):
    """A commit that added or changed a file."""

    commit: str
    day: str


class Match(NamedTuple):
    """The file of HEAD that has most of the words of a text."""

    share: float
    """The share of the words that it has, between 0 and 1; rare words count more."""
    blob: str
    """The file's content as git names it; "" if no file has any of the words."""
    files: int
    """The number of files that were compared."""
    counts: dict[str, int]
    """The number of these files that have each word of the text."""


class FileHistory:
    """An open history of names."""

    def __init__(self, path: str) -> None:
        """Open or create the file. Raises StorageError if it cannot be opened."""
        try:
            self._db = self._open(path)
        except sqlite3.Error as error:
            raise sqlite_error(error, path, "free space, or delete the file") from None
        self._commit_of_day: dict[str, str] = {}
        self._parents: dict[int, list[int]] = {}
        """The numbers of the parents of each commit, once they are needed."""

    @staticmethod
    def _open(path: str) -> sqlite3.Connection:
        try:
            return connect(path, _FORMAT, _make_tables, patience=_PATIENCE)
        except sqlite3.OperationalError:
            raise
        except sqlite3.DatabaseError:  # damaged: it is only a cache
            try:
                os.remove(path)
            except OSError as error:
                raise StorageError(f"{path} is damaged; delete it: {error}") from None
            return connect(path, _FORMAT, _make_tables, patience=_PATIENCE)

    def close(self) -> None:
        """Close the file."""
        self._db.close()

    @property
    def head(self) -> str:
        """The last commit that was read; "" if none was read yet."""
        row = self._db.execute("SELECT value FROM meta WHERE key = 'head'").fetchone()
        return str(row[0]) if row else ""

    @property
    def searched_head(self) -> str:
        """The last HEAD in which words were searched; "" if there is none."""
        row = self._db.execute("SELECT value FROM meta WHERE key = 'searched'").fetchone()
        return str(row[0]) if row else ""

    @searched_head.setter
    def searched_head(self, commit: str) -> None:
        """Store the last HEAD in which words were searched."""
        self._db.execute("INSERT OR REPLACE INTO meta VALUES ('searched', ?)", (commit,))

    @property
    def compared_head(self) -> str:
        """The HEAD to which the stored matches belong; "" if there are none."""
        row = self._db.execute("SELECT value FROM meta WHERE key = 'compared'").fetchone()
        return str(row[0]) if row else ""

    def read_matches(self) -> dict[str, Match]:
        """Return the stored matches, each with the name that its text has for the writer."""
        rows = self._db.execute("SELECT name, fields FROM matches")
        return {name: Match(*json.loads(fields)) for name, fields in rows}

    def write_matches(self, matches: Mapping[str, Match]) -> None:
        """Store the matches of HEAD instead of those that are stored."""
        rows = [(name, json.dumps(match)) for name, match in matches.items()]
        with one_transaction(self._db):
            self._db.execute("DELETE FROM matches")
            self._db.executemany("INSERT INTO matches VALUES (?, ?)", rows)
            self._db.execute("INSERT OR REPLACE INTO meta VALUES ('compared', ?)", (self.head,))

    def add(self, commits: Iterable[NamedCommit], *, head: str, afresh: bool) -> None:
        """Store commits, oldest first. ``afresh`` deletes all other commits."""
        self._commit_of_day.clear()
        self._parents.clear()
        with one_transaction(self._db):
            if afresh:
                for table in _ALL_TABLES:
                    self._db.execute(f"DELETE FROM {table}")  # noqa: S608
            (last,) = self._db.execute("SELECT coalesce(max(number), 0) FROM commits").fetchone()
            places: list[tuple[int, str, str, str]] = []
            changes: dict[str, list[str]] = {}
            added: list[tuple[str, str]] = []
            count = 0
            for number, commit in enumerate(commits, last + 1):
                places.append((number, commit.id, commit.day, " ".join(commit.parents)))
                count += len(commit.changes)
                removed = {change.blob for change in commit.changes if change.status == "D"}
                for status, path, _target, blob in commit.changes:
                    change = f"{number}{status}{blob[:_HASH_DIGITS]} "
                    if path in changes:
                        changes[path].append(change)
                    else:
                        changes[path] = [change]
                    if status == "A" or (status != "D" and blob in removed):
                        added.append((blob[:_HASH_DIGITS], path))
                if len(added) > _BATCH:
                    self._write_commits(places, added)
                if count > _MOST_COLLECTED:
                    self._write_changes(changes)
                    count = 0
            self._write_commits(places, added)
            self._write_changes(changes)
            self._db.execute("INSERT OR REPLACE INTO meta VALUES ('head', ?)", (head,))

    def _write_commits(
        self, commits: list[tuple[int, str, str, str]], added: list[tuple[str, str]]
    ) -> None:
        """Write commits and the contents that they added, and empty the lists."""
        self._db.executemany("INSERT INTO commits VALUES (?, ?, ?, ?)", commits)
        self._db.executemany("INSERT OR IGNORE INTO added VALUES (?, ?)", sorted(added))
        commits.clear()
        added.clear()

    def _write_changes(self, changes: dict[str, list[str]]) -> None:
        """Write the changes of paths after those that are stored, and empty the mapping."""
        sql = (
            "INSERT INTO paths VALUES (?, ?)"
            " ON CONFLICT DO UPDATE SET changes = changes || excluded.changes"
        )
        rows = ((path, "".join(changes[path])) for path in sorted(changes))
        self._db.executemany(sql, rows)
        changes.clear()

    def _read_changes(self, path: str) -> list[_Change]:
        """Return the changes of a path, oldest first."""
        sql = "SELECT changes FROM paths WHERE path = ?"
        row = self._db.execute(sql, (path,)).fetchone()
        changes = sorted(map(_parse_change, row[0].split()), reverse=True) if row else []
        # Names that are not UTF-8 can look the same, so that a commit changes one of them twice.
        return list({one.number: one for one in changes}.values())[::-1]

    def _read_commit(self, number: int) -> FileVersion:
        sql = "SELECT id, day FROM commits WHERE number = ?"
        return FileVersion(*self._db.execute(sql, (number,)).fetchone())

    def read_fault(self, head: str) -> str:
        """Return why the history of a HEAD could not be read; "" if it was not tried or worked."""
        row = self._db.execute("SELECT value FROM meta WHERE key = 'fault'").fetchone()
        if row is None:
            return ""
        faulty_head, _, reason = str(row[0]).partition(" ")
        return reason if faulty_head == head else ""

    def write_fault(self, head: str, reason: str) -> None:
        """Store why the history of a HEAD could not be read."""
        self._db.execute("INSERT OR REPLACE INTO meta VALUES ('fault', ?)", (f"{head} {reason}",))

    def forget_fault(self) -> None:
        """Delete the stored fault, so that the history is read again."""
        self._db.execute("DELETE FROM meta WHERE key = 'fault'")

    def forget_head(self) -> None:
        """Delete the last commit that was read, so that the whole history is read again."""
        self._db.execute("DELETE FROM meta WHERE key = 'head'")

    def add_gaps(self, gaps: Mapping[str, str]) -> None:
        """Store the commits that git could not read, each with the reason."""
        self._db.executemany("INSERT OR REPLACE INTO gaps VALUES (?, ?)", list(gaps.items()))

    def list_gaps(self) -> dict[str, str]:
        """Return the commits that git could not read, each with the reason."""
        return dict(self._db.execute("SELECT commit_id, reason FROM gaps ORDER BY commit_id"))

    def has_gap(self, commit: str) -> bool:
        """Return whether git could not read a commit."""
        sql = "SELECT 1 FROM gaps WHERE commit_id = ?"
        return self._db.execute(sql, (commit,)).fetchone() is not None

    def list_paths(self) -> list[str]:
        """Return every path that ever existed."""
        return [path for (path,) in self._db.execute("SELECT path FROM paths")]

    def find_removal(self, path: str, *, after: int) -> Removal | None:
        """Return the last removal of a path in a commit later than ``after``."""
        changes = self._read_changes(path)
        removals = [one.number for one in changes if one.status == "D" and one.number > after]
        return Removal(removals[-1], *self._read_commit(removals[-1])) if removals else None

    def list_merges(self) -> list[str]:
        """Return the merges of the main line, latest first."""
        parents = dict(self._db.execute("SELECT id, parents FROM commits"))
        merges = []
        current = self.head
        while current in parents:
            first, _, others = parents[current].partition(" ")
            if others:
                merges.append(current)
            current = first
        return merges

    def add_removals(self, merges: Iterable[NamedCommit], paths: Iterable[str]) -> None:
        """Store that merges removed files, if these are among ``paths``."""
        wanted = set(paths)
        numbers = dict(self._db.execute("SELECT id, number FROM commits"))
        rows = []
        for merge in merges:
            number = numbers[merge.id]
            for change in merge.changes:
                known = self._read_changes(change.path) if change.path in wanted else []
                if known and all(one.number != number for one in known):
                    rows.append((f"{number}D{change.blob[:_HASH_DIGITS]} ", change.path))
        with one_transaction(self._db):
            sql = "UPDATE paths SET changes = changes || ? WHERE path = ?"
            self._db.executemany(sql, rows)

    def has_renames(self, commit: str) -> bool:
        """Return whether the renames of a commit were stored."""
        return self.read_target(commit, _ALL_READ) is not None

    def read_target(self, commit: str, path: str) -> str | None:
        """Return the path to which a commit renamed a file; None if no rename of it is stored."""
        sql = "SELECT target FROM renames WHERE commit_id = ? AND path = ?"
        row = self._db.execute(sql, (commit, path)).fetchone()
        return None if row is None else str(row[0])

    def add_renames(self, renames: Mapping[str, Mapping[str, str]]) -> None:
        """Store the files that commits renamed: for each commit, the new path of each old one."""
        rows = [(commit, _ALL_READ, "") for commit in renames]
        for commit, targets in renames.items():
            rows += [(commit, old, new) for old, new in targets.items()]
        with one_transaction(self._db):
            self._db.executemany("INSERT OR REPLACE INTO renames VALUES (?, ?, ?)", rows)

    def find_first_day(self, path: str) -> str:
        """Return the day on which a path was first added; "" if it was never added."""
        changes = self._read_changes(path)
        return self._read_commit(changes[0].number).day if changes else ""

    def list_versions(self, path: str) -> list[FileVersion]:
        """Return the commits that added or changed a path, oldest first."""
        numbers = [one.number for one in self._read_changes(path) if one.status != "D"]
        sql = (
            "SELECT commits.id, day FROM json_each(?) JOIN commits ON number = json_each.value"
            " ORDER BY number"
        )
        return [FileVersion(*row) for row in self._db.execute(sql, (json.dumps(numbers),))]

    def has_file(self, path: str, *, on: str) -> bool:
        """Return whether a path existed at the end of a day."""
        changes = {one.number: one for one in self._read_changes(path)}
        sql = (
            "SELECT max(number) FROM json_each(?) JOIN commits ON number = json_each.value"
            " WHERE day <= ?"
        )
        (last,) = self._db.execute(sql, (json.dumps(list(changes)), on)).fetchone()
        return last is not None and changes[last].status != "D"

    def find_commit(self, day: str) -> str:
        """Return the last commit on or before a day; "" if the history begins later."""
        if day not in self._commit_of_day:
            row = self._db.execute(
                "SELECT id FROM commits WHERE number ="
                " (SELECT max(number) FROM commits WHERE day <= ?)",
                (day,),
            ).fetchone()
            self._commit_of_day[day] = str(row[0]) if row else ""
        return self._commit_of_day[day]

    def count_changes(self, path: str, *, since: str) -> int:
        """Return the number of commits that changed a path after a day."""
        edits = [one.number for one in self._read_changes(path) if one.status == "M"]
        sql = (
            "SELECT count(*) FROM json_each(?) JOIN commits ON number = json_each.value"
            " WHERE day > ?"
        )
        (count,) = self._db.execute(sql, (json.dumps(edits), since)).fetchone()
        return int(count)

    def find_copies(self, path: str, number: int) -> list[str]:
        """Return the files with the content of a path that a commit removed, after that commit.

        They were added with this content, or replaced by it when a commit removed it elsewhere.
        ``number`` is the position of the commit in the history.
        An empty file has no copies.
        """
        removed = next(one.content for one in self._read_changes(path) if one.number == number)
        if removed in (_EMPTY, _EMPTY_SHA256):
            return []
        sql = "SELECT path FROM added WHERE content = ? AND path != ?"
        rows = self._db.execute(sql, (removed, path)).fetchall()
        if not rows:
            return []
        earlier = {
            copy: [one for one in self._read_changes(copy) if one.number <= number]
            for (copy,) in rows
        }
        first_change = min((one[0].number for one in earlier.values() if one), default=number)
        ancestors = self._find_ancestors(number, first_change)
        copies = []
        for copy, changes in earlier.items():
            last = [one for one in changes if one.number in ancestors][-1:]
            if last and last[0].status != "D" and last[0].content == removed:
                copies.append(copy)
        return sorted(copies)

    def _find_ancestors(self, number: int, first: int) -> set[int]:
        """Return the numbers of a commit and its ancestors, from the number ``first`` on."""
        if not self._parents:
            self._parents = self._read_parents()
        ancestors: set[int] = set()
        following = [number]
        while following:
            current = following.pop()
            if current >= first and current not in ancestors:
                ancestors.add(current)
                following += self._parents[current]
        return ancestors

    def _read_parents(self) -> dict[int, list[int]]:
        """Return a mapping from the number of each commit to those of its parents.

        The commit before takes the place of a parent that git could not read.
        """
        rows = self._db.execute("SELECT number, id, parents FROM commits").fetchall()
        numbers = {commit: number for number, commit, _parents in rows}
        return {
            number: [numbers.get(parent, number - 1) for parent in parents.split()]
            for number, _commit, parents in rows
        }

    def read_words(self, commit: str) -> dict[str, bool]:
        """Return the words that were searched in a commit, each with whether it occurs there."""
        sql = "SELECT word, present FROM words WHERE commit_id = ?"
        return {word: bool(present) for word, present in self._db.execute(sql, (commit,))}

    def add_words(self, commit: str, words: Mapping[str, bool]) -> None:
        """Store for each word whether it occurs in a commit."""
        rows = [(commit, word, int(present)) for word, present in words.items()]
        with one_transaction(self._db):
            self._db.executemany("INSERT OR REPLACE INTO words VALUES (?, ?, ?)", rows)

    def forget_words(self, *, but: Iterable[str]) -> None:
        """Delete the words that were searched in commits other than ``but``."""
        kept = json.dumps([*but])
        sql = "DELETE FROM words WHERE commit_id NOT IN (SELECT value FROM json_each(?))"
        self._db.execute(sql, (kept,))


def _parse_change(text: str) -> _Change:
    """Return a change, given its number, its status, and the digits of its content."""
    at = len(text) - _HASH_DIGITS
    return _Change(number=int(text[: at - 1]), status=text[at - 1], content=text[at:])


def _make_tables(db: sqlite3.Connection, _version: int) -> None:
    tables = db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
    for (name,) in tables.fetchall():
        db.execute('DROP TABLE "' + name.replace('"', '""') + '"')
    for statement in _TABLES.split(";"):
        db.execute(statement)

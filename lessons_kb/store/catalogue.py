"""The catalogue: the parsed content of every file, as of the last index run, in a SQLite file.

It is a cache, which may be deleted at any time. A damaged or outdated catalogue is replaced without
a message.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import sqlite3
import stat
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from lessons_kb.errors import IndexBroken, InputError, StorageError
from lessons_kb.model import CURRENT, NO_GATE, RULE, Card, Finding, Pattern, Standing, as_data
from lessons_kb.on_demand import COPY_FILES, URLS, load
from lessons_kb.store.database import SIDES, connect, one_transaction
from lessons_kb.store.files import sqlite_error, storage_errors
from lessons_kb.text.patterns import Globs, compile_globs, get_hints, match_globs
from lessons_kb.values import field, frozen, list_fields, replace

FORMAT = 25
"""Version of the tables below and of the JSON in them; a file of another version is rebuilt."""
PROJECT_MARK = "project"
"""The key of the mark with the signature of the project when it was last examined."""

_TABLES = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT) WITHOUT ROWID;
CREATE TABLE docs (
  number INTEGER PRIMARY KEY, path TEXT NOT NULL UNIQUE, digest TEXT NOT NULL,
  title_key TEXT NOT NULL, card TEXT, findings TEXT NOT NULL, background REAL
);
CREATE INDEX docs_by_title ON docs (title_key);
CREATE INDEX docs_by_digest ON docs (digest, path, title_key);
CREATE TABLE copies (number INTEGER PRIMARY KEY, original TEXT NOT NULL);
CREATE TABLE card_globs (
  number INTEGER NOT NULL, hint TEXT NOT NULL, globs TEXT NOT NULL,
  PRIMARY KEY (number, hint)
) WITHOUT ROWID;
CREATE TABLE titles (
  number INTEGER PRIMARY KEY, path TEXT NOT NULL, title TEXT NOT NULL, project TEXT NOT NULL,
  occurrences INTEGER NOT NULL, seen TEXT NOT NULL, stale_after TEXT NOT NULL
);
CREATE INDEX titles_by_use ON titles (occurrences DESC, seen DESC, path);
CREATE INDEX titles_by_project ON titles (project, stale_after);
CREATE TABLE successions (
  number INTEGER NOT NULL, is_successor INTEGER NOT NULL, other TEXT NOT NULL,
  PRIMARY KEY (number, is_successor, other)
) WITHOUT ROWID;
CREATE TABLE gates (number INTEGER PRIMARY KEY) WITHOUT ROWID;
CREATE TABLE detectors (
  number INTEGER NOT NULL, place INTEGER NOT NULL, size INTEGER NOT NULL, pattern TEXT NOT NULL,
  globs TEXT NOT NULL,
  PRIMARY KEY (number, place)
) WITHOUT ROWID;
CREATE TABLE claims (number INTEGER PRIMARY KEY, claims TEXT NOT NULL, standing TEXT NOT NULL)
"""


@frozen
class Detector:
    """One pattern of a card, as the catalogue stores it."""

    pattern: Pattern
    globs: Globs = ()
    """The compiled globs of ``pattern.files``."""
    size: int
    """The cost of a search for the pattern, in instructions of RE2."""


@frozen
class Title:
    """The title of a card that may be injected."""

    path: str
    title: str
    occurrences: int
    seen: str
    """The ISO day on which the mistake was last made, according to the card; "" if unknown."""


@frozen
class CatalogueEntry:
    """One file, as the catalogue stores it."""

    path: str
    digest: str = ""
    """A digest of the content. A file with new times but the same bytes is not indexed again."""
    card: Card | None = None
    """The card, or None for a file that cannot be used and for a copy."""
    left_out: bool = False
    """Whether the file is a note in a brain that reads only cards. This field is not stored."""
    original: str = ""
    """The path of the file that contains the same card and is used instead; "" if the file is not a
    copy."""
    title_key: str = ""
    globs: Globs = ()
    """The compiled globs of ``card.paths``."""
    detectors: tuple[Detector, ...] = ()
    """The patterns of ``card.detect``, or none for a card that is not active."""
    terms: Mapping[str, str] = field(default_factory=dict)
    """A mapping from each field to its terms in order, each between two blanks. The terms are for
    the engine, and the catalogue does not store them."""
    findings: tuple[Finding, ...] = ()
    claims: str = ""
    """The claims of the card about its project. A `Standing` is valid while the first line is the
    same. It is computed again if another line differs."""
    background: float | None = None
    """The card's base rate: how often unrelated prompts match it. None for a file without a
    card."""


@frozen
class State:
    """The state of the index at the last commit."""

    versions: str
    """The versions of format, analyzer and engine in one text, which is compared, never parsed."""
    generation: int
    """The number in the name of the engine's directory. A rebuild starts a directory with a number
    that was never used before."""
    manifest: str
    settings: dict[str, Any]
    """The settings in ``lessons.toml``, as ``model.as_data`` returns them."""
    ignored: Globs = ()
    """The compiled globs of ``.lessonsignore``."""
    silent: tuple[str, ...] = ()
    """Folders that were left out because the user does not trust them."""
    beyond: tuple[int, int] = (0, 0)
    """See ``Scan.beyond``."""
    engine: str = ""
    """``Engine.stamp()`` at the last commit."""
    unread: int = 0
    """The number of files that are still to be read while the index is built. It is at least 1
    until the first files are committed."""
    cards: int = 0
    """The number of usable cards. ``Catalogue.commit`` computes this and the following numbers."""
    notes: int = 0
    """Number of usable notes."""
    detectors: int = 0
    """Number of patterns."""
    gates: int = 0
    """Number of cards with a gate that may stop a call."""
    successions: int = 0
    """The number of references from a card to its predecessor or successor."""


class Catalogue:
    """An open catalogue file. Threads may share it if only one uses it at a time."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._db = connection
        self._set_cache(_CACHE_OF_READERS)

    def _set_cache(self, kilobytes: int) -> None:
        """Limit the pages that SQLite keeps in memory."""
        self._db.execute(f"PRAGMA cache_size = {-kilobytes}")

    @classmethod
    def open(cls, path: str) -> Catalogue:
        """Open the catalogue at ``path``; create it if it is missing, foreign or damaged.

        Raises StorageError if the file cannot be created.
        """
        for suffix in SIDES:
            with contextlib.suppress(FileNotFoundError):  # another process may remove them
                if not stat.S_ISREG(os.lstat(path + suffix).st_mode):
                    cls.remove(path)  # opening a FIFO would block
        try:
            try:
                return cls(_connect(path))
            except sqlite3.DatabaseError as error:
                if is_disk_trouble(error):
                    raise
            cls.remove(path)
            return cls(_connect(path))
        except sqlite3.DatabaseError as error:
            reason = sqlite_error(error, path, "check permissions and free disk space")
            raise StorageError(f"cannot open the catalogue {reason}") from None

    @staticmethod
    def remove(path: str) -> None:
        """Delete the file at ``path`` and SQLite's files beside it. Raises StorageError."""
        with storage_errors(path):
            for suffix in SIDES:
                remove_any(path + suffix)

    def close(self) -> None:
        """Close the file."""
        self._db.close()

    def state(self) -> State | None:
        """Return the state at the last commit, or None if there is no usable state."""
        row = self._db.execute("SELECT value FROM meta WHERE key = 'state'").fetchone()
        if row is None:
            return None
        try:
            head, _, manifest = row[0].partition("\n")
            data = json.loads(head)
            data["ignored"] = tuple((regex, include) for regex, include in data["ignored"])
            data["silent"] = tuple(data.get("silent", ()))
            data["beyond"] = tuple(data["beyond"])
            return State(**data, manifest=manifest)
        except (AttributeError, KeyError, TypeError, ValueError):  # the caller rebuilds the index
            return None

    def read_thresholds(self) -> str:
        """Return the text that ``write_thresholds`` stored; "" if there is none."""
        return self._read_meta("thresholds")

    def write_thresholds(self, text: str) -> None:
        """Store the thresholds of the gate, which are valid until others are stored."""
        self._write_meta("thresholds", text)

    def read_project_words(self) -> str:
        """Return the text that ``write_project_words`` stored; "" if there is none."""
        return self._read_meta("project words")

    def write_project_words(self, text: str) -> None:
        """Store the everyday words of the project, which are valid until others are stored."""
        self._write_meta("project words", text)

    def _read_meta(self, key: str) -> str:
        row = self._db.execute("SELECT value FROM meta WHERE key = ?", (key,)).fetchone()
        return str(row[0]) if row else ""

    def _write_meta(self, key: str, text: str) -> None:
        with one_transaction(self._db):
            self._db.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (key, text))

    def verify(self) -> None:
        """Raise IndexBroken if SQLite finds that the file is damaged."""
        (result,) = self._db.execute("PRAGMA integrity_check(1)").fetchone()
        if result != "ok":
            raise IndexBroken(result)

    def commit(
        self,
        state: State,
        *,
        entries: Sequence[tuple[int, CatalogueEntry]] = (),
        removed: Collection[int] = (),
        afresh: bool = False,
    ) -> State:
        """Store entries by number, with the state that belongs to them, in one transaction.

        ``afresh`` first deletes every document. Return the state with its counts.
        """
        self._set_cache(_CACHE_OF_WRITERS)
        with one_transaction(self._db):
            entries = self._keep_standings(entries)
            numbers = [*removed, *(number for number, _entry in entries)]
            changed = [(number,) for number in numbers]
            for table, rows in _rows_of(entries).items():
                if afresh:
                    self._db.execute(f"DELETE FROM {table}")  # noqa: S608
                self._db.executemany(f"DELETE FROM {table} WHERE number = ?", changed)  # noqa: S608
                if rows:
                    marks = ", ".join("?" * len(rows[0]))
                    insert = f"INSERT OR REPLACE INTO {table} VALUES ({marks})"  # noqa: S608
                    self._db.executemany(insert, rows)
            (cards, notes, detectors, gates, successions) = self._db.execute(
                "SELECT count(*) FILTER (WHERE number > 0), count(*) FILTER (WHERE number < 0),"
                " (SELECT count(*) FROM detectors), (SELECT count(*) FROM gates),"
                " (SELECT count(*) FROM successions)"
                " FROM docs WHERE card IS NOT NULL"
            ).fetchone()
            counts = {"cards": cards, "notes": notes, "detectors": detectors, "gates": gates}
            state = replace(state, **counts, successions=successions)
            head = {name: getattr(state, name) for name in list_fields(State)}
            del head["manifest"]
            text = f"{json.dumps(head)}\n{_text(state.manifest)}"
            self._db.execute("INSERT OR REPLACE INTO meta VALUES ('state', ?)", (text,))
        return state

    def _keep_standings(
        self, entries: Sequence[tuple[int, CatalogueEntry]]
    ) -> list[tuple[int, CatalogueEntry]]:
        """Return the entries, with the former standings of cards whose claims are unchanged."""
        numbers = json.dumps([number for number, _entry in entries])
        sql = (
            "SELECT number, claims, standing FROM claims"
            " WHERE number IN (SELECT value FROM json_each(?))"
        )
        rows = self._db.execute(sql, (numbers,))
        judged: set[tuple[int, str]] = set()
        known: dict[tuple[int, str], str] = {}
        for number, claims, standing in rows:
            judged.add((number, claims))
            known[number, _first_line(claims)] = standing
        claiming = {(number, entry.claims) for number, entry in entries if entry.claims}
        if not claiming <= judged:
            self.write_mark(PROJECT_MARK, "")
        kept = []
        for number, entry in entries:
            standing = known.get((number, _first_line(entry.claims)), "")
            if entry.card is not None and standing:
                card = replace(entry.card, standing=_standing_from(json.loads(standing)))
                kept.append((number, replace(entry, card=card)))
            else:
                kept.append((number, entry))
        return kept

    def claims(self) -> dict[int, tuple[str, Standing]]:
        """Return a mapping from the number of every card to its claims as JSON and its standing."""
        rows = self._db.execute("SELECT number, claims, standing FROM claims").fetchall()
        return {
            number: (claims, _standing_from(json.loads(standing)) if standing else CURRENT)
            for number, claims, standing in rows
        }

    def successors(self) -> dict[int, int]:
        """Return a mapping from the number of each superseded card to that of its successor.

        A name that matches no card, or several cards, is ignored.
        """
        found: dict[int, int] = {}
        rows = self._db.execute("SELECT number, is_successor, other FROM successions").fetchall()
        for number, is_successor, name in rows:
            path = name.removesuffix(".md").removesuffix(".markdown")
            fitting = self._db.execute(
                "SELECT number FROM docs WHERE number > 0 AND (path IN (:path, :md, :long)"
                " OR path LIKE '%/' || :escaped || '.md' ESCAPE '!')",
                {
                    "path": name,
                    "md": f"{path}.md",
                    "long": f"{path}.markdown",
                    "escaped": re.sub(r"[!%_]", r"!\g<0>", path),
                },
            ).fetchall()
            if len(fitting) == 1 and fitting[0][0] != number:
                other = fitting[0][0]
                predecessor, successor = (other, number) if is_successor else (number, other)
                found[predecessor] = successor
        return found

    def find_standing(self, path: str) -> Standing:
        """Return the standing of the card at a path."""
        row = self._db.execute(
            "SELECT standing FROM claims JOIN docs USING (number) WHERE path = ?", (path,)
        ).fetchone()
        return _standing_from(json.loads(row[0])) if row and row[0] else CURRENT

    def set_standings(self, standings: Mapping[int, tuple[str, Standing]], *, mark: str) -> bool:
        """Store the standings of cards, and return whether any standing has changed.

        Each standing comes with the claims from which it was computed. It is dropped if the card
        has been edited meanwhile. ``mark`` is the signature of the project. It is stored if no card
        has been edited.
        """
        changed = False
        with one_transaction(self._db):
            for number, (claims, standing) in standings.items():
                text = _standing_to_json(standing)
                cursor = self._db.execute(
                    "UPDATE claims SET standing = ? WHERE number = ? AND claims = ?"
                    " AND standing != ?",
                    (text, number, claims, text),
                )
                if cursor.rowcount:
                    changed = True
                    self._renew(number, standing)
            now = dict(self._db.execute("SELECT number, claims FROM claims"))
            judged = {number: claims for number, (claims, _standing) in standings.items()}
            self.write_mark(PROJECT_MARK, mark if now == judged else "")
        return changed

    def _renew(self, number: int, standing: Standing) -> None:
        """Replace the rows of a card for another standing."""
        row = self._db.execute("SELECT * FROM docs WHERE number = ?", (number,)).fetchone()
        card = replace(card_from_json(row[1], row[4]), standing=standing)
        self._db.execute("UPDATE docs SET card = ? WHERE number = ?", (card_to_json(card), number))
        try:
            globs = compile_globs(card.paths)
        except InputError:  # `lint` reports it
            globs = ()
        for table, rows in _rows_of_card(number, card, globs=globs).items():
            self._db.execute(f"DELETE FROM {table} WHERE number = ?", (number,))  # noqa: S608
            if rows:
                marks = ", ".join("?" * len(rows[0]))
                self._db.executemany(f"INSERT INTO {table} VALUES ({marks})", rows)  # noqa: S608

    def read_mark(self, key: str) -> str:
        """Return the text that was stored under a key; "" if there is none."""
        row = self._db.execute("SELECT value FROM meta WHERE key = ?", (f"mark {key}",)).fetchone()
        return str(row[0]) if row else ""

    def write_mark(self, key: str, value: str) -> None:
        """Store a text under a key."""
        self._db.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (f"mark {key}", value))

    def size(self) -> int:
        """Return the size of the file's pages in bytes."""
        sql = "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size"
        return int(self._db.execute(sql).fetchone()[0])

    def version(self) -> int:
        """Return a number that changes whenever another process commits."""
        (version,) = self._db.execute("PRAGMA data_version").fetchone()
        return int(version)

    def numbers(self, *paths: str) -> dict[str, tuple[int, str]]:
        """Return a mapping from path to (number, digest), for every file or for ``paths``."""
        sql = "SELECT path, number, digest FROM docs"
        if paths:
            sql += " WHERE path IN (SELECT value FROM json_each(:paths))"
        rows = self._db.execute(sql, {"paths": json.dumps(paths)})
        return {path: (number, digest) for path, number, digest in rows}

    def repeated_names(self) -> frozenset[str]:
        """Return the file names that files in more than one folder have."""
        names = Counter(path.rpartition("/")[2] for (path,) in self._db.execute(_PATHS))
        return frozenset(name for name, count in names.items() if count > 1)

    def copies(self) -> dict[str, str]:
        """Return a mapping from the path of each copy that is left out to that of its original."""
        rows = self._db.execute("SELECT path, original FROM copies JOIN docs USING (number)")
        return dict(rows.fetchall())

    def find_copied(self, digests: Iterable[str]) -> list[tuple[str, str, str]]:
        """Return path, digest and title key of the cards that may have copies or may be copies.

        Such a card shares its digest with another card, has one of ``digests``, or is named like a
        copy.
        """
        rows = self._db.execute(
            "SELECT path, digest, title_key FROM docs WHERE title_key != '' AND ("
            " digest IN (SELECT digest FROM docs GROUP BY digest HAVING count(*) > 1)"
            " OR digest IN (SELECT value FROM json_each(?)) OR path LIKE '%conflict%'"
            " OR path LIKE '%copy%' OR path LIKE '%).%')",
            (json.dumps([*digests]),),
        )
        return list(rows)

    def find_titled(self, paths: Iterable[str]) -> list[tuple[str, str, str]]:
        """Return path, digest and title key of the cards at these paths, including copies."""
        rows = self._db.execute(
            "SELECT path, digest, title_key FROM docs WHERE title_key != ''"
            " AND path IN (SELECT value FROM json_each(?))",
            (json.dumps([*paths]),),
        )
        return list(rows)

    def usable(self) -> list[tuple[int, str, str]]:
        """Return number, path and digest of every usable file, including notes."""
        rows = self._db.execute("SELECT number, path, digest FROM docs WHERE card IS NOT NULL")
        return list(rows)

    def cards(self, numbers: Iterable[int]) -> dict[int, Card]:
        """Return a mapping from each number to its card.

        Unknown numbers and unusable files are left out.
        """
        cards = {}
        for number, path, _digest, _title, text, *_ in self._rows(numbers):
            if text:
                cards[number] = card_from_json(path, text)
        return cards

    def backgrounds(self, numbers: Iterable[int]) -> dict[int, float]:
        """Return a mapping from the number of each card to its base rate, if it has a base rate."""
        base_rates = {row[0]: row[-1] for row in self._rows(numbers)}
        return {number: rate for number, rate in base_rates.items() if rate is not None}

    def _rows(self, numbers: Iterable[int]) -> Iterable[tuple[Any, ...]]:
        sql = "SELECT * FROM docs WHERE number IN (SELECT value FROM json_each(?))"
        return self._db.execute(sql, (json.dumps([*numbers]),))

    def guarding(self, paths: Sequence[str]) -> dict[int, tuple[str, ...]]:
        """Return the numbers of the cards whose globs match, each with the matching ``paths``."""
        # CROSS JOIN preserves the order of the tables. Otherwise SQLite reads all files by path,
        # which takes 2 ms for 12,000 files, instead of looking up the few files that match.
        sql = (
            "SELECT number, globs FROM card_globs CROSS JOIN docs USING (number)"
            " WHERE instr(?, hint) ORDER BY path"
        )
        paths_of = {}
        for number, text in self._db.execute(sql, (_text("\n".join(paths)),)):
            globs = json.loads(text)
            matching = tuple(path for path in paths if match_globs(globs, path))
            if matching:
                paths_of[number] = matching
        return paths_of

    def detectors(self, *, most: int) -> list[tuple[int, Detector]]:
        """Return pairs of the number of a file and one of its patterns, in the order of paths.

        The sum of the patterns' sizes is at most ``most``. Further patterns are left out.
        """
        sql = (
            "SELECT number, size, pattern, globs FROM detectors CROSS JOIN docs USING (number)"
            " ORDER BY path, place"
        )
        detectors, size_left = [], most
        for number, size, pattern_text, globs_text in self._db.execute(sql):
            size_left -= size
            if size_left < 0:
                break
            pattern = _pattern_from(json.loads(pattern_text))
            globs = tuple((source, include) for source, include in json.loads(globs_text))
            detectors.append((number, Detector(pattern=pattern, globs=globs, size=size)))
        return detectors

    def gated_cards(self) -> list[Card]:
        """Return the cards that have a gate, in the order of paths."""
        rows = self._db.execute(
            "SELECT * FROM docs WHERE number IN (SELECT number FROM gates) ORDER BY path"
        )
        return [card_from_json(row[1], row[4]) for row in rows]

    def all_cards(self) -> list[Card]:
        """Return the card of every usable file, including notes, in the order of paths."""
        rows = self._db.execute("SELECT * FROM docs WHERE card IS NOT NULL ORDER BY path")
        return [card_from_json(row[1], row[4]) for row in rows]

    def names(self) -> list[tuple[str, str]]:
        """Return path and title of every card, without notes, in the order of paths."""
        sql = "SELECT path, json_extract(card, '$.title') FROM docs WHERE number > 0"
        return self._db.execute(f"{sql} AND card IS NOT NULL ORDER BY path").fetchall()

    def count_titles(self, project: str | None, *, today: str) -> int:
        """Return the number of cards that may be given in a project on a day."""
        # SQLite counts all entries of an index faster than those that meet a condition.
        every = "SELECT count(*) FROM titles WHERE project IN ('', :project)"
        stale = f"{every} AND stale_after > '' AND stale_after <= :today"
        values = {"project": project or "", "today": today}
        ((total, left_out),) = self._db.execute(f"SELECT ({every}), ({stale})", values)
        return int(total) - int(left_out)

    def titles(self, project: str | None, *, limit: int, today: str) -> list[Title]:
        """Return at most ``limit`` cards of a project or of no project that are not stale on a day.

        The most frequent cards come first; of equally frequent ones, the last seen.
        """
        # The plus sign keeps SQLite from using the index by project, so that it reads the index by
        # use in its order and need not sort all rows.
        rows = self._db.execute(
            f"{_GIVEABLE} ORDER BY occurrences DESC, seen DESC, path LIMIT :limit",
            {"project": project or "", "today": today, "limit": limit},
        )
        return list(map(_title_from_row, rows))

    def titles_at(self, project: str | None, paths: Collection[str], *, today: str) -> list[Title]:
        """Return the cards at some paths that are of a project or of no project, and not stale."""
        named = "SELECT number FROM docs WHERE path IN (SELECT value FROM json_each(:paths))"
        rows = self._db.execute(
            f"{_GIVEABLE} AND number IN ({named})",
            {"project": project or "", "today": today, "paths": json.dumps([*paths])},
        )
        return list(map(_title_from_row, rows))

    def findings(self) -> list[Finding]:
        """Return the findings of the parser, in the order of paths and lines."""
        rows = self._db.execute("SELECT * FROM docs WHERE findings != '[]' ORDER BY path")
        return [Finding(**data) for row in rows for data in json.loads(row[5])]

    def numbers_titled(self, title_key: str) -> list[int]:
        """Return the numbers of cards with this normalised title, in the order of paths."""
        rows = self._db.execute(
            "SELECT number FROM docs WHERE title_key = ? AND title_key != '' AND card IS NOT NULL"
            " ORDER BY path",
            (title_key,),
        )
        return [number for (number,) in rows]

    def paths_titled(self, title_key: str) -> list[str]:
        """Return the paths of cards with this normalised title, sorted."""
        rows = self._db.execute(
            "SELECT path FROM docs WHERE title_key = ? AND title_key != '' AND card IS NOT NULL"
            " ORDER BY path",
            (title_key,),
        )
        return [path for (path,) in rows]


_PATHS = "SELECT path FROM docs"
_NOT_STALE = "(stale_after = '' OR stale_after > :today)"
"""Condition on a row of ``titles``: the card never becomes stale, or only after today."""
_GIVEABLE = f"""
SELECT path, title, occurrences, seen FROM titles
WHERE +project IN ('', :project) AND {_NOT_STALE}
"""  # noqa: S608 names of our own
"""The query for the titles of a project that may be given today."""
_WAYS = ("titles", "card_globs", "gates")
"""The tables that depend on the standing of a card."""
_TABLES_OF_FILES = ("docs", "copies", *_WAYS, "detectors", "claims", "successions")
_PATIENCE = 5.0
"""Seconds to wait for another process."""
_CACHE_OF_READERS, _CACHE_OF_WRITERS = 256, 2_000
"""The size of SQLite's cache in KB. The second is SQLite's default. A reader looks up few pages,
which the system has in memory anyway, but the check of the file would fill the cache."""


def is_disk_trouble(error: Exception) -> bool:
    """Return whether the disk caused an error. Other errors are damage that a rebuild repairs."""
    words = ("full", "readonly", "locked", "busy", "unable to open", "disk I/O")
    return isinstance(error, sqlite3.OperationalError) and any(w in str(error) for w in words)


def card_to_json(card: Card) -> str:
    """Return the fields of a card that differ from their defaults as one line of JSON.

    The id is left out.
    """
    data = as_data(card)
    short = {key: value for key, value in data.items() if value != _EMPTY.get(key, ...)}
    del short["id"]
    return json.dumps(short, ensure_ascii=False, separators=(",", ":"))


def card_from_json(path: str, text: str) -> Card:
    """Rebuild a card from its path and the result of ``card_to_json``."""
    data: dict[str, Any] = json.loads(text)
    fields: dict[str, Any] = {k: tuple(v) if type(v) is list else v for k, v in data.items()}
    if "detect" in data:
        fields["detect"] = tuple(map(_pattern_from, data["detect"]))
    if "standing" in data:
        fields["standing"] = _standing_from(data["standing"])
    return Card(id=path, **fields)


def _first_line(claims: str) -> str:
    return claims.partition("\n")[0]


def _standing_to_json(standing: Standing) -> str:
    return "" if standing == CURRENT else json.dumps(as_data(standing), ensure_ascii=False)


def _title_from_row(row: tuple[str, str, int, str]) -> Title:
    path, title, occurrences, seen = row
    return Title(path=path, title=title, occurrences=occurrences, seen=seen)


def _standing_from(data: dict[str, Any]) -> Standing:
    pairs = {name: tuple(map(tuple, data[name])) for name in ("moved", "gone", "changed")}
    lists = {name: tuple(data[name]) for name in ("follows", "yields_to")}
    return Standing(**{**data, **pairs, **lists})


def _pattern_from(data: dict[str, Any]) -> Pattern:
    lists = {name: tuple(data[name]) for name in ("files", "bad", "good")}
    return Pattern(**{**data, **lists, "relations": tuple(map(tuple, data["relations"]))})


_EMPTY: Mapping[str, Any] = {
    key: value
    for key, value in as_data(Card(id="", kind="", title="")).items()
    if key not in {"id", "kind", "title"}
}


def _text(text: str) -> str:
    """Return a text that SQLite can store. A lone surrogate becomes a question mark."""
    return text.encode(errors="replace").decode()


def remove_any(path: str) -> None:
    """Delete a file, or a folder with its content, if there is one. Raises OSError."""
    try:
        os.remove(path)
    except FileNotFoundError:
        return
    except (IsADirectoryError, PermissionError):  # macOS raises the second for a folder
        load(COPY_FILES).rmtree(path)


def _rows_of(entries: Sequence[tuple[int, CatalogueEntry]]) -> dict[str, list[tuple[Any, ...]]]:
    """Return a mapping from each table to the rows of these entries."""
    rows: dict[str, list[tuple[Any, ...]]] = {table: [] for table in _TABLES_OF_FILES}
    for number, entry in entries:
        card = entry.card
        text = card_to_json(card) if card else None
        findings = json.dumps(as_data(entry.findings), ensure_ascii=False)
        place = number, entry.path, entry.digest, entry.title_key
        rows["docs"].append((*place, text, findings, entry.background))
        if entry.original:
            rows["copies"].append((number, entry.original))
        if card is None:
            continue
        if number > 0:
            rows["claims"].append((number, entry.claims, _standing_to_json(card.standing)))
        for table, more in _rows_of_card(number, card, globs=entry.globs).items():
            rows[table] += more
        names = {(1, name) for name in card.supersedes}
        names |= {(0, card.superseded_by)} if card.superseded_by else set()
        rows["successions"] += [(number, role, _text(name)) for role, name in sorted(names)]
        for position, detector in enumerate(entry.detectors):
            pattern = _text(json.dumps(as_data(detector.pattern)))
            where = json.dumps(detector.globs)
            rows["detectors"].append((number, position, detector.size, pattern, where))
    return rows


def _rows_of_card(number: int, card: Card, *, globs: Globs) -> dict[str, list[tuple[Any, ...]]]:
    """Return a mapping from each table to the rows of a card that depend on its standing."""
    rows: dict[str, list[tuple[Any, ...]]] = {table: [] for table in _WAYS}
    # A rule is given automatically where it applies, so it need not be chosen by its title.
    if number > 0 and card.is_injectable and card.source != RULE:
        use = card.occurrences, card.last_seen or card.created or ""
        title = (number, card.id, card.title, card.project or "", *use, card.waits_from)
        rows["titles"].append(title)
    if card.is_injectable and card.gate != NO_GATE:
        rows["gates"].append((number,))
    guarded = (*globs, *compile_globs(card.standing.follows))
    written = json.dumps(guarded)
    rows["card_globs"] += [(number, _text(hint), written) for hint in get_hints(guarded)]
    return rows


def _connect(path: str) -> sqlite3.Connection:
    try:
        return connect(path, FORMAT, _make_tables, patience=_PATIENCE)
    except sqlite3.OperationalError as error:
        # A full disk has no space for the index of a log. A file without a log can still be read.
        needs_log = os.path.exists(path + "-wal") and os.path.getsize(path + "-wal") > 0
        if "disk I/O" not in str(error) or needs_log:
            raise
    uri = f"file:{load(URLS).quote(path)}?immutable=1"
    return sqlite3.connect(uri, uri=True, isolation_level=None, check_same_thread=False)


def _make_tables(db: sqlite3.Connection, _version: int) -> None:
    tables = db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
    for (name,) in tables.fetchall():
        db.execute('DROP TABLE "' + name.replace('"', '""') + '"')
    for statement in _TABLES.split(";"):
        db.execute(statement)

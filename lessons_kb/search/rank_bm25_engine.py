"""The reference engine: rank-bm25, an exact search in memory, for tiny brains and for debugging.

Its documents are stored in one SQLite file, so that updates are atomic and visible to other
processes.
"""

from __future__ import annotations

import json
import os
import sqlite3
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager

from rank_bm25 import BM25Okapi

from lessons_kb.model import FIELDS
from lessons_kb.search.engine_protocol import (
    K1,
    B,
    CardTerms,
    Engine,
    Reader,
    Terms,
    broken_error,
    busy_error,
    check_stamp,
    idf,
    join_terms,
    make_folder,
    order_hits,
    plain_term,
    read_terms,
    refused_error,
)

_FILE = "documents.sqlite"


class LuceneBM25(BM25Okapi):  # type: ignore[misc]
    """rank-bm25 with Lucene's idf.

    The idf of the library is negative for words that occur in most documents.
    """

    def __init__(self, corpus: Sequence[Sequence[str]]) -> None:
        super().__init__(corpus, k1=K1, b=B)

    def _calc_idf(self, nd: Mapping[str, int]) -> None:
        self.document_count = nd
        self.idf = {term: idf(n, self.corpus_size) for term, n in nd.items()}


class RankBM25Reader(Reader):
    """BM25 over some documents in memory."""

    def __init__(self, documents: Mapping[int, CardTerms]) -> None:
        self._documents = dict(sorted(documents.items()))
        self._numbers = list(self._documents)
        self._models: dict[str, LuceneBM25] = {}
        for field in FIELDS:
            corpus = [card.get(field, "").split() for card in self._documents.values()]
            # The library divides by the mean length, so a field that is always empty has no model.
            if any(corpus):
                self._models[field] = LuceneBM25(corpus)

    def search(
        self, terms: Mapping[str, float], weights: Mapping[str, float], limit: int
    ) -> list[tuple[int, float]]:
        """Return the best ``limit`` numbers with their scores, best first.

        Equal scores are ordered by number.
        """
        scores = [0.0] * len(self._numbers)
        for field, weight in weights.items():
            model = self._models.get(field)
            if model is None or weight <= 0:
                continue
            for term, count in terms.items():
                plain = plain_term(term)
                if count > 0 and plain in model.idf:
                    gained = model.get_scores([plain]) * (weight * count)
                    scores = [old + new for old, new in zip(scores, gained.tolist(), strict=True)]
        matched = (hit for hit in zip(self._numbers, scores, strict=True) if hit[1] > 0)
        return order_hits(matched, max(limit, 0))

    def document_frequencies(self, terms: Iterable[str], field: str = "body") -> dict[str, int]:
        """Return a mapping from each term to the number of cards with it in ``field``.

        Terms without a card have the number 0.
        """
        model = self._models.get(field)
        counted = model.document_count if model else {}
        return {term: counted.get(plain_term(term), 0) for term in terms}

    def documents(self, numbers: Iterable[int]) -> dict[int, CardTerms]:
        """Return the terms of the card with each number, if it exists."""
        return {n: self._documents[n] for n in numbers if n in self._documents}

    def size(self) -> int:
        """Return the number of live cards."""
        return len(self._numbers)


class RankBM25Engine(RankBM25Reader, Engine):
    """An index in a directory of its own; see ``Engine`` for the contract."""

    def __init__(self, directory: str, *, create: bool) -> None:
        self._directory = directory
        make_folder(directory, _FILE, create=create)
        path = os.path.join(directory, _FILE)
        self._connection = sqlite3.connect(
            path, timeout=0, isolation_level=None, check_same_thread=False
        )
        self._stamp = ""
        with ExitStack() as on_failure:
            on_failure.callback(self._connection.close)
            with self._translating():
                run = self._connection.execute
                if not (create or run("SELECT 1 FROM sqlite_master").fetchone()):
                    raise sqlite3.DatabaseError("it is empty")
                run(
                    "CREATE TABLE IF NOT EXISTS documents"
                    " (number INTEGER PRIMARY KEY, fields TEXT NOT NULL)"
                )
            self.reload()
            on_failure.pop_all()

    def update(
        self,
        added: Iterable[tuple[int, Mapping[str, Terms]]],
        removed: Iterable[int] = (),
    ) -> None:
        """Commit these changes atomically. A document with an existing number is replaced."""
        rows = (
            (number, json.dumps({f: join_terms(fields.get(f, ())) for f in FIELDS}))
            for number, fields in added
        )
        gone = ((number,) for number in removed)
        with self._translating(), self._connection as connection:  # commits, or rolls back
            connection.execute("BEGIN IMMEDIATE")
            connection.executemany("DELETE FROM documents WHERE number = ?", gone)
            connection.executemany("INSERT OR REPLACE INTO documents VALUES (?, ?)", rows)
            (number,) = connection.execute("PRAGMA user_version").fetchone()
            connection.execute(f"PRAGMA user_version = {number + 1}")
        self.reload()

    def compact(self) -> None:
        """Do nothing, because no deleted documents are stored."""

    def stamp(self) -> str:
        """Return a text that identifies the last commit and the data stored with it."""
        return self._stamp

    def verify(self, stamp: str, *, whole: bool = True) -> None:
        """Raise IndexBroken unless the data is that of the commit ``stamp`` or a later one."""
        check_stamp(self._stamp, stamp)
        with self._translating():
            (result,) = self._connection.execute("PRAGMA quick_check(1)").fetchone()
            if whole and result != "ok":
                raise sqlite3.DatabaseError(result)

    def reload(self) -> None:
        """Read the latest commit of any process."""
        with self._translating():
            with self._connection as connection:
                connection.execute("BEGIN")
                (commit,) = connection.execute("PRAGMA user_version").fetchone()
                cursor = connection.execute("SELECT number, fields FROM documents ORDER BY number")
                rows = cursor.fetchall()
            cards = {number: read_terms(json.loads(text)) for number, text in rows}
        self._stamp = f"{commit} {zlib.crc32(repr(rows).encode())}"
        super().__init__(cards)

    def with_edits(self, edited: Mapping[int, CardTerms]) -> Reader:
        """Return a view of this index in which the ``edited`` cards are replaced."""
        return RankBM25Reader({**self._documents, **edited})

    def close(self) -> None:
        """Release files and memory. No other method may be called afterwards."""
        self._connection.close()
        self._models, self._documents = {}, {}

    @contextmanager
    def _translating(self) -> Iterator[None]:
        """Raise errors of SQLite, and errors from the rows of a damaged file, as our errors.

        A busy or locked file is a `busy_error`. A full disk, a file that is read-only and one that
        cannot be opened are a `refused_error`. All other errors are a `broken_error`.
        """
        try:
            yield
        except (sqlite3.Error, ValueError, KeyError, TypeError, AttributeError) as error:
            # The low byte of an extended code is its primary code.
            code = getattr(error, "sqlite_errorcode", 0) & 0xFF
            if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
                raise busy_error(self._directory) from None
            if code in (sqlite3.SQLITE_FULL, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN):
                raise refused_error(self._directory, error) from None
            raise broken_error(self._directory, error) from None

"""Vectors of files, kept on disk by the digest of what they were made from.

One SQLite file a model, in a brain's cache folder: it may be deleted at any time, and the vectors
of files that did not change survive a rebuild of the index.
"""

from __future__ import annotations

import contextlib
import glob
import os
import sqlite3
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from math import exp, log, sqrt

import numpy as np

from lessons_kb.config import Gate
from lessons_kb.errors import StorageError
from lessons_kb.model import Hit
from lessons_kb.search.embedding_model import Floats
from lessons_kb.search.engine_protocol import K1, idf

FORMAT = 2
"""Version of what a file's vectors are made of; another one makes them anew."""
_PREFIX = "vectors-"


class Vectors:
    """The vectors of one model in one cache folder. Threads take turns.

    Every method raises StorageError where the disk refuses and where the file was damaged.
    """

    def __init__(self, folder: str, model: str) -> None:
        """Open or make the file; those of other models are removed.

        A damaged file is begun anew. Raises StorageError where the disk refuses.
        """
        self._path = os.path.join(folder, f"{_PREFIX}{FORMAT}-{model}.db")
        try:
            self._db = _open(self._path)
        except sqlite3.Error as error:
            raise StorageError(f"cannot open {self._path}: {error}; check the folder") from None
        for other in glob.glob(os.path.join(glob.escape(folder), f"{_PREFIX}*.db")):
            if other != self._path:
                _remove(other)

    def find_absent(self, digests: Iterable[str]) -> list[str]:
        """Return those of the digests that have no vectors yet, each once, in order."""
        with self._using():
            known = {digest for (digest,) in self._db.execute("SELECT digest FROM vectors")}
        return [digest for digest in dict.fromkeys(digests) if digest not in known]

    def add(self, found: Iterable[tuple[str, Floats]]) -> None:
        """Keep the vectors (rows) of each digest."""
        rows = [(digest, len(rows), rows.astype("<f2").tobytes()) for digest, rows in found]
        with self._using(), self._db:
            self._db.executemany("INSERT OR REPLACE INTO vectors VALUES (?, ?, ?)", rows)

    def keep_only(self, digests: Collection[str]) -> None:
        """Forget the vectors of every other digest."""
        with self._using(), self._db:
            found = self._db.execute("SELECT digest FROM vectors").fetchall()
            gone = [row for row in found if row[0] not in digests]
            self._db.executemany("DELETE FROM vectors WHERE digest = ?", gone)

    def read(self, digests: Sequence[str]) -> tuple[list[int], Floats]:
        """Return all vectors as rows, and for each row its place in ``digests``, ascending."""
        with self._using():
            found = {d: (n, raw) for d, n, raw in self._db.execute("SELECT * FROM vectors")}
        places: list[int] = []
        parts: list[bytes] = []
        for place, digest in enumerate(digests):
            count, raw = found.get(digest, (0, b""))
            places += [place] * count
            parts.append(raw)
        rows = np.frombuffer(b"".join(parts), dtype="<f2").reshape(len(places) or 1, -1)
        return places, rows[: len(places)].astype(np.float32)

    def version(self) -> tuple[int, int]:
        """Return what changes when this or another process has changed the file."""
        with self._using():
            (others,) = self._db.execute("PRAGMA data_version").fetchone()
        return int(others), self._db.total_changes

    def close(self) -> None:
        """Close the file."""
        self._db.close()

    @contextlib.contextmanager
    def _using(self) -> Iterator[None]:
        """Turn what SQLite says into StorageError; a damaged file is begun anew."""
        try:
            yield
        except sqlite3.OperationalError as error:
            raise StorageError(
                f"cannot use {self._path}: {error}; free space or wait a moment"
            ) from None
        except sqlite3.DatabaseError:
            self._db.close()
            _remove(self._path)
            self._db = _open(self._path)
            raise StorageError(
                f"{self._path} was damaged and has been reset; run `lessons index`"
            ) from None


def _open(path: str) -> sqlite3.Connection:
    """Open the file, or begin it anew where it is damaged."""
    db = sqlite3.connect(path, timeout=5.0, check_same_thread=False)
    try:
        db.execute("PRAGMA synchronous = NORMAL")
        db.execute(
            "CREATE TABLE IF NOT EXISTS vectors (digest TEXT PRIMARY KEY, count INTEGER NOT NULL,"
            " vectors BLOB NOT NULL) WITHOUT ROWID"
        )
        db.execute("SELECT * FROM vectors LIMIT 1").fetchone()
    except sqlite3.DatabaseError as error:
        db.close()
        if isinstance(error, sqlite3.OperationalError):
            raise
        _remove(path)
        if os.path.exists(path):
            raise
        return _open(path)
    return db


def _remove(path: str) -> None:
    for suffix in ("", "-wal", "-shm", "-journal"):
        with contextlib.suppress(OSError):
            os.remove(path + suffix)


NEAREST = 32
"""Cards that are looked at for their meaning alone."""
FARTHEST = 0.3
"""Least cosine for that: a distance of 0.7."""
NEAR_DUPLICATE = 0.7
"""Cosine from which two cards may be one lesson: a distance of 0.3."""

_WEIGHT = 1.0
"""Of one whole unit of cosine, in units of a good BM25 score for this query."""
_LEAST = 0.25
"""A best BM25 score below this part of the possible one is no measure of a good one."""
# Log odds = WORDS logit(confidence by words) + MEANING cosine + BIAS
_WORDS = 0.25
_MEANING = 5.2
_BIAS = -1.9
_FLOOR = 0.02
"""Least confidence by words: that a card shares no word with the prompt tells little."""


def compute_most(terms: Mapping[str, float], frequencies: Mapping[str, int], size: int) -> float:
    """Return the BM25 score of a card that answers the query in full, again and again."""
    return (K1 + 1) * sum(
        weight * idf(frequencies.get(term, 0), size) for term, weight in terms.items()
    )


def widen(
    scores: Mapping[int, float], above: Mapping[int, float], *, most: float
) -> dict[int, float]:
    """Return number → what likeness in meaning adds to its BM25 score, where that is anything.

    ``scores`` are the candidates by words, ``above`` is by how much cosines lie above the mean of
    the brain, ``most`` is `compute_most`.
    """
    top = max(scores.values(), default=0.0)
    unit = sqrt(max(top, _LEAST * most) * most) or 1.0
    return {n: _WEIGHT * unit * near for n, near in above.items() if near > 0}


def judge_meaning(
    hits: Iterable[Hit], cosines: Mapping[str, float | None], gate: Gate
) -> list[Hit]:
    """Return the hits with the verdict of the gate on words and meaning together.

    ``cosines`` is card id → cosine to the query; a card without one keeps the verdict on words,
    and so does one that guards a file at hand.
    """
    judged = []
    for hit in hits:
        cosine = cosines.get(hit.card.id)
        if cosine is None or any(name == "path" for name, _ in hit.factors):
            judged.append(hit)
            continue
        words = min(max(hit.confidence, _FLOOR), 1 - _FLOOR)
        odds = _WORDS * log(words / (1 - words)) + _MEANING * cosine + _BIAS
        confidence = round(1 / (1 + exp(-odds)), 4)
        passed = confidence >= gate.min_confidence
        meaning = f"{'near' if passed else 'suppressed: not near enough'} in meaning ({cosine:.2f})"
        reason = f"{meaning}; {hit.reason.removeprefix('suppressed: ')}"
        judged.append(replace(hit, confidence=confidence, passed=passed, reason=reason))
    return judged

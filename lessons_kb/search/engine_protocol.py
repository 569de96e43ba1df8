"""What every text index can do, and the constants of BM25 that all of them share."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Protocol

from lessons_kb.errors import IndexBroken
from lessons_kb.model import FIELDS

K1 = 1.2
"""Saturation of term frequency."""
B = 0.75
"""How much a long field is held against a card."""

_DIGITS = 5


def rounded(score: float) -> float:
    """Return a score as it counts for order: sums of floats differ in their last digits."""
    return float(f"{score:.{_DIGITS}g}")


class Reader(Protocol):
    """What a search asks of an index; see ``Engine``."""

    def search(
        self, terms: Mapping[str, float], weights: Mapping[str, float], limit: int
    ) -> list[tuple[int, float]]:
        """Return the best ``limit`` numbers with scores, best first, ties by number.

        ``terms`` maps a term to its weight in the query, ``weights`` a field to its weight; the
        score is the sum over both of weight times weight times BM25, with the idf of Lucene,
        ``ln(1 + (N - n + 0.5) / (n + 0.5))``. What does not match is not returned.
        """

    def document_frequencies(self, terms: Iterable[str]) -> dict[str, int]:
        """Return in how many cards' ``body`` each term stands, 0 included."""

    def find_terms(
        self, numbers: Iterable[int], terms: Iterable[str]
    ) -> dict[int, dict[str, tuple[str, ...]]]:
        """Return, for each number that exists, field → those of the terms that stand in it.

        Fields without any are left out; terms keep the order given.
        """

    def count_phrases(
        self, numbers: Iterable[int], pairs: Sequence[tuple[str, str]]
    ) -> dict[int, int]:
        """Return, for each number that exists, how many of the pairs stand in its ``body`` so.

        A pair is two terms; they stand so where the second follows the first.
        """

    def lengths(self, numbers: Iterable[int]) -> dict[int, dict[str, int]]:
        """Return, for each number that exists, field → how many terms it holds, if any."""

    def size(self) -> int:
        """Return the number of live cards."""


class Engine(Reader, Protocol):
    """A BM25 index over cards that are given as ready terms, by number and field.

    Numbers are positive and chosen by the caller; fields are those of ``model.FIELDS``. A term is
    any text without white space (what white space it has is replaced by ``_``). What ``search``
    and the other readers see is the last commit seen by this process (see ``reload``).

    Raises IndexBroken where the directory cannot be used (delete it, open it with ``create=True``
    and add every card again), IndexBusy where another process writes, else StorageError where the
    disk refuses.
    """

    def update(
        self,
        added: Iterable[tuple[int, Mapping[str, Sequence[str]]]],
        removed: Iterable[int] = (),
    ) -> None:
        """Commit these changes at once or not at all; a number that exists is replaced."""

    def statistics(self, field: str, terms: Iterable[str]) -> tuple[dict[str, int], float]:
        """Return in how many cards' ``field`` each term stands, and the mean length of the field.

        The mean may be 0, for unknown, where no card has any of the terms there.
        """

    def needs_compaction(self) -> bool:
        """Tell whether so much of what is stored is deleted that the idf is off."""

    def compact(self) -> None:
        """Rewrite the index without what was deleted, in one commit (about 0.2 ms a card)."""

    def stamp(self) -> str:
        """Return what names the last commit and what is stored with it."""

    def verify(self, stamp: str, *, whole: bool = True) -> None:
        """Raise IndexBroken where what is stored is not that of the commit ``stamp``, or later.

        ``whole`` reads all of it and finds any changed byte, about 1 ms a megabyte.
        """

    def reload(self) -> None:
        """See what other processes have committed since."""

    def close(self) -> None:
        """Let go of files and memory; no other method may be called afterwards."""


def plain_term(term: str) -> str:
    """Return the term without white space, "" if it is nothing else."""
    return "_".join(term.split())


def join_terms(terms: Sequence[str]) -> str:
    """Return the terms parted by single spaces, one piece for each term."""
    joined = " ".join(terms)
    if len(joined.split()) == len(terms):
        return joined
    return " ".join(filter(None, map(plain_term, terms)))


def join_pairs(pairs: Iterable[tuple[str, str]]) -> list[tuple[str, str, str]]:
    """Return each pair as it is stored, and how it stands in a text of terms between blanks."""
    plain = [(plain_term(first), plain_term(second)) for first, second in pairs]
    return [(first, second, f" {first} {second} ") for first, second in plain if first and second]


def order_hits(hits: Iterable[tuple[int, float]], limit: int) -> list[tuple[int, float]]:
    """Return the best hits first, those of equal score by number."""
    return sorted(hits, key=lambda hit: (-rounded(hit[1]), hit[0]))[:limit]


def check_stamp(found: str, expected: str) -> None:
    """Raise IndexBroken for an older commit, or for another one with the number expected.

    A stamp is the number of a commit, a blank, and a digest. A later commit is right: the index
    commits first, and the catalogue that knows its stamp a moment later or, after a kill, never.
    """
    number, _, digest = found.partition(" ")
    right, _, same = expected.partition(" ")
    if int(number) < int(right) or (number == right and digest != same):
        raise IndexBroken(f"the index holds commit {number}, not {right}")


BUCKETS = 2**14
"""Document frequencies are kept in so many places, or in a power of two below that; terms of one
dimension are always of one bucket."""
DIMENSIONS = 2**32
"""What an engine takes for an index."""
_SALT = "lessons_kb 1"
MOST_SALTS = 16
"""A term that meets another one at each of them shares its dimension."""

Salts = Mapping[tuple[str, str], int]
"""(Field, term) → the salt of its dimension where that is not 0."""


def find_bucket(term: str) -> int:
    """Return the bucket of a term, from 0."""
    return _hash("", term, 0) % BUCKETS


def find_dimension(field: str, term: str, salt: int = 0) -> int:
    """Return the dimension of a term of a field; all fields of a term share its low bits.

    Low bits that name the bucket let a collision be found by reading one bucket.
    """
    high = _hash(field, term, salt) % (DIMENSIONS // BUCKETS)
    return high * BUCKETS + _hash("", term, salt) % BUCKETS


def build_vector(
    fields: Mapping[str, str], means: Mapping[str, float], salts: Salts
) -> tuple[list[int], list[float]]:
    """Return dimensions and values of a card; ``fields`` maps a field to its terms in one text."""
    values: dict[int, float] = {}
    for field in FIELDS:
        words = fields.get(field, "").split()
        norm = K1 * (1 - B + B * len(words) / (means.get(field) or len(words) or 1))
        for term, count in Counter(words).items():
            dimension = find_dimension(field, term, salts.get((field, term), 0))
            value = count * (K1 + 1) / (count + norm)
            values[dimension] = values.get(dimension, 0.0) + value
    return list(values), list(values.values())


def find_salt(field: str, term: str, is_taken: Callable[[int], bool]) -> int:
    """Return the first salt with a dimension that is free, 0 where there is none."""
    free = (n for n in range(MOST_SALTS) if not is_taken(find_dimension(field, term, n)))
    return next(free, 0)


def sum_up(hashes: Mapping[int, str]) -> int:
    """Return one number for a set of cards, each with its number and the hash of its content.

    It is a sum, so that a change is known from what changed alone.
    """
    return sum(
        int.from_bytes(hashlib.blake2b(f"{n} {text}".encode(), digest_size=16).digest(), "big")
        for n, text in hashes.items()
    )


def _hash(field: str, term: str, salt: int) -> int:
    text = f"{_SALT}\0{salt}\0{field}\0{term}".encode(errors="surrogatepass")
    return int.from_bytes(hashlib.blake2b(text, digest_size=8).digest(), "big")

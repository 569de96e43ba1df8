"""A card as a sparse vector, so that an inner product is BM25 over the terms of our own analyzer.

Each term of each field is a dimension of its own, found by a hash of 32 bits. A card's value there
is its term frequency, saturated and normalised by length; a query's is the weight of the field
times that of the term; the idf is the engine's part.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Mapping

from lessons_kb.model import FIELDS
from lessons_kb.search.engine_protocol import K1, B

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

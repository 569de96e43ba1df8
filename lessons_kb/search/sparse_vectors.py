"""A card as a sparse vector of BM25 weights, and the sum that identifies a set of cards."""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence

from lessons_kb.search.engine_protocol import K1, B


def find_dimension(field: str, term: str) -> int:
    """Return the dimension of a term of a field in a sparse vector, one of 2**32.

    Of 200,000 terms, only a few share a dimension, which does not change a ranking.
    """
    text = f"{field}\0{term}".encode(errors="surrogatepass")
    return int.from_bytes(hashlib.blake2b(text, digest_size=4).digest(), "big")


def saturate(words: Sequence[str], mean: float) -> dict[str, float]:
    """Return a mapping from each term in the words of a field to its saturated frequency.

    This is BM25's tf component. ``mean`` is the mean length of the field, 0 if it is unknown.
    """
    norm = K1 * (1 - B + B * len(words) / (mean or len(words) or 1))
    return {term: n * (K1 + 1) / (n + norm) for term, n in Counter(words).items()}


def build_vector(
    fields: Mapping[str, str], means: Mapping[str, float]
) -> tuple[list[int], list[float]]:
    """Return the dimensions and values of a card's sparse vector.

    ``fields`` maps a field to its terms as one text, and ``means`` to its mean length.
    """
    values: dict[int, float] = defaultdict(float)
    for field, text in fields.items():
        for term, gain in saturate(text.split(), means.get(field, 0.0)).items():
            values[find_dimension(field, term)] += gain
    return list(values), list(values.values())


def sum_up(hashes: Mapping[int, str]) -> int:
    """Return a digest of a set of cards. ``hashes`` maps a number to the hash of the content.

    The digest is a sum, so that a change of some cards can be added to it.
    """
    total = 0
    for number, text in hashes.items():
        digest = hashlib.blake2b(f"{number} {text}".encode(), digest_size=16)
        total += int.from_bytes(digest.digest(), "big")
    return total

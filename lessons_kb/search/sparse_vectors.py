"""A card as a sparse vector of BM25 weights, and the sum that names a set of cards."""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence

from lessons_kb.search.engine_protocol import K1, B


def find_dimension(field: str, term: str) -> int:
    """Return the dimension of a term of a field in a sparse vector.

    Of 200,000 different terms a handful share one of 2**32: too few to change an order.
    """
    text = f"{field}\0{term}".encode(errors="surrogatepass")
    return int.from_bytes(hashlib.blake2b(text, digest_size=4).digest(), "big")


def saturate(words: Sequence[str], mean: float) -> dict[str, float]:
    """Return term → what BM25 makes of how often it stands among the words of a field.

    ``mean`` is the length of the field in other cards, 0 where it is not known.
    """
    norm = K1 * (1 - B + B * len(words) / (mean or len(words) or 1))
    return {term: n * (K1 + 1) / (n + norm) for term, n in Counter(words).items()}


def build_vector(
    fields: Mapping[str, str], means: Mapping[str, float]
) -> tuple[list[int], list[float]]:
    """Return dimensions and values of a card; ``fields`` maps a field to its terms in one text."""
    values: dict[int, float] = defaultdict(float)
    for field, text in fields.items():
        for term, gain in saturate(text.split(), means.get(field, 0.0)).items():
            values[find_dimension(field, term)] += gain
    return list(values), list(values.values())


def sum_up(hashes: Mapping[int, str]) -> int:
    """Return one number for a set of cards, each with its number and the hash of its content.

    It is a sum, so that a change is known from what changed alone.
    """
    return sum(
        int.from_bytes(hashlib.blake2b(f"{n} {text}".encode(), digest_size=16).digest(), "big")
        for n, text in hashes.items()
    )

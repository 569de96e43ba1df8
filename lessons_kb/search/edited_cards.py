"""An engine with a few cards edited since its last commit: a search need not wait for the disk."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import log

from lessons_kb.model import FIELDS
from lessons_kb.search.engine_protocol import (
    K1,
    B,
    Engine,
    join_pairs,
    join_terms,
    order_hits,
    plain_term,
)

Terms = Mapping[str, Sequence[str]]
"""Field → its terms in order."""

_NEIGHBOURS = 8


class Overlay:
    """The reading half of an ``Engine``; ``edited`` maps numbers it holds to their new terms.

    An edited card scores what it would after a commit, but that the statistics of all cards (in
    how many a term stands, the mean length) are still those of the last one.
    """

    def __init__(self, engine: Engine, edited: Mapping[int, Terms]) -> None:
        self._engine = engine
        self._edited = {
            number: {
                field: join_terms(terms[field]).split() for field in FIELDS if terms.get(field)
            }
            for number, terms in edited.items()
        }

    def search(
        self, terms: Mapping[str, float], weights: Mapping[str, float], limit: int
    ) -> list[tuple[int, float]]:
        """Return the best ``limit`` numbers with scores, as ``Engine.search`` does."""
        found = self._engine.search(terms, weights, limit + len(self._edited) if limit > 0 else 0)
        hits = [hit for hit in found if hit[0] not in self._edited]
        scores = {n: self._score(fields, terms, weights) for n, fields in self._edited.items()}
        return order_hits([*hits, *((n, s) for n, s in scores.items() if s > 0)], max(limit, 0))

    def _score(
        self, fields: Terms, terms: Mapping[str, float], weights: Mapping[str, float]
    ) -> float:
        size, score = max(self._engine.size(), 1), 0.0
        for field, words in fields.items():
            weight = weights.get(field, 0.0)
            counts = {term: words.count(plain_term(term)) for term in terms}
            counts = {term: count for term, count in counts.items() if count and terms[term] > 0}
            if weight <= 0 or not counts:
                continue
            # A word that is new tells no mean; among its neighbours are some that do.
            frequencies, mean = self._engine.statistics(field, [*counts, *words[:_NEIGHBOURS]])
            norm = K1 * (1 - B + B * len(words) / (mean or len(words)))
            for term, count in counts.items():
                n = min(max(frequencies[term], 1), size)
                idf = log(1 + (size - n + 0.5) / (n + 0.5))
                score += weight * terms[term] * idf * count * (K1 + 1) / (count + norm)
        return score

    def document_frequencies(self, terms: Iterable[str]) -> dict[str, int]:
        """Return in how many cards' ``body`` each term stood at the last commit.

        1 for one that stands in edited cards alone: a search asks for no word that is nowhere.
        """
        found = self._engine.document_frequencies(terms)
        new = [term for term, count in found.items() if not count]
        edited = {word for fields in self._edited.values() for word in fields.get("body", ())}
        return found | {term: 1 for term in new if plain_term(term) in edited}

    def find_terms(
        self, numbers: Iterable[int], terms: Iterable[str]
    ) -> dict[int, dict[str, tuple[str, ...]]]:
        """Return, for each number that exists, field → those of the terms that stand in it."""
        asked, here = list(terms), set(numbers)
        found = self._engine.find_terms(here - self._edited.keys(), asked)
        for number in here & self._edited.keys():
            words = {field: set(words) for field, words in self._edited[number].items()}
            standing = {
                field: tuple(term for term in asked if plain_term(term) in words[field])
                for field in words
            }
            found[number] = {field: terms for field, terms in standing.items() if terms}
        return found

    def count_phrases(
        self, numbers: Iterable[int], pairs: Sequence[tuple[str, str]]
    ) -> dict[int, int]:
        """Return, for each number that exists, how many of the pairs stand in its ``body`` so."""
        asked, here = join_pairs(pairs), set(numbers)
        found = self._engine.count_phrases(here - self._edited.keys(), pairs)
        for number in here & self._edited.keys():
            body = f" {' '.join(self._edited[number].get('body', ()))} "
            found[number] = sum(phrase in body for _first, _second, phrase in asked)
        return found

    def lengths(self, numbers: Iterable[int]) -> dict[int, dict[str, int]]:
        """Return, for each number that exists, field → how many terms it holds, if any."""
        here = set(numbers)
        found = self._engine.lengths(here - self._edited.keys())
        for number in here & self._edited.keys():
            found[number] = {field: len(words) for field, words in self._edited[number].items()}
        return found

    def size(self) -> int:
        """Return the number of live cards."""
        return self._engine.size()

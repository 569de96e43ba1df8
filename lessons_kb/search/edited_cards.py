"""An engine with a few cards edited since its last commit: a search need not wait for the disk."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from lessons_kb.model import FIELDS
from lessons_kb.search.engine_protocol import (
    K1,
    B,
    CardTerms,
    Engine,
    idf,
    join_terms,
    order_hits,
    plain_term,
    read_terms,
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
            number: read_terms({field: join_terms(terms.get(field, ())) for field in FIELDS})
            for number, terms in edited.items()
        }

    def search(
        self, terms: Mapping[str, float], weights: Mapping[str, float], limit: int
    ) -> list[tuple[int, float]]:
        """Return the best ``limit`` numbers with scores, as ``Engine.search`` does."""
        found = self._engine.search(terms, weights, limit + len(self._edited) if limit > 0 else 0)
        hits = [hit for hit in found if hit[0] not in self._edited]
        scores = [(n, self._score(card, terms, weights)) for n, card in self._edited.items()]
        return order_hits([*hits, *(hit for hit in scores if hit[1] > 0)], max(limit, 0))

    def _score(
        self, card: CardTerms, terms: Mapping[str, float], weights: Mapping[str, float]
    ) -> float:
        size, score = max(self._engine.size(), 1), 0.0
        for field, text in card.items():
            weight, words = weights.get(field, 0.0), text.split()
            shared = [t for t, asked in terms.items() if asked > 0 and plain_term(t) in words]
            if weight <= 0 or not shared:
                continue
            # A word that is new tells no mean; among its neighbours are some that do.
            frequencies, mean = self._engine.statistics(field, [*shared, *words[:_NEIGHBOURS]])
            norm = K1 * (1 - B + B * len(words) / (mean or len(words)))
            for term in shared:
                count, n = words.count(plain_term(term)), min(max(frequencies[term], 1), size)
                score += weight * terms[term] * idf(n, size) * count * (K1 + 1) / (count + norm)
        return score

    def document_frequencies(self, terms: Iterable[str]) -> dict[str, int]:
        """Return in how many cards' ``body`` each term stood at the last commit.

        1 for one that stands in edited cards alone: a search asks for no word that is nowhere.
        """
        found = self._engine.document_frequencies(terms)
        edited = [card.get("body", "") for card in self._edited.values()]
        return {
            term: count or int(any(f" {plain_term(term)} " in text for text in edited))
            for term, count in found.items()
        }

    def documents(self, numbers: Iterable[int]) -> dict[int, CardTerms]:
        """Return the terms of each number that exists."""
        here = set(numbers)
        found = self._engine.documents(here - self._edited.keys())
        return found | {number: self._edited[number] for number in here & self._edited.keys()}

    def size(self) -> int:
        """Return the number of live cards."""
        return self._engine.size()

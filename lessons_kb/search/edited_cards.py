"""An engine with a few cards edited since its last commit: a search need not wait for the disk."""

from __future__ import annotations

from collections import Counter
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

_NEIGHBOURS = 20


class Overlay:
    """The reading half of an ``Engine``; ``edited`` maps numbers it holds to their new terms.

    An edited card scores about what it will after the commit: in how many cards a term stands is
    still what the last one says, and the mean length is that of the best of the others.
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
        asked = {plain_term(term): count for term, count in terms.items() if count > 0}
        near = self._engine.documents(n for n, _ in found[:_NEIGHBOURS]).values()
        size = max(self._engine.size(), 1)
        for number, card in self._edited.items():
            score = 0.0
            for field, text in card.items():
                words = text.split()
                counts = {term: n for term, n in Counter(words).items() if term in asked}
                known = self._engine.document_frequencies(counts, field)
                lengths = sum(one.get(field, " ").count(" ") - 1 for one in near)
                mean = lengths / len(near) if lengths else len(words)
                norm = K1 * (1 - B + B * len(words) / mean)
                for term, n in counts.items():
                    rarity = idf(min(max(known[term], 1), size), size)
                    gain = asked[term] * rarity * n * (K1 + 1) / (n + norm)
                    score += weights.get(field, 0.0) * gain
            hits += [(number, score)] if score > 0 else []
        return order_hits(hits, max(limit, 0))

    def document_frequencies(self, terms: Iterable[str], field: str = "body") -> dict[str, int]:
        """Return in how many cards' ``field`` each term stood at the last commit.

        1 for one that stands in edited cards alone: a search asks for no word that is nowhere.
        """
        found = self._engine.document_frequencies(terms, field)
        edited = [card.get(field, "") for card in self._edited.values()]
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

"""Scores of single terms, kept in memory by a process that searches the same commit again.

A score is a sum over terms. For 25 terms in six fields an index walks 150 lists on each search;
with each term's sum over the fields kept as arrays, as bm25s does, the same result costs a tenth.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from threading import Lock
from typing import TYPE_CHECKING, TypeAlias

from lessons_kb.search.query_terms import order_hits

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Impacts: TypeAlias = "tuple[NDArray[np.int64], NDArray[np.float64]]"
"""Numbers of the cards that hold a term, and what it adds to the score of each."""


MOST_CARDS = 20_000
"""In a larger index a common term takes too long to read."""
_MOST_KEPT = 4_000_000
"""Scores kept, 16 bytes each."""
_NEARLY = 1 - 1e-4
"""What is below this part of a score differs from it when both are rounded."""


def prepare() -> None:
    """Load now what the first search here loads: a tenth of a second no prompt need wait for."""
    import numpy as np  # noqa: F401


class TermScores:
    """What each term adds to the score of each card: one commit, one set of field weights.

    ``read`` returns the numbers (negative ones too) of all cards that hold a term, and its scores.
    Safe to share between threads.
    """

    def __init__(self, read: Callable[[str], tuple[Sequence[int], Sequence[float]]]) -> None:
        self._read = read
        self._known: dict[str, Impacts] = {}
        self._kept = 0
        self._highest = self._lowest = 0
        self._lock = Lock()

    def search(self, terms: Mapping[str, float], limit: int) -> list[tuple[int, float]]:
        """Return what ``Engine.search`` does."""
        with self._lock:
            return self._search(terms, limit)

    def _search(self, terms: Mapping[str, float], limit: int) -> list[tuple[int, float]]:
        import numpy as np

        weighed = [(self._get(term), weight) for term, weight in terms.items() if weight > 0]
        # Numbers below zero count from the end, as they do in a list.
        scores = np.zeros(self._highest + 1 - self._lowest)
        for (numbers, impacts), weight in weighed:
            scores[numbers] += weight * impacts
        least = np.partition(scores, -limit)[-limit] if len(scores) > limit else 0.0
        best = np.flatnonzero(scores >= least * _NEARLY if least > 0 else scores)
        found = [
            (place if place <= self._highest else place - len(scores), score)
            for place, score in zip(best.tolist(), scores[best].tolist(), strict=True)
        ]
        return order_hits(found, limit)

    def _get(self, term: str) -> Impacts:
        known = self._known.get(term)
        return self._learn(term) if known is None else known

    def _learn(self, term: str) -> Impacts:
        import numpy as np

        numbers, scores = self._read(term)
        impacts = (np.array(numbers, dtype=np.int64), np.array(scores, dtype=np.float64))
        while self._known and self._kept + len(numbers) > _MOST_KEPT:
            oldest = next(iter(self._known))
            self._kept -= len(self._known.pop(oldest)[0])
        self._known[term] = impacts
        self._kept += len(numbers)
        self._highest = max(self._highest, max(numbers, default=0))
        self._lowest = min(self._lowest, min(numbers, default=0))
        return impacts

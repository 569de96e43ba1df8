"""BM25 over the live cards of an index that still counts its deleted ones.

tantivy takes document counts, document frequencies and mean lengths over everything that a segment
holds, deleted cards included, and estimates lengths when it merges segments. With its figures the
scores of two indexes of the same files would depend on what was edited before.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Mapping

from lessons_kb.search.engine_protocol import K1, B, CardTerms
from lessons_kb.values import frozen

FieldCounts = dict[str, Counter[str]]
"""Field → term → in how many cards."""


@frozen
class LiveStatistics:
    """What BM25 needs to know of all live cards together."""

    size: int
    """Live cards."""
    lengths: Mapping[str, int]
    """Field → terms in all live cards."""
    changes: tuple[FieldCounts, ...] = ()
    """What to add to the document frequencies of the index; deleted cards count below zero."""

    def count_cards(self, field: str, term: str, indexed: int) -> int:
        """Return in how many live cards a term stands; ``indexed`` is the index's own figure."""
        for counts in self.changes:
            indexed += counts[field][term]
        return max(indexed, 0)

    def mean_length(self, field: str) -> float:
        """Return the mean length of a field, 0 where it is empty everywhere."""
        return self.lengths.get(field, 0) / self.size if self.size else 0.0

    def replace_cards(self, old: Iterable[CardTerms], new: Iterable[CardTerms]) -> LiveStatistics:
        """Return the statistics after some cards of the index got other terms."""
        lengths = dict(self.lengths)
        size = self.size
        counts: FieldCounts = {field: Counter() for field in lengths}
        for sign, cards in ((-1, old), (1, new)):
            for card in cards:
                size += sign
                for field, text in card.items():
                    terms = text.split()
                    lengths[field] += sign * len(terms)
                    add_terms(counts[field], terms, sign)
        return LiveStatistics(size=size, lengths=lengths, changes=(*self.changes, counts))


def add_terms(counts: Counter[str], terms: Iterable[str], sign: int) -> None:
    """Count a card's terms once each, or take them off."""
    for term in set(terms):
        counts[term] += sign


def score_card(
    card: CardTerms, gains: Mapping[str, Mapping[str, float]], statistics: LiveStatistics
) -> float:
    """Return the BM25 score of a card, 0 if it holds none of the terms.

    ``gains`` maps field and term to weight times idf, and decides the order of adding.
    """
    score = 0.0
    for field, by_term in gains.items():
        terms = card.get(field, "").split()
        # Most words of a card are not asked for: to count them all would take four times as long.
        counts = Counter(filter(by_term.__contains__, terms))
        if not counts:
            continue
        share = _store_length(len(terms)) / statistics.mean_length(field)
        norm = K1 * (1 - B + B * share)
        for term, gain in by_term.items():
            count = counts.get(term, 0)
            if count:
                score += gain * count * (K1 + 1) / (count + norm)
    return score


_FREE = 24
"""Of the 256 lengths that fit in a byte so many, and 8 more, are steps of one."""


def _read_stored_length(code: int) -> int:
    """Return the length that a byte stands for: a mantissa of four bits, shifted.

    https://github.com/quickwit-oss/tantivy/blob/main/src/fieldnorm/mod.rs
    """
    if code < _FREE:
        return code
    shift, mantissa = divmod(code - _FREE, 8)
    return _FREE + (mantissa if shift == 0 else (mantissa + 8) << (shift - 1))


_STORED_LENGTHS = tuple(_read_stored_length(code) for code in range(256))


def _store_length(length: int) -> int:
    """Return the length that tantivy keeps of a field: the next smaller one that it can store."""
    return _STORED_LENGTHS[bisect_right(_STORED_LENGTHS, length) - 1]

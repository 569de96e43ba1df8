"""BM25 over the live cards of an index that still counts its deleted ones.

tantivy counts documents, document frequencies and mean lengths over everything in a segment,
including deleted cards, and estimates lengths when it merges segments. With these numbers, the
scores of two indexes of the same files would depend on earlier edits.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Mapping

from lessons_kb.search.engine_protocol import K1, B, CardTerms
from lessons_kb.values import frozen

FieldCounts = dict[str, Counter[str]]
"""A mapping from field and term to the number of cards."""


@frozen
class LiveStatistics:
    """The statistics of all live cards that BM25 needs."""

    size: int
    """The number of live cards."""
    lengths: Mapping[str, int]
    """A mapping from each field to the number of its terms in all live cards."""
    changes: tuple[FieldCounts, ...] = ()
    """The numbers to add to the document frequencies of the index, negative for deleted cards."""

    def count_cards(self, field: str, term: str, indexed: int) -> int:
        """Return the number of live cards with a term. ``indexed`` is the index's own number."""
        for counts in self.changes:
            indexed += counts[field][term]
        return max(indexed, 0)

    def mean_length(self, field: str) -> float:
        """Return the mean length of a field, in terms; 0 if the field is empty in all cards."""
        return self.lengths.get(field, 0) / self.size if self.size else 0.0

    def replace_cards(self, old: Iterable[CardTerms], new: Iterable[CardTerms]) -> LiveStatistics:
        """Return the statistics with the terms of some cards replaced."""
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
    """Add ``sign`` to the count of each distinct term of a card."""
    for term in set(terms):
        counts[term] += sign


def score_card(
    card: CardTerms, gains: Mapping[str, Mapping[str, float]], statistics: LiveStatistics
) -> float:
    """Return the BM25 score of a card, which is 0 if the card contains none of the terms.

    ``gains`` maps field and term to weight times idf. Its order is the order of addition.
    """
    score = 0.0
    for field, by_term in gains.items():
        terms = card.get(field, "").split()
        # Most words of a card are not in the query. Counting all of them would take four times as
        # long. A Counter takes longer to create than these few words take to count.
        counts: dict[str, int] = {}
        for term in filter(by_term.__contains__, terms):
            counts[term] = counts.get(term, 0) + 1
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
"""The byte codes below this number, and the next 8, represent consecutive lengths."""


def _read_stored_length(code: int) -> int:
    """Return the length that a byte code represents: a shifted mantissa of four bits.

    https://github.com/quickwit-oss/tantivy/blob/main/src/fieldnorm/mod.rs
    """
    if code < _FREE:
        return code
    shift, mantissa = divmod(code - _FREE, 8)
    return _FREE + (mantissa if shift == 0 else (mantissa + 8) << (shift - 1))


_STORED_LENGTHS = tuple(_read_stored_length(code) for code in range(256))


def _store_length(length: int) -> int:
    """Return the length that tantivy stores for a field.

    It is the largest possible length that is not above the true length.
    """
    return _STORED_LENGTHS[bisect_right(_STORED_LENGTHS, length) - 1]

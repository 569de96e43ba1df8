"""What every text index can do, and the constants of BM25 that all of them share."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol

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

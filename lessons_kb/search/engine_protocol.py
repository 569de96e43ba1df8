"""The protocol of a text index, and the parts of BM25 that all engines share."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import pairwise
from math import log
from typing import Any, Protocol

from lessons_kb.errors import IndexBroken, IndexBusy, StorageError
from lessons_kb.model import FIELDS

K1 = 1.2
"""The saturation of term frequency."""
B = 0.75
"""The length normalization: the degree to which a long field lowers the score."""

TIE = 5e-6
"""The relative difference below which two scores are equal. The same sum in another order, or in
single precision, differs by less."""

CardTerms = Mapping[str, str]
"""A mapping from each field to its terms in order, each between two spaces. A search for a few
terms in such a text takes a tenth of the time of building a set. Empty fields are left out."""

Terms = Sequence[str] | str
"""The terms of a field in order, as a sequence or as one text like in `CardTerms`."""


def idf(n: int, size: int) -> float:
    """Return Lucene's inverse document frequency of a term in ``n`` of ``size`` documents."""
    return log(1 + (max(size - n, 0) + 0.5) / (n + 0.5))


class Reader(Protocol):
    """The part of an index that a search uses; see ``Engine``."""

    def search(
        self, terms: Mapping[str, float], weights: Mapping[str, float], limit: int
    ) -> list[tuple[int, float]]:
        """Return the best ``limit`` numbers with their scores, best first.

        Equal scores are ordered by number. ``terms`` maps a term to its weight in the query, and
        ``weights`` maps a field to its weight. The score is the sum, over terms and fields, of the
        product of the two weights and BM25 with `idf`. Documents without a match are not returned.
        """

    def document_frequencies(self, terms: Iterable[str], field: str = "body") -> dict[str, int]:
        """Return a mapping from each term to the number of documents with it in ``field``.

        Terms without a document have the number 0.
        """

    def documents(self, numbers: Iterable[int]) -> dict[int, CardTerms]:
        """Return the terms of the document with each number, if it exists."""

    def size(self) -> int:
        """Return the number of live documents."""


class Engine(Reader, Protocol):
    """A BM25 index over documents, which have a number and a list of terms per field.

    The caller chooses the numbers: positive for a card and negative for a note. The fields are
    those of ``model.FIELDS``. A term may be any text, in which white space is replaced by ``_``.
    Searches use the last commit that this process has read (see ``reload``).

    Raises IndexBroken if the directory cannot be used. The caller must then delete it, open it with
    ``create=True`` and add every card again. Raises IndexBusy if another process is writing, and
    StorageError or OSError if the files cannot be read or written.
    """

    def update(
        self,
        added: Iterable[tuple[int, Mapping[str, Terms]]],
        removed: Iterable[int] = (),
    ) -> None:
        """Commit these changes atomically. A document with an existing number is replaced."""

    def needs_compaction(self) -> bool:
        """Return whether `compact` is worthwhile because of the number of deleted documents.

        An engine that stores no deleted documents inherits this method.
        """
        return False

    def compact(self) -> None:
        """Remove deleted documents, in one commit (about 0.2 ms per card)."""

    def stamp(self) -> str:
        """Return a text that identifies the last commit and the data stored with it."""

    def verify(self, stamp: str, *, whole: bool = True) -> None:
        """Raise IndexBroken unless the stored data is that of the commit ``stamp`` or a later one.

        ``whole`` reads all data and detects any changed byte (about 1 ms per megabyte).
        """

    def reload(self) -> None:
        """Read the latest commit of any process."""

    def with_edits(self, edited: Mapping[int, CardTerms]) -> Reader:
        """Return a view of this index in which the ``edited`` cards are replaced.

        A search of the view has exactly the results of a search after the commit, without a wait
        for the disk.
        """

    def close(self) -> None:
        """Release files and memory. No other method may be called afterwards."""


def make_folder(directory: str, name: str, *, create: bool) -> None:
    """Create the folder of an index unless it contains the file ``name``.

    Raises IndexBroken if there is no index and ``create`` is false, and StorageError if the folder
    cannot be created.
    """
    if os.path.isfile(os.path.join(directory, name)):
        return
    if not create:
        raise IndexBroken(f"no index in {directory}; rebuild it with `lessons index`")
    try:
        os.makedirs(directory, exist_ok=True)
    except OSError as error:
        raise StorageError(f"cannot create {directory}: {error.strerror}") from None


def busy_error(directory: str) -> IndexBusy:
    """Return the error for an index that another process is writing."""
    return IndexBusy(
        f"another process is writing the index in {directory}; "
        "try again in a moment; until then searches use the previous index"
    )


def refused_error(directory: str, why: object) -> StorageError:
    """Return the error for a directory in which the index cannot be read or written."""
    fix = "free space or make it writable"
    return StorageError(f"cannot use the index in {directory}: {why}; {fix}")


def broken_error(directory: str, error: BaseException) -> IndexBroken:
    """Return the error for a directory without a usable index."""
    reason = next(iter(str(error).splitlines()), type(error).__name__)[:200]
    fix = "rebuild it with `lessons index`"
    return IndexBroken(f"the index in {directory} cannot be used ({reason}); {fix}")


def plain_term(term: str) -> str:
    """Return a term with ``_`` in place of white space; "" if it is only white space."""
    return "_".join(term.split())


def join_terms(terms: Terms) -> str:
    """Return the terms as one text, separated by single spaces."""
    if isinstance(terms, str):
        return terms.strip(" ")
    joined = " ".join(terms)
    if len(joined.split()) == len(terms):
        return joined
    return " ".join(filter(None, map(plain_term, terms)))


def make_card_terms(fields: Mapping[str, Terms]) -> CardTerms:
    """Return the terms of a card by field, in the form of `Reader.documents`."""
    return read_terms({field: join_terms(fields.get(field, ())) for field in FIELDS})


def read_terms(texts: Mapping[str, str]) -> CardTerms:
    """Return the terms of a card whose fields were joined by `join_terms`."""
    return {field: f" {text} " for field in FIELDS if (text := texts.get(field))}


def count_terms(card: CardTerms) -> dict[str, int]:
    """Return a mapping from each field to the number of its terms."""
    return {field: text.count(" ") - 1 for field, text in card.items()}


def find_terms(card: CardTerms, terms: Iterable[tuple[str, str]]) -> dict[str, tuple[str, ...]]:
    """Return a mapping from each field to those of the terms that occur in it.

    ``terms`` are pairs of a term and its `plain_term`.
    """
    spaced_terms = [(term, f" {plain} ") for term, plain in terms]
    terms_by_field: dict[str, tuple[str, ...]] = {}
    for field, text in card.items():
        present = tuple([term for term, spaced in spaced_terms if spaced in text])
        if present:
            terms_by_field[field] = present
    return terms_by_field


def count_phrases(card: CardTerms, pairs: Iterable[tuple[str, str]]) -> int:
    """Return the number of pairs of plain terms that are neighbours in the ``body`` of a card."""
    text = card.get("body", "")
    return sum([f" {first} {second} " in text for first, second in pairs])


def fetch_with_ties(
    fetch: Callable[[int], list[tuple[Any, float]]], limit: int
) -> list[tuple[Any, float]]:
    """Return at least the best ``limit`` hits and all hits that tie with the last of them.

    Worse hits may follow, so the caller cuts the result (see `order_hits`). ``limit`` is at least
    1. ``fetch(n)`` returns the best n hits, best first. Hits that tie with its last one may be
    missing.
    """
    most = limit + 8
    while True:
        hits = fetch(most)
        if len(hits) < most:
            return hits
        if is_clearly_less(hits[-1][1], hits[limit - 1][1]):
            return hits
        most *= 4


def is_clearly_less(score: float, other: float) -> bool:
    """Return whether a score is less than ``other`` by more than the share _SLACK.

    If so, the hits after one with this score cannot reach ``other``.
    """
    return score < other * (1 - _SLACK)


_SLACK = 0.002
"""The relative difference from which a score is clearly less. It covers rounding, and the blocks
that tantivy skips because of an outdated mean length."""


def number_ties(scores: Sequence[float]) -> list[int]:
    """Return the rank of each score. The scores are in descending order.

    Equal scores have the same place. Scores are not rounded, since two equal scores may be on
    different sides of a rounding step.
    """
    places: list[int] = []
    place = 0
    for higher, score in pairwise([*scores[:1], *scores]):
        if score < higher - abs(higher) * TIE:
            place += 1
        places.append(place)
    return places


def order_hits(hits: Iterable[tuple[int, float]], limit: int) -> list[tuple[int, float]]:
    """Return the best ``limit`` hits, best first. Equal scores are ordered by number."""
    falling = sorted(hits, key=lambda hit: -hit[1])
    places = number_ties([score for _number, score in falling])
    placed = zip(places, falling, strict=True)
    ordered = sorted(placed, key=lambda pair: (pair[0], pair[1][0]))
    return [hit for _place, hit in ordered[:limit]]


def check_stamp(found: str, expected: str) -> None:
    """Raise IndexBroken for an older commit, or for another commit with the expected number.

    A stamp consists of the number of a commit, a space and a digest. A later commit is valid,
    because the engine commits before the catalogue with the stamp. If the process is killed in
    between, the catalogue does not commit.
    """
    number, _, digest = found.partition(" ")
    expected_number, _, expected_digest = expected.partition(" ")
    is_older = int(number) < int(expected_number)
    if is_older or (number == expected_number and digest != expected_digest):
        raise IndexBroken(f"the index holds commit {number}, not {expected_number}")

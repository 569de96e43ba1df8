"""What every text index can do, and the parts of BM25 that all of them share."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import pairwise
from math import log
from typing import Any, Protocol

from lessons_kb.errors import IndexBroken, IndexBusy, StorageError
from lessons_kb.model import FIELDS

K1 = 1.2
"""Saturation of term frequency."""
B = 0.75
"""How much a long field is held against a card."""

TIE = 5e-6
"""Relative difference up to which two neighbouring scores are equal: the same sum, added in another
order or in single precision, differs by less."""

CardTerms = Mapping[str, str]
"""Field → its terms in order, each between two blanks: to look for a few of them in such a text
takes a tenth of the time of a set made of it. Empty fields are left out."""

Terms = Sequence[str] | str
"""The terms of a field in order: one by one, or in one text as in `CardTerms`."""


def idf(n: int, size: int) -> float:
    """Return the idf of Lucene for a term that stands in ``n`` of ``size`` documents."""
    return log(1 + (max(size - n, 0) + 0.5) / (n + 0.5))


class Reader(Protocol):
    """What a search asks of an index; see ``Engine``."""

    def search(
        self, terms: Mapping[str, float], weights: Mapping[str, float], limit: int
    ) -> list[tuple[int, float]]:
        """Return the best ``limit`` numbers with scores, best first, ties by number.

        ``terms`` maps a term to its weight in the query, ``weights`` a field to its weight; the
        score is the sum over both of weight times weight times BM25, with `idf`. What does not
        match is not returned.
        """

    def document_frequencies(self, terms: Iterable[str], field: str = "body") -> dict[str, int]:
        """Return in how many documents' ``field`` each term stands, 0 included."""

    def documents(self, numbers: Iterable[int]) -> dict[int, CardTerms]:
        """Return the terms of each number that exists."""

    def size(self) -> int:
        """Return the number of live documents."""


class Engine(Reader, Protocol):
    """A BM25 index over documents that are given as ready terms, by number and field.

    Numbers are chosen by the caller, above 0 for a card and below it for a note; fields are those
    of ``model.FIELDS``. A term is any text without white space (what white space it has is replaced
    by ``_``). What ``search`` and the other readers see is the last commit seen by this process
    (see ``reload``).

    Raises IndexBroken where the directory cannot be used (delete it, open it with ``create=True``
    and add every card again), IndexBusy where another process writes, else StorageError or OSError
    where the disk refuses.
    """

    def update(
        self,
        added: Iterable[tuple[int, Mapping[str, Terms]]],
        removed: Iterable[int] = (),
    ) -> None:
        """Commit these changes at once or not at all; a number that exists is replaced."""

    def needs_compaction(self) -> bool:
        """Tell whether so much of what is stored is deleted that the idf is off.

        An engine that keeps nothing of what is deleted inherits this.
        """
        return False

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

    def with_edits(self, edited: Mapping[int, CardTerms]) -> Reader:
        """Return this index as it will be once these cards, which it holds, are replaced.

        A search need not wait for the disk: it answers exactly as after the commit.
        """

    def close(self) -> None:
        """Let go of files and memory; no other method may be called afterwards."""


def make_folder(directory: str, name: str, *, create: bool) -> None:
    """Make the folder of an index unless it holds its file ``name``; IndexBroken, StorageError."""
    if os.path.isfile(os.path.join(directory, name)):
        return
    if not create:
        raise IndexBroken(f"no index in {directory}; rebuild it with `lessons index`")
    try:
        os.makedirs(directory, exist_ok=True)
    except OSError as error:
        raise StorageError(f"cannot create {directory}: {error.strerror}") from None


def tell_busy(directory: str) -> IndexBusy:
    """Return the error of who finds another process writing."""
    return IndexBusy(
        f"another process is writing the index in {directory}; "
        "try again in a moment; until then searches use the previous index"
    )


def tell_refused(directory: str, why: object) -> StorageError:
    """Return the error of who is refused by the disk."""
    fix = "free space or make it writable"
    return StorageError(f"cannot use the index in {directory}: {why}; {fix}")


def tell_broken(directory: str, error: BaseException) -> IndexBroken:
    """Return the error of who finds a directory unusable."""
    why = next(iter(str(error).splitlines()), type(error).__name__)[:200]
    fix = "rebuild it with `lessons index`"
    return IndexBroken(f"the index in {directory} cannot be used ({why}); {fix}")


def plain_term(term: str) -> str:
    """Return the term without white space, "" if it is nothing else."""
    return "_".join(term.split())


def join_terms(terms: Terms) -> str:
    """Return the terms parted by single spaces, one piece for each term."""
    if isinstance(terms, str):
        return terms.strip(" ")
    joined = " ".join(terms)
    if len(joined.split()) == len(terms):
        return joined
    return " ".join(filter(None, map(plain_term, terms)))


def make_card_terms(fields: Mapping[str, Terms]) -> CardTerms:
    """Return the terms of a card, by field and in order, as `Reader.documents` does."""
    return read_terms({field: join_terms(fields.get(field, ())) for field in FIELDS})


def read_terms(texts: Mapping[str, str]) -> CardTerms:
    """Return the terms of a card whose fields were joined by `join_terms`."""
    return {field: f" {text} " for field in FIELDS if (text := texts.get(field))}


def count_terms(card: CardTerms) -> dict[str, int]:
    """Return field → how many terms it holds."""
    return {field: text.count(" ") - 1 for field, text in card.items()}


def find_terms(card: CardTerms, terms: Iterable[tuple[str, str]]) -> dict[str, tuple[str, ...]]:
    """Return field → those of the terms that stand in it; ``terms`` as (term, `plain_term`)."""
    asked = list(terms)
    wanted = {plain for _term, plain in asked}
    found: dict[str, tuple[str, ...]] = {}
    for field, text in card.items():
        words = wanted.intersection(text.split())
        if words:
            found[field] = tuple([term for term, plain in asked if plain in words])
    return found


def count_phrases(card: CardTerms, pairs: Iterable[tuple[str, str]]) -> int:
    """Return how many of the pairs of plain terms stand side by side in the ``body`` of a card."""
    text = card.get("body", "")
    return sum([f" {first} {second} " in text for first, second in pairs])


def find_best(
    fetch: Callable[[int], list[tuple[Any, float]]], limit: int
) -> list[tuple[Any, float]]:
    """Return the best hits down to the last that ties with the place ``limit``.

    ``fetch`` returns so many of them, best first, and may have left out others of equal score.
    """
    most = limit + 8
    while True:
        found = fetch(most)
        if len(found) < most:
            return found
        if is_clearly_less(found[-1][1], found[limit - 1][1]):
            return found
        most *= 4


def is_clearly_less(score: float, other: float) -> bool:
    """Return whether the worst candidate is so bad that what follows it cannot reach ``other``."""
    return score < other * (1 - _SLACK)


_SLACK = 0.002
"""Share by which the last hit that was fetched has to be worse than the last one that is wanted.
It covers rounding, and blocks that tantivy skips by the mean length they were written with."""


def number_ties(scores: Sequence[float]) -> list[int]:
    """Return a place for each of some scores in falling order; equal ones share a place.

    Rounding would part two equal scores wherever a step of the rounding lies between them.
    """
    places: list[int] = []
    place = 0
    for higher, score in pairwise([*scores[:1], *scores]):
        if score < higher - abs(higher) * TIE:
            place += 1
        places.append(place)
    return places


def order_hits(hits: Iterable[tuple[int, float]], limit: int) -> list[tuple[int, float]]:
    """Return the best hits first, those of equal score by number."""
    falling = sorted(hits, key=lambda hit: -hit[1])
    places = number_ties([score for _number, score in falling])
    placed = zip(places, falling, strict=True)
    ordered = sorted(placed, key=lambda pair: (pair[0], pair[1][0]))
    return [hit for _place, hit in ordered[:limit]]


def check_stamp(found: str, expected: str) -> None:
    """Raise IndexBroken for an older commit, or for another one with the number expected.

    A stamp is the number of a commit, a blank, and a digest. A later commit is right: the index
    commits first, and the catalogue that knows its stamp a moment later or, after a kill, never.
    """
    number, _, digest = found.partition(" ")
    right, _, same = expected.partition(" ")
    if int(number) < int(right) or (number == right and digest != same):
        raise IndexBroken(f"the index holds commit {number}, not {right}")

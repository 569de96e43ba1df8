"""What every text index can do, and the parts of BM25 that all of them share."""

from __future__ import annotations

import hashlib
import os
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from math import log
from typing import Any, Protocol

from lessons_kb.errors import IndexBroken, IndexBusy, StorageError
from lessons_kb.model import FIELDS

K1 = 1.2
"""Saturation of term frequency."""
B = 0.75
"""How much a long field is held against a card."""

DIGITS = ".5g"
"""How a score counts for order: sums of floats differ in their last digits."""

CardTerms = Mapping[str, str]
"""Field → its terms in order, each between two blanks: to look for a few of them in such a text
takes a tenth of the time of a set made of it. Empty fields are left out."""


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
        added: Iterable[tuple[int, Mapping[str, Sequence[str]]]],
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


def join_terms(terms: Sequence[str]) -> str:
    """Return the terms parted by single spaces, one piece for each term."""
    joined = " ".join(terms)
    if len(joined.split()) == len(terms):
        return joined
    return " ".join(filter(None, map(plain_term, terms)))


def read_terms(texts: Mapping[str, str]) -> CardTerms:
    """Return the terms of a card whose fields were joined by `join_terms`."""
    return {field: f" {text} " for field in FIELDS if (text := texts.get(field))}


def count_terms(card: CardTerms) -> dict[str, int]:
    """Return field → how many terms it holds."""
    return {field: text.count(" ") - 1 for field, text in card.items()}


def find_terms(card: CardTerms, terms: Iterable[tuple[str, str]]) -> dict[str, tuple[str, ...]]:
    """Return field → those of the terms that stand in it; ``terms`` as (term, `plain_term`)."""
    found: dict[str, tuple[str, ...]] = {}
    for term, plain in terms:
        spaced = f" {plain} "
        for field, text in card.items():
            if spaced in text:
                found[field] = (*found.get(field, ()), term)
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
        if float(format(found[-1][1], DIGITS)) < float(format(found[limit - 1][1], DIGITS)):
            return found
        most *= 4


def order_hits(hits: Iterable[tuple[int, float]], limit: int) -> list[tuple[int, float]]:
    """Return the best hits first, those of equal score by number."""
    ordered = sorted([(-float(format(score, DIGITS)), n, score) for n, score in hits])
    return [(n, score) for _key, n, score in ordered[:limit]]


def check_stamp(found: str, expected: str) -> None:
    """Raise IndexBroken for an older commit, or for another one with the number expected.

    A stamp is the number of a commit, a blank, and a digest. A later commit is right: the index
    commits first, and the catalogue that knows its stamp a moment later or, after a kill, never.
    """
    number, _, digest = found.partition(" ")
    right, _, same = expected.partition(" ")
    if int(number) < int(right) or (number == right and digest != same):
        raise IndexBroken(f"the index holds commit {number}, not {right}")


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


_NEIGHBOURS = 20


class Overlay(Reader):
    """An engine with cards edited since its last commit: a search need not wait for the disk.

    ``edited`` maps numbers that the engine holds to their new terms, by field and in order.

    An edited card scores about what it will after the commit: in how many cards a term stands is
    still what the last one says, and the mean length is that of the best of the others.
    """

    def __init__(self, engine: Engine, edited: Mapping[int, Mapping[str, Sequence[str]]]) -> None:
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
                lengths = sum(one.get(field, " ").count(" ") - 1 for one in near)
                gains = saturate(text.split(), lengths / max(len(near), 1))
                gains = {term: gain for term, gain in gains.items() if term in asked}
                known = self._engine.document_frequencies(gains, field)
                for term, gain in gains.items():
                    rarity = idf(min(max(known[term], 1), size), size)
                    score += weights.get(field, 0.0) * asked[term] * rarity * gain
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
        """Return the number of live documents."""
        return self._engine.size()

"""How both engines treat the terms and scores they are given."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from lessons_kb.errors import IndexBroken
from lessons_kb.search.engine_protocol import rounded


def plain_term(term: str) -> str:
    """Return the term without white space, "" if it is nothing else."""
    return "_".join(term.split())


def join_terms(terms: Sequence[str]) -> str:
    """Return the terms parted by single spaces, one piece for each term."""
    joined = " ".join(terms)
    if len(joined.split()) == len(terms):
        return joined
    return " ".join(filter(None, map(plain_term, terms)))


def join_pairs(pairs: Iterable[tuple[str, str]]) -> list[tuple[str, str, str]]:
    """Return each pair as it is stored, and how it stands in a text of terms between blanks."""
    plain = [(plain_term(first), plain_term(second)) for first, second in pairs]
    return [(first, second, f" {first} {second} ") for first, second in plain if first and second]


def order_hits(hits: Iterable[tuple[int, float]], limit: int) -> list[tuple[int, float]]:
    """Return the best hits first, those of equal score by number."""
    return sorted(hits, key=lambda hit: (-rounded(hit[1]), hit[0]))[:limit]


def check_stamp(found: str, expected: str) -> None:
    """Raise IndexBroken for an older commit, or for another one with the number expected.

    A stamp is the number of a commit, a blank, and a digest. A later commit is right: the index
    commits first, and the catalogue that knows its stamp a moment later or, after a kill, never.
    """
    number, _, digest = found.partition(" ")
    right, _, same = expected.partition(" ")
    if int(number) < int(right) or (number == right and digest != same):
        raise IndexBroken(f"the index holds commit {number}, not {right}")

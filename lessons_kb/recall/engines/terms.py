"""How both engines treat the terms and scores they are given."""

from __future__ import annotations

from lessons_kb.recall.engine import rounded

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


def plain_term(term: str) -> str:
    """Return the term without white space, "" if it is nothing else."""
    return "_".join(term.split())


def join_terms(terms: Sequence[str]) -> str:
    """Return the terms parted by single spaces, one piece for each term."""
    joined = " ".join(terms)
    if len(joined.split()) == len(terms):
        return joined
    return " ".join(filter(None, map(plain_term, terms)))


def order_hits(hits: Iterable[tuple[int, float]], limit: int) -> list[tuple[int, float]]:
    """Return the best hits first, those of equal score by number."""
    return sorted(hits, key=lambda hit: (-rounded(hit[1]), hit[0]))[:limit]

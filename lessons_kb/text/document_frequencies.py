"""How common a term is anywhere, whatever one brain may hold."""

from __future__ import annotations

from functools import cache

from lessons_kb.data import read_table


@cache
def _shares() -> dict[str, float]:
    table = read_table("document_frequencies.txt")
    return {
        term: float(share)
        for share, lines in table.items()
        for line, _ in lines
        for term in line.split()
    }


def get_share(term: str) -> float | None:
    """Return the share of passages that hold a term, None for one that is not listed.

    A passage has about 150 terms; a term is written as the analyzer gives it.
    """
    return _shares().get(term)

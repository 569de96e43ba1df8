"""Which candidates count, and in what order: BM25 times what is known of the card."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from math import log, log2, prod

from lessons_kb.config import Ranking
from lessons_kb.model import Card, Hit, Query
from lessons_kb.search.engine_protocol import idf, rounded

_MOST_DOUBLINGS = 10
"""Beyond 1,024 occurrences a card grows no louder: counters can run away."""


def rank(
    candidates: Iterable[tuple[Card, float]],
    query: Query,
    ranking: Ranking,
    *,
    path_matches: Collection[str] = (),
) -> list[Hit]:
    """Return the candidates that may be given for this query, best first, at most its limit.

    Each candidate comes with its BM25 score; ``path_matches`` are the ids of cards whose globs
    match a file of the query. ``Hit.factors`` names each factor other than 1, in the order of
    multiplication. Left out are cards that are not active, of a kind not asked for, of another
    project (an unknown project is another than any), of other stages only, or, where the query
    names tags, without one of them. Equal scores are ordered by occurrences, then by the later
    ``last_seen``, then by id.
    """
    scored = []
    for card, bm25 in candidates:
        if _is_eligible(card, query):
            factors = _measure_factors(card, query, ranking, path_matches)
            scored.append((bm25 * prod([value for _, value in factors]), bm25, factors, card))
    scored.sort(key=lambda one: one[3].id)
    scored.sort(key=lambda one: one[3].last_seen or "", reverse=True)
    scored.sort(key=lambda one: (-rounded(one[0]), -one[3].occurrences))
    return [
        Hit(card=card, score=score, bm25=bm25, factors=factors)
        for score, bm25, factors, card in scored[: max(query.limit, 0)]
    ]


def reduce_terms(
    terms: Sequence[str], frequencies: Mapping[str, int], size: int, limit: int
) -> dict[str, float]:
    """Return the weights of a query's terms: 1 + ln of how often each stands there.

    Damped, so that a word that a log repeats cannot push out a rare one. Of the terms that stand
    in some card at most the ``limit`` most distinctive ones are kept, by weight times idf. Terms
    in no card (frequency 0) are all kept: they cost a search nothing, and the gate needs to know
    what no card covers.
    """
    weights = {term: 1 + log(count) for term, count in Counter(terms).items()}
    known = [term for term in weights if frequencies.get(term, 0)]
    if len(known) > limit:

        def information(term: str) -> float:
            return idf(frequencies[term], size) * weights[term]

        known = sorted(known, key=information, reverse=True)[:limit]
    kept = set(known)
    return {
        term: weight
        for term, weight in weights.items()
        if term in kept or not frequencies.get(term, 0)
    }


def _is_eligible(card: Card, query: Query) -> bool:
    return (
        card.status == "active"
        and card.kind in query.kinds
        and (card.project is None or _shares([card.project], [query.project or ""]))
        and not (query.stage and card.stages and not _shares([query.stage], card.stages))
        and not (query.tags and not _shares(query.tags, card.topics))
    )


def _shares(some: Iterable[str], others: Iterable[str]) -> bool:
    return not {name.casefold() for name in some}.isdisjoint(name.casefold() for name in others)


def _measure_factors(
    card: Card, query: Query, ranking: Ranking, paths: Collection[str]
) -> tuple[tuple[str, float], ...]:
    """Return the factors other than 1, in the order of multiplication."""
    severities = {"low": ranking.severity_low, "high": ranking.severity_high}
    evidences = {
        "evidenced": ranking.evidenced,
        "anecdotal": ranking.anecdotal,
        "disputed": ranking.disputed,
    }
    doublings = min(log2(max(card.occurrences, 1)), _MOST_DOUBLINGS)
    same_project = ranking.same_project if card.project else 1.0
    same_stage = ranking.same_stage if query.stage and card.stages else 1.0
    factors = (
        ("occurrence", 1 + ranking.occurrence * doublings),
        ("severity", severities.get(card.severity, ranking.severity_medium)),
        ("source", ranking.auto if card.source == "auto" else ranking.curated),
        ("evidence", evidences.get(card.evidence or "", 1.0)),
        ("scope", same_project * same_stage),
        ("path", ranking.path_match if card.id in paths else 1.0),
    )
    return tuple([factor for factor in factors if factor[1] != 1])

"""Which candidates count, and in what order: BM25 times what is known of the card."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
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
        if not _is_eligible(card, query):
            continue
        factors = tuple(
            [
                (name, value)
                for name, measure in _FACTORS
                if (value := measure(card, query, ranking, path_matches)) != 1
            ]
        )
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
        and (card.project is None or _same(card.project, query.project))
        and not (query.stage and card.stages and not _shares([query.stage], card.stages))
        and not (query.tags and not _shares(query.tags, card.topics))
    )


def _same(one: str, other: str | None) -> bool:
    return other is not None and one.casefold() == other.casefold()


def _shares(some: Iterable[str], others: Iterable[str]) -> bool:
    return not {name.casefold() for name in some}.isdisjoint(name.casefold() for name in others)


def _occurrence(card: Card, _query: Query, ranking: Ranking, _paths: Collection[str]) -> float:
    return 1 + ranking.occurrence * min(log2(max(card.occurrences, 1)), _MOST_DOUBLINGS)


def _severity(card: Card, _query: Query, ranking: Ranking, _paths: Collection[str]) -> float:
    return {
        "low": ranking.severity_low,
        "medium": ranking.severity_medium,
        "high": ranking.severity_high,
    }.get(card.severity, ranking.severity_medium)


def _source(card: Card, _query: Query, ranking: Ranking, _paths: Collection[str]) -> float:
    return ranking.auto if card.source == "auto" else ranking.curated


def _evidence(card: Card, _query: Query, ranking: Ranking, _paths: Collection[str]) -> float:
    return {
        "evidenced": ranking.evidenced,
        "anecdotal": ranking.anecdotal,
        "disputed": ranking.disputed,
    }.get(card.evidence or "", 1.0)


def _scope(card: Card, query: Query, ranking: Ranking, _paths: Collection[str]) -> float:
    project = ranking.same_project if card.project else 1.0
    stage = ranking.same_stage if query.stage and card.stages else 1.0
    return project * stage


def _path(card: Card, _query: Query, ranking: Ranking, paths: Collection[str]) -> float:
    return ranking.path_match if card.id in paths else 1.0


_FACTORS: tuple[tuple[str, Callable[[Card, Query, Ranking, Collection[str]], float]], ...] = (
    ("occurrence", _occurrence),
    ("severity", _severity),
    ("source", _source),
    ("evidence", _evidence),
    ("scope", _scope),
    ("path", _path),
)

"""Rank the candidates of a query: filter them, and multiply BM25 by the factors of each card."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from math import log, log2, prod
from operator import attrgetter

from lessons_kb.config import Ranking
from lessons_kb.model import Card, Hit, Query
from lessons_kb.search.engine_protocol import idf, number_ties
from lessons_kb.values import NamedTuple

_FACTORS = ("occurrence", "severity", "source", "evidence", "scope", "path")
"""The factors of a score, in the order of multiplication."""
_MOST_DOUBLINGS = 10
"""The maximum number of occurrences that raise a score (1,024), since a counter can be wrong."""


def rank(
    candidates: Iterable[tuple[Card, float]],
    query: Query,
    ranking: Ranking,
    *,
    path_matches: Collection[str] = (),
) -> list[Hit]:
    """Return the candidates that match the filters of a query, best first, at most its limit.

    Each candidate has its BM25 score, including similarity. ``path_matches`` are the ids of the
    cards whose globs match a file of the query. ``Hit.factors`` lists the factors other than 1, in
    the order of multiplication.

    The filters exclude cards that are not active, unless ``query.inactive``, and cards of another
    kind, of another project (also if the query has no project) or only of other stages. If the
    query has tags, they also exclude cards without any of these tags. Equal scores are ordered by
    occurrences, then by the later ``last_seen``, then by id.
    """
    project = (query.project or "").casefold()
    stage = (query.stage or "").casefold()
    tags = set(map(str.casefold, query.tags))
    scored = []
    for card, bm25 in candidates:
        if card.kind not in query.kinds or not (query.inactive or card.status == "active"):
            continue
        if card.project is not None and card.project.casefold() != project:
            continue
        if stage and card.stages and stage not in map(str.casefold, card.stages):
            continue
        if tags and tags.isdisjoint(map(str.casefold, card.topics)):
            continue
        doublings = min(log2(max(card.occurrences, 1)), _MOST_DOUBLINGS)
        same_project = ranking.same_project if card.project else 1.0
        same_stage = ranking.same_stage if stage and card.stages else 1.0
        factors = (
            1 + ranking.occurrence * doublings,
            getattr(ranking, f"severity_{card.severity}", ranking.severity_medium),
            ranking.auto if card.source == "auto" else ranking.curated,
            getattr(ranking, card.evidence or "", 1.0),
            same_project * same_stage,
            ranking.path_match if card.id in path_matches else 1.0,
        )
        score = bm25 * prod(factors)
        scored.append(_Scored(card=card, bm25=bm25, score=score, factors=factors))
    scored.sort(key=attrgetter("score"), reverse=True)
    places = number_ties([candidate.score for candidate in scored])
    ordered = list(zip(places, scored, strict=True))
    # Stable sorts, with the least important key first.
    ordered.sort(key=lambda pair: pair[1].card.id)
    ordered.sort(key=lambda pair: pair[1].card.last_seen or "", reverse=True)
    ordered.sort(key=lambda pair: (pair[0], -pair[1].card.occurrences))
    hits: list[Hit] = []
    for _place, best in ordered[: max(query.limit, 0)]:
        named = _name_factors(best.factors)
        hits.append(Hit(card=best.card, score=best.score, bm25=best.bm25, factors=named))
    return hits


class _Scored(NamedTuple):
    card: Card
    bm25: float
    score: float
    factors: tuple[float, ...]
    """In the order of ``_FACTORS``."""


def _name_factors(factors: Sequence[float]) -> tuple[tuple[str, float], ...]:
    """Return the names and values of those factors that change a score."""
    named = zip(_FACTORS, factors, strict=True)
    return tuple([(name, factor) for name, factor in named if factor != 1])


def protects_file(hit: Hit) -> bool:
    """Return whether the globs of the card match a file of the query."""
    return "path" in dict(hit.factors)


def reduce_terms(
    terms: Sequence[str], frequencies: Mapping[str, int], size: int, limit: int
) -> dict[str, float]:
    """Return a mapping from each term to its weight in a query: 1 + ln(number of occurrences).

    Because of the logarithm, a word that a log repeats does not displace a rare word. Of the terms
    that occur in cards, only the ``limit`` most distinctive are returned, by weight times idf. All
    terms that occur in no card (frequency 0) are returned, because they cost nothing in a search
    and the gate uses them.
    """
    weights = {term: 1 + log(count) for term, count in Counter(terms).items()}
    in_cards = [term for term in weights if frequencies.get(term, 0)]
    nats = {term: idf(frequencies[term], size) * weights[term] for term in in_cards}
    for term in sorted(in_cards, key=nats.__getitem__, reverse=True)[limit:]:
        del weights[term]
    return weights

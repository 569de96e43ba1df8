"""Which candidates count, and in what order: BM25 times what is known of the card."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from math import log, log2, prod
from operator import attrgetter
from typing import NamedTuple

from lessons_kb.config import Ranking
from lessons_kb.model import Card, Hit, Query
from lessons_kb.search.engine_protocol import idf, number_ties

_FACTORS = ("occurrence", "severity", "source", "evidence", "scope", "path")
"""In the order of multiplication."""
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

    Each candidate comes with its BM25 score, likeness in meaning added; ``path_matches`` are the
    ids of cards whose globs match a file of the query. ``Hit.factors`` names each factor other than
    1, in the order of multiplication. Left out are cards that are not active, of a kind not asked
    for, of another project (an unknown project is another than any), of other stages only, or,
    where the query names tags, without one of them. Equal scores are ordered by occurrences, then
    by the later ``last_seen``, then by id.
    """
    project, stage = (query.project or "").casefold(), (query.stage or "").casefold()
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
    places = number_ties([one.score for one in scored])
    ordered = list(zip(places, scored, strict=True))
    ordered.sort(key=lambda pair: pair[1].card.id)
    ordered.sort(key=lambda pair: pair[1].card.last_seen or "", reverse=True)
    ordered.sort(key=lambda pair: (pair[0], -pair[1].card.occurrences))
    best = [one for _place, one in ordered[: max(query.limit, 0)]]
    return [
        Hit(card=one.card, score=one.score, bm25=one.bm25, factors=_name_factors(one.factors))
        for one in best
    ]


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
    """Tell whether the card's globs match a file at hand, whatever the words of the prompt."""
    return "path" in dict(hit.factors)


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
    nats = {term: idf(frequencies[term], size) * weights[term] for term in known}
    for term in sorted(known, key=nats.__getitem__, reverse=True)[limit:]:
        del weights[term]
    return weights

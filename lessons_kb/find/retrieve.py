"""From a query to judged hits in one brain: engine → ranking → gate; hits of several merged."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from math import inf

from lessons_kb.brain.brain import Brain
from lessons_kb.ledger.effect import SUPPRESSED, find_harmful
from lessons_kb.model import FIELDS, KINDS, NOTE, Card, Hit, Query
from lessons_kb.relevance.background_prompts import guess_shares
from lessons_kb.relevance.gate import GateEvidence, judge
from lessons_kb.search.engine_protocol import Reader, count_phrases, find_terms
from lessons_kb.search.ranking import rank, reduce_terms
from lessons_kb.text.analyzer import analyze, find_neighbours
from lessons_kb.text.paths import find_paths
from lessons_kb.text.sentences import is_question, split_sentences
from lessons_kb.values import frozen, replace

_FIRST_FETCH = 32
"""Candidates asked of the engine at first; more only where too many of them are excluded."""


_MOST_PARTS = 8
"""A long prompt is looked at in so many parts: their number must not cost a log its time."""


_MOST_PAIRS = 400


_FUNCTION_WORD = 0.15
"""Guessed share from which a word says nothing beside another: one of four letters or fewer."""


@frozen
class Retrieved:
    """What one brain answers to a query."""

    hits: tuple[Hit, ...]
    """Judged, best first, at most the query's limit; those held back are among them."""
    frequencies: dict[str, int]
    """Document frequency of each term of the query."""
    size: int
    """Documents in the index."""


STILL_TEMPLATE = f"{SUPPRESSED}: it is still the template; `lessons edit` opens it"


def find(brain: Brain, query: Query) -> Retrieved:
    """Search one brain's last commit and judge what was found; called within ``Brain.read``."""
    engine, state = brain.reader, brain.state
    if engine is None or state is None or not (size := engine.size()):
        return Retrieved(hits=(), frequencies={}, size=0)
    settings, terms = brain.settings, analyze(query.text)
    frequencies = engine.document_frequencies(dict.fromkeys(terms))
    notes, cards_too = NOTE in query.kinds, not set(KINDS).isdisjoint(query.kinds)
    if not (state.cards and cards_too) and not (state.notes and notes):
        return Retrieved(hits=(), frequencies=frequencies, size=size)
    reduced = reduce_terms(terms, frequencies, size, settings.ranking.max_terms)
    # ``body`` holds what every other field holds: most words of a log stand in no card at all.
    in_cards = {term: weight for term, weight in reduced.items() if frequencies[term]}
    weights = {name: getattr(settings.ranking, name) for name in FIELDS}
    # Notes have numbers below zero: they are told apart before anything is read of them.
    least, most = (-inf if notes else 0), (inf if cards_too else 0)
    guarded = brain.guarding(query.paths) if query.paths else ()
    guarding = {n for n in guarded if least < n < most}
    nearness = brain.meaning.near(query.text) if brain.meaning else None
    limit, asked = max(query.limit, 1), _FIRST_FETCH
    while True:
        scored = engine.search(in_cards, weights, asked)
        scores = {n: score for n, score in scored if least < n < most}
        scores |= dict.fromkeys(guarding.difference(scores), 0.0)
        more: dict[int, float] = {}
        if nearness is not None:
            more = nearness.add_to(
                scores, (least, most), terms=reduced, frequencies=frequencies, size=size
            )
        cards = brain.cards(scores | more)
        candidates = [(cards[n], scores.get(n, 0.0) + more.get(n, 0.0)) for n in cards]
        matches = {cards[n].id for n in guarding if n in cards}
        hits = rank(candidates, query, settings.ranking, path_matches=matches)[:limit]
        if len(hits) >= limit or len(scored) < asked:
            break
        asked *= 8
    numbers = {card.id: n for n, card in cards.items()}
    sentences = split_sentences(query.text)
    at_once = max(-(-len(sentences) // _MOST_PARTS), 1)
    guessed = guess_shares(query.text, dict.fromkeys(terms))
    held = {numbers[hit.card.id]: hit.card for hit in hits}
    pairs = _find_pairs(query.text, guessed, frequencies)
    found, lengths, phrases = _read_documents(engine, held, in_cards, pairs)
    backgrounds = brain.backgrounds(held)
    evidence = GateEvidence(
        terms=reduced,
        guessed=guessed,
        frequencies=frequencies,
        size=size,
        found=found,
        lengths=lengths,
        phrases=phrases,
        background={card.id: backgrounds[n] for n, card in held.items() if n in backgrounds},
        parts=[
            frozenset(analyze(" ".join(sentences[start : start + at_once])))
            for start in range(0, len(sentences), at_once)
        ],
        # A hit had to beat so many files: notes have cards for rivals too, not the reverse. A
        # brain has few notes, and a handful of long texts shares words with any prompt.
        rivals=state.cards + (state.notes if notes else 0),
    )
    if more:  # what of a score came from words, and what from meaning
        for place, hit in enumerate(hits):
            meaning = more.get(numbers[hit.card.id], 0.0)
            hits[place] = replace(hit, bm25=hit.bm25 - meaning, meaning=meaning)
    judged = judge(hits, evidence, settings.gate)
    if nearness is not None:
        judged = nearness.judge(judged, numbers, settings.gate)
    least = min(settings.gate.min_confidence, settings.gate.offer_confidence)
    likely = [hit.card for hit in judged if hit.confidence >= least]
    reasons = find_harmful(brain, likely)
    reasons |= {card.id: STILL_TEMPLATE for card in likely if card.template}
    for place, hit in enumerate(judged):
        if hit.card.id in reasons:
            judged[place] = replace(hit, passed=False, reason=reasons[hit.card.id])
    return Retrieved(hits=tuple(judged), frequencies=frequencies, size=size)


def _find_pairs(
    text: str, guessed: Mapping[str, float], frequencies: Mapping[str, int]
) -> list[tuple[str, str]]:
    """Return the pairs of neighbouring words of a query that may tell something about a card.

    A pair with a function word tells nothing. The analyzer has removed those of the language that
    it knows; of others, a function word is known by its share. A word that stands in no card
    stands beside none.
    """
    functional = {word for word, share in guessed.items() if share >= _FUNCTION_WORD}
    nowhere = {term for term, frequency in frequencies.items() if not frequency}
    useless = functional | nowhere
    pairs = find_neighbours(text)[:_MOST_PAIRS]
    return [pair for pair in pairs if useless.isdisjoint(pair)]


def _read_documents(
    engine: Reader,
    cards: Mapping[int, Card],
    terms: Iterable[str],
    pairs: Sequence[tuple[str, str]],
) -> tuple[dict[str, dict[str, tuple[str, ...]]], dict[str, dict[str, int]], dict[str, int]]:
    """Return id → the terms found by field, the length of its body, how many pairs stand there."""
    documents = engine.documents(cards)
    asked = list(terms)  # the analyzer leaves no white space in them
    wanted = {*asked, *chain.from_iterable(pairs)}
    found, lengths, phrases = {}, {}, {}
    for number, document in documents.items():
        card = cards[number]
        body = document.get("body", "").split()
        words = wanted.intersection(body)
        here = tuple([term for term in asked if term in words])
        found[card.id] = {"body": here}
        if card.symptoms:  # of others it does not matter in what part of them a term stands
            parts = {field: text for field, text in document.items() if field != "body"}
            found[card.id] |= find_terms(parts, zip(here, here, strict=True))
        lengths[card.id] = {"body": len(body)} if body else {}
        likely = [(one, other) for one, other in pairs if one in words and other in words]
        phrases[card.id] = count_phrases(document, likely)
    return found, lengths, phrases


def find_usable(brain: Brain, numbers: Iterable[int], project: str | None) -> dict[int, Card]:
    """Return the cards of some files that may be given in a project; called within ``read``."""
    cards = {
        number: card
        for number, card in brain.cards(numbers).items()
        if card.is_injectable and card.project in (None, project)
    }
    harmful = find_harmful(brain, cards.values())
    return {number: card for number, card in cards.items() if card.id not in harmful}


def merge_hits(
    found: Sequence[tuple[Brain, Retrieved]], served: Sequence[Hit] = ()
) -> list[tuple[Brain, Hit]]:
    """Put the hits of several brains, nearest first, into one order.

    Raw scores of two brains cannot be compared. Each brain's scores are scaled so that its first
    hit scores that hit's confidence; the order inside a brain stays, the nearer brain wins ties.
    A file that a brain inside another holds for both is the nearer one's. Where two brains hold
    the same id, ``Hit.brain`` tells them apart. What a server gave (``served``) is that of the
    farthest brain; the nearest remembers it.
    """
    if len(found) == 1 and not served:
        brain, only = found[0]
        return [(brain, hit) for hit in only.hits]
    files: dict[str, tuple[Brain, Hit]] = {}
    for brain, answer in found:
        for hit in _scale(answer.hits):
            files.setdefault(f"{brain.root}/{hit.card.id}", (brain, hit))
    scaled = [*files.values()]
    given = [hit.card for _brain, hit in scaled if hit.passed or hit.reason.startswith(SUPPRESSED)]
    known = {name for card in given for name in _names(card)}
    new = (hit for hit in _scale(served) if known.isdisjoint(_names(hit.card)))
    scaled += [(found[0][0], hit) for hit in new]
    counts = Counter(hit.card.id for _brain, hit in scaled)
    named = [
        (brain, replace(hit, brain=brain.alias) if counts[hit.card.id] > 1 else hit)
        for brain, hit in scaled
    ]
    return sorted(named, key=lambda pair: -round(pair[1].score, 6))


def _scale(hits: Sequence[Hit]) -> list[Hit]:
    """Return one brain's hits with scores of which the best is their best confidence."""
    best = max((hit.score for hit in hits), default=0.0)
    scale = max(hit.confidence for hit in hits) / best if best > 0 else 0.0
    return [replace(hit, score=hit.score * scale) for hit in hits]


def _names(card: Card) -> tuple[tuple[str, ...], ...]:
    """Return what two brains' copies of one card have in common: its content, or file and title."""
    title = " ".join(card.title.casefold().split())
    file = card.id.rpartition(":")[2]
    return ("content", title, card.why, *card.checklist), ("file", title, file)


def files_to_guard(prompt: str) -> tuple[str, tuple[str, ...]]:
    """Return what to search for, and the files that the prompt names as ones to work on.

    A question changes no file: what guards one, or is named like it, comes with the change.
    """
    paths = find_paths(prompt)
    if not paths or not is_question(prompt):
        return prompt, paths
    for path in paths:
        prompt = prompt.replace(path, " ")
    return prompt, ()

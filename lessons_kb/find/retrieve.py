"""Search one brain by engine, ranking and gate, and merge the hits of several brains."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from math import inf
from typing import TYPE_CHECKING

from lessons_kb.brain.brain import Brain
from lessons_kb.config import Gate
from lessons_kb.ledger.effect import SUPPRESSED, find_harmful
from lessons_kb.model import FIELDS, KINDS, NOTE, Card, Hit, Query
from lessons_kb.relevance.background_prompts import guess_shares
from lessons_kb.relevance.gate import GateEvidence, judge
from lessons_kb.relevance.project_words import FEW_DOCUMENTS, ProjectWords, parse_words
from lessons_kb.relevance.thresholds import apply_thresholds, parse_thresholds
from lessons_kb.search.engine_protocol import Reader, count_phrases, count_terms, find_terms
from lessons_kb.search.ranking import rank, reduce_terms
from lessons_kb.text.analyzer import analyze, find_neighbours
from lessons_kb.text.paths import find_paths
from lessons_kb.text.sentences import is_question, split_sentences
from lessons_kb.values import frozen, replace

if TYPE_CHECKING:
    from lessons_kb.brain.semantic_similarity import Nearness

_FIRST_FETCH = 32
"""The number of candidates in the first request to the engine. If too many are excluded, more are
requested.
"""


_MOST_PARTS = 8
"""The maximum number of parts of a long prompt, so that a log does not take too long."""


_MOST_PAIRS = 400
"""The maximum number of pairs of adjacent words of a prompt that are searched in cards."""


_FUNCTION_WORD = 0.15
"""The guessed share from which a word counts as a function word. Such a word has at most four
letters.
"""


@frozen
class Retrieved:
    """The result of a query in one brain."""

    hits: tuple[Hit, ...]
    """The judged hits, best first, including hits that did not pass. There are at most as many as
    the limit of the query.
    """
    frequencies: dict[str, int]
    """The document frequency of each term of the query."""
    size: int
    """The number of documents in the index."""


STILL_TEMPLATE = f"{SUPPRESSED}: it is still the template; `lessons edit` opens it"


def find(brain: Brain, query: Query, *, by_meaning: bool = True) -> Retrieved:
    """Search one brain's last commit and judge the hits. Call it within ``Brain.read``.

    Without ``by_meaning``, only the words count, even if a model is installed.
    """
    engine, state = brain.reader, brain.state
    size = 0 if engine is None else engine.size()
    if engine is None or state is None or not size:
        return Retrieved(hits=(), frequencies={}, size=0)
    settings = brain.settings
    terms = analyze(query.text)
    frequencies = engine.document_frequencies(dict.fromkeys(terms))
    notes = NOTE in query.kinds
    cards_too = not set(KINDS).isdisjoint(query.kinds)
    if not (state.cards and cards_too) and not (state.notes and notes):
        return Retrieved(hits=(), frequencies=frequencies, size=size)
    words = _Words(
        terms=terms,
        weights=reduce_terms(terms, frequencies, size, settings.ranking.max_terms),
        frequencies=frequencies,
        size=size,
    )
    # The number of files with which a hit competes. Notes compete with cards, but cards do not
    # compete with notes, because a brain has few notes and a few long texts share words with any
    # prompt.
    rivals = state.cards + (state.notes if notes else 0)
    meaning = brain.meaning if by_meaning else None
    nearness = meaning.near(query.text) if meaning is not None else None
    candidates = _fetch_candidates(brain, engine, query, words, nearness)
    evidence = _gather_evidence(brain, engine, query, words, candidates, rivals=rivals)
    thresholds = parse_thresholds(brain.thresholds)
    gate = apply_thresholds(settings.gate, thresholds.words)
    judged = judge(candidates.hits, evidence, gate)
    if nearness is not None:
        gate = apply_thresholds(settings.gate, thresholds.meaning)
        judged = nearness.judge(judged, candidates.numbers, gate)
    judged = [
        replace(hit, lesson_at=gate.min_confidence, title_at=gate.offer_confidence)
        for hit in judged
    ]
    _suppress_unfit(brain, judged, gate)
    return Retrieved(hits=tuple(judged), frequencies=frequencies, size=size)


@frozen
class _Words:
    """The words of a query, and how often they occur in the brain."""

    terms: list[str]
    """The index terms in order, with repetitions."""
    weights: Mapping[str, float]
    """Mapping from each of the most distinctive terms to its weight in the query."""
    frequencies: dict[str, int]
    """Mapping from each term to the number of documents with this term."""
    size: int
    """The number of documents in the index."""

    @property
    def weights_in_cards(self) -> dict[str, float]:
        """The weights of the terms that occur in the brain. Most words of a log do not occur
        there.
        """
        return {term: weight for term, weight in self.weights.items() if self.frequencies[term]}


@frozen
class _Candidates:
    """The ranked hits of a query, before the gate judges them."""

    hits: list[Hit]
    numbers: dict[str, int]
    """Mapping from the id of each card to the number of its file."""


def _fetch_candidates(
    brain: Brain, engine: Reader, query: Query, words: _Words, nearness: Nearness | None
) -> _Candidates:
    """Return the ranked hits of a query, at most as many as its limit.

    ``nearness`` is the similarity of all files to the query, or None without ``[semantic]``.
    """
    settings = brain.settings
    field_weights = {name: getattr(settings.ranking, name) for name in FIELDS}
    # Notes have negative numbers, so they are excluded before any of their data is read.
    least = -inf if NOTE in query.kinds else 0
    most = 0 if set(KINDS).isdisjoint(query.kinds) else inf
    guarding: set[int] = set()
    if query.paths:
        guarding = {number for number in brain.guarding(query.paths) if least < number < most}
    limit = max(query.limit, 1)
    count = _FIRST_FETCH
    while True:
        scored = engine.search(words.weights_in_cards, field_weights, count)
        scores = {number: score for number, score in scored if least < number < most}
        scores |= dict.fromkeys(guarding.difference(scores), 0.0)
        added: dict[int, float] = {}
        if nearness is not None:
            added = nearness.add_to(
                scores,
                (least, most),
                terms=words.weights,
                frequencies=words.frequencies,
                size=words.size,
            )
        cards = _answer_by_successors(brain, brain.cards(scores | added), scores, query)
        totals = [
            (card, scores.get(number, 0.0) + added.get(number, 0.0))
            for number, card in cards.items()
        ]
        path_matches = {cards[number].id for number in guarding if number in cards}
        hits = rank(totals, query, settings.ranking, path_matches=path_matches)[:limit]
        if len(hits) >= limit or len(scored) < count:
            break
        count *= 8
    numbers = {card.id: number for number, card in cards.items()}
    if added:  # divide each score into the part from words and the part from similarity
        for place, hit in enumerate(hits):
            meaning = added.get(numbers[hit.card.id], 0.0)
            hits[place] = replace(hit, bm25=hit.bm25 - meaning, meaning=meaning)
    return _Candidates(hits=hits, numbers=numbers)


def _gather_evidence(
    brain: Brain,
    engine: Reader,
    query: Query,
    words: _Words,
    candidates: _Candidates,
    *,
    rivals: int,
) -> GateEvidence:
    """Return the statistics from which the gate judges the candidates."""
    cards = {candidates.numbers[hit.card.id]: hit.card for hit in candidates.hits}
    guessed = guess_shares(query.text, dict.fromkeys(words.terms))
    pairs = _find_pairs(query.text, guessed, words.frequencies)
    found, lengths, phrases = _read_documents(engine, cards, words.weights_in_cards, pairs)
    backgrounds = brain.backgrounds(cards)
    is_small = words.size < FEW_DOCUMENTS
    project = parse_words(brain.project_words) if is_small else ProjectWords()
    return GateEvidence(
        terms=words.weights,
        guessed=guessed,
        project=project.shares,
        project_passages=project.passages,
        frequencies=words.frequencies,
        size=words.size,
        found=found,
        lengths=lengths,
        phrases=phrases,
        background={cards[number].id: value for number, value in backgrounds.items()},
        parts=_split_parts(query.text),
        rivals=rivals,
    )


def _split_parts(text: str) -> list[frozenset[str]]:
    """Return the terms of each part of a query. A part is a sentence, or several sentences of a
    long query.
    """
    sentences = split_sentences(text)
    step = max(-(-len(sentences) // _MOST_PARTS), 1)
    parts: list[frozenset[str]] = []
    for start in range(0, len(sentences), step):
        part = " ".join(sentences[start : start + step])
        parts.append(frozenset(analyze(part)))
    return parts


def _suppress_unfit(brain: Brain, judged: list[Hit], gate: Gate) -> None:
    """Replace the hits of harmful cards and of unfilled templates with hits that did not pass."""
    least = min(gate.min_confidence, gate.offer_confidence)
    likely = [hit.card for hit in judged if hit.confidence >= least]
    reasons = find_harmful(brain, likely)
    reasons |= {card.id: STILL_TEMPLATE for card in likely if card.template}
    today = read_today()
    for card in likely:
        if why_silent := find_silence(card, today):
            reasons[card.id] = f"{SUPPRESSED} by freshness: {why_silent}"
    for place, hit in enumerate(judged):
        if hit.card.id in reasons:
            judged[place] = replace(hit, passed=False, reason=reasons[hit.card.id])


def _answer_by_successors(
    brain: Brain, cards: Mapping[int, Card], scores: Mapping[int, float], query: Query
) -> dict[int, Card]:
    """Return the cards, in which successors replace superseded cards.

    The words of a predecessor match its successor. If a card has two hits, the better hit is used.
    """
    if not brain.successors() or query.inactive:
        return dict(cards)
    answers: dict[int, Card] = {}
    places: dict[str, int] = {}
    for number, own in cards.items():
        card = brain.find_successor(number) or own
        known = places.get(card.id)
        if known is not None and scores.get(known, 0.0) >= scores.get(number, 0.0):
            continue
        if known is not None:
            del answers[known]
        answers[number] = card
        places[card.id] = number
    return answers


def _find_pairs(
    text: str, guessed: Mapping[str, float], frequencies: Mapping[str, int]
) -> list[tuple[str, str]]:
    """Return the pairs of neighbouring words of a query that are informative.

    A pair with a function word is not informative. The analyzer has removed the function words of
    the languages that it supports. In other languages, a word with a large guessed share counts as
    a function word. A pair with a word that no card contains is not informative either.
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
    """Return three mappings from the id of a card.

    Their values are the matched terms (by field), the length of the body, and the number of pairs
    that are adjacent in the card.
    """
    documents = engine.documents(cards)
    # The analyzer leaves no white space in a term, and a search for a few terms is faster than a
    # split of the text.
    spaced_terms = [(term, f" {term} ") for term in terms]
    found, lengths, phrases = {}, {}, {}
    for number, document in documents.items():
        card = cards[number]
        body = document.get("body", "")
        present = tuple([term for term, spaced in spaced_terms if spaced in body])
        found[card.id] = {"body": present}
        if card.symptoms:  # only for these cards does the field of a term matter
            fields = {field: text for field, text in document.items() if field != "body"}
            found[card.id] |= find_terms(fields, zip(present, present, strict=True))
        lengths[card.id] = count_terms({"body": body}) if body else {}
        phrases[card.id] = count_phrases(document, pairs)
    return found, lengths, phrases


def read_today() -> str:
    """Return today's date in the local time zone, in ISO format."""
    return time.strftime("%Y-%m-%d")


def find_silence(card: Card, today: str) -> str:
    """Return why an active card is not injected today, or "" if it can be injected."""
    if "" < card.waits_from <= today:
        return f"it waits for `lessons confirm` since {card.waits_from}"
    return card.standing.silence


def find_usable(brain: Brain, numbers: Iterable[int], project: str | None) -> dict[int, Card]:
    """Return a mapping from numbers to cards, for the files that may be injected in a project.

    Call it within ``Brain.read``.
    """
    today = read_today()
    cards = {}
    for number, own in brain.cards(numbers).items():
        card = brain.find_successor(number) or own
        is_here = card.is_injectable and card.project in (None, project)
        if is_here and not find_silence(card, today):
            cards[number] = card
    harmful = find_harmful(brain, cards.values())
    return {number: card for number, card in cards.items() if card.id not in harmful}


def merge_hits(
    answers: Sequence[tuple[Brain, Retrieved]], served: Sequence[Hit] = ()
) -> list[tuple[Brain, Hit]]:
    """Merge the hits of several brains, nearest first, into one ranking.

    Raw scores of two brains cannot be compared. Therefore the scores of each brain are scaled so
    that the best score becomes the brain's highest confidence. The order within a brain does not
    change, and the nearer brain wins ties. A file that belongs to two nested brains counts for the
    nearer one. If two brains have the same id, ``Hit.brain`` distinguishes them. The hits of a
    server (``served``) rank like those of the farthest brain and are returned with the nearest
    brain.
    """
    if len(answers) == 1 and not served:
        brain, only = answers[0]
        return [(brain, hit) for hit in only.hits]
    files: dict[str, tuple[Brain, Hit]] = {}
    for brain, answer in answers:
        for hit in _scale(answer.hits):
            files.setdefault(f"{brain.root}/{hit.card.id}", (brain, hit))
    scaled = [*files.values()]
    local: set[tuple[str, ...]] = set()
    for _brain, hit in scaled:
        if hit.passed or hit.reason.startswith(SUPPRESSED):
            local.update(_identities(hit.card))
    new = [hit for hit in _scale(served) if local.isdisjoint(_identities(hit.card))]
    nearest = answers[0][0]
    scaled += [(nearest, hit) for hit in new]
    counts = Counter(hit.card.id for _brain, hit in scaled)
    for place, (brain, hit) in enumerate(scaled):
        if counts[hit.card.id] > 1:
            scaled[place] = brain, replace(hit, brain=brain.alias)
    return sorted(scaled, key=lambda pair: -round(pair[1].score, 6))


def _scale(hits: Sequence[Hit]) -> list[Hit]:
    """Return the hits of one brain, scaled so that the best score is their highest confidence."""
    best = max((hit.score for hit in hits), default=0.0)
    scale = max(hit.confidence for hit in hits) / best if best > 0 else 0.0
    return [replace(hit, score=hit.score * scale) for hit in hits]


def _identities(card: Card) -> tuple[tuple[str, ...], ...]:
    """Return the keys by which copies of a card are recognized: its content, and its file with its
    title.
    """
    title = " ".join(card.title.casefold().split())
    file = card.id.rpartition(":")[2]
    return ("content", title, card.why, *card.checklist), ("file", title, file)


def files_to_guard(prompt: str) -> tuple[str, tuple[str, ...]]:
    """Return the text to search for, and the files in the prompt that are to be changed.

    If the prompt is a question, there are no such files, and the names of files are removed from
    the text. A question does not change a file, and the cards that guard a file are given with its
    change.
    """
    paths = find_paths(prompt)
    if not paths or not is_question(prompt):
        return prompt, paths
    for path in paths:
        prompt = prompt.replace(path, " ")
    return prompt, ()

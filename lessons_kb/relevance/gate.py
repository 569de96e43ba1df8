"""The relevance gate, which decides whether a card is about a prompt or merely shares words with
it.

Two kinds of evidence are combined, because either alone fails: how much of the prompt the card
answers (a long prompt shares words with every card), and how surprising the shared words are (a
short prompt, "run the tests", is answered in full by any card with two common words). The gate
corrects for chance: the more terms a prompt has, and the more cards a brain has, the better is the
best match of an unrelated prompt (like the E-value of a sequence search: Karlin and Altschul, PNAS
87, 1990). The frequency of a word is compared with the world and with the brain. Words that many of
the brain's cards share show that a prompt is about this brain; the other words show which card it
is about. The numbers, with their units and reasons, are in `relevance.gate_weights`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import pairwise
from math import exp, expm1, log, log1p

from lessons_kb.config import Gate
from lessons_kb.model import Card, Hit
from lessons_kb.relevance.background_prompts import (
    PASSAGE,
    SPREAD,
    UNKNOWN,
    fade,
    is_known_language,
    measure_rarity,
    share_of,
)
from lessons_kb.relevance.gate_weights import AFTER_PROMPT, SHAPE, WEIGHTS, WORDING
from lessons_kb.search.engine_protocol import K1, idf
from lessons_kb.search.ranking import protects_file
from lessons_kb.text.analyzer import BIGRAM_SCRIPTS, analyze, find_script_of_word
from lessons_kb.values import NamedTuple, field, frozen, replace

NEAR = AFTER_PROMPT.near
"""The lowest confidence at the prompt for which a card is stored for the turn."""


def is_sure(confidence: float, *, at_prompt: float = 0.0) -> bool:
    """Return whether to give a card for an error that occurred after the prompt.

    ``confidence`` is the gate's confidence for the text of the error. ``at_prompt`` is its
    confidence for the prompt, or 0 if the prompt did not match the card.
    """
    if confidence >= AFTER_PROMPT.error:
        return True
    if at_prompt < NEAR or confidence <= 0:
        return False
    return _log_odds(confidence) + _earlier(at_prompt) >= _log_odds(AFTER_PROMPT.together)


def is_due(confidence: float, nats: float, *, first: bool, at_prompt: float = 0.0) -> bool:
    """Return whether to give a card before a change.

    ``confidence`` is the gate's confidence for the text of the change. ``nats`` is the information
    of the code names that the change shares with this card and few others. ``first`` is True if no
    card ranks above this one.
    """
    if confidence <= 0 or not has_enough_names(nats, at_prompt=at_prompt):
        return False
    least = AFTER_PROMPT.first if first else AFTER_PROMPT.further
    return _log_odds(confidence) + nats + _earlier(at_prompt) >= least


def has_enough_names(nats: float, *, at_prompt: float = 0.0) -> bool:
    """Return whether shared names of code are enough for a card before a change.

    If not, `is_due` is False for every confidence.
    """
    return nats + _earlier(at_prompt) >= AFTER_PROMPT.least_names


def is_named(card: Card, terms: Collection[str]) -> bool:
    """Return whether a text covers a card's title. The result is True for a language that the table
    lacks.
    """
    texts = (card.title, card.why, *card.symptoms, *card.checklist)
    said = sum(nats for term, nats in _weigh_title(card.title).items() if term in terms)
    return said >= AFTER_PROMPT.least_said or not is_known_language(texts)


def _earlier(at_prompt: float) -> float:
    return AFTER_PROMPT.earlier * max(_log_odds(max(at_prompt, NEAR)) - _log_odds(NEAR), 0)


def _log_odds(confidence: float) -> float:
    bounded = min(confidence, AFTER_PROMPT.surest)
    return log(bounded / (1 - bounded))


_TELLING_FIELDS = ("title", "tags", "symptoms", "checklist")
_NONE: Mapping[str, float] = {}
_NO_FIELDS: Mapping[str, Collection[str]] = {}


@frozen
class GateEvidence:
    """The evidence about a query and the cards that a search returned for it."""

    terms: Mapping[str, float]
    """Mapping from each term of the query to its weight in the query."""
    frequencies: Mapping[str, int]
    """Mapping from each term to the number of documents with the term in their ``body``."""
    size: int
    """The number of documents in the index."""
    found: Mapping[str, Mapping[str, tuple[str, ...]]] = field(default_factory=dict)
    """For each id of a card, a mapping from its fields to the terms of the query in that field."""
    lengths: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    """For each id of a card, a mapping from its fields to the number of terms. It is 150 for a
    ``body`` of unknown length.
    """
    rivals: int = 0
    """The number of documents of the requested kinds, or 0 for all documents."""
    parts: Sequence[Collection[str]] = ()
    """The terms of each part of the query, in order, or () if the query has only one part."""
    phrases: Mapping[str, int] = field(default_factory=dict)
    """Mapping from the id of each card to the number of pairs of adjacent query words that are
    adjacent in the card.
    """
    background: Mapping[str, float] = field(default_factory=dict)
    """Mapping from the id of each card to its background. See `measure_background`."""
    guessed: Mapping[str, float] = field(default_factory=dict)
    """Mapping from terms to estimated shares, for cards in languages that the table lacks. See
    `guess_shares`.
    """
    project: Mapping[str, float] = field(default_factory=dict)
    """Mapping from the everyday words of the project to their shares. See `ProjectWords`."""
    project_passages: Mapping[str, float] = field(default_factory=dict)
    """Mapping from the same words to their shares of the project's passages."""


def judge(hits: Sequence[Hit], evidence: GateEvidence, gate: Gate) -> list[Hit]:
    """Return the hits, in their order, with ``matched``, ``confidence``, ``passed``, ``reason``.

    The confidence is the probability that the card is about the query. 0.5 is the level at which
    about one in 25 unrelated prompts that people typed gets a wrong card. The confidence accounts
    for the size of the brain and the lengths of prompt and card, so that hits of different brains
    can be compared.
    """
    listed = _Query(evidence, _NONE)
    guessing = _Query(evidence, evidence.guessed) if evidence.guessed else listed
    judged = []
    weighings: list[_Weighed] = []
    for hit in hits:
        card = hit.card
        query = listed
        protects = protects_file(hit)
        if evidence.guessed:
            texts = (card.title, card.why, *card.symptoms, *card.checklist)
            query = listed if is_known_language(texts) else guessing
        found = set().union(*evidence.found.get(card.id, {}).values())
        shared = query.surprises.keys() & found
        matched = tuple(sorted(sorted(shared), key=query.surprises.__getitem__, reverse=True))
        confidence = SHAPE.only_files if protects else 0.0
        parts: tuple[tuple[int, ...], ...] = ()
        weighed = _NOT_WEIGHED
        if hit.bm25 > 0 and matched and query.surprises[matched[0]] >= SHAPE.everyday:
            least = gate.min_confidence
            weighed = _weigh(hit, matched, query, protects=protects, least=least)
            if weighed.confidence > confidence:
                confidence, parts = weighed.confidence, weighed.parts
        weighings.append(weighed)
        meant = any(map(listed.is_like, card.examples))
        stated = listed.is_stated(evidence.found.get(card.id, _NO_FIELDS), card.symptoms)
        if meant or stated:
            confidence, parts = max(confidence, SHAPE.example), ()
        unlike = any(map(listed.is_like, card.not_for))
        passed = confidence >= gate.min_confidence and not unlike
        reason = _put_into_words(matched, query, passed=passed)
        if protects:
            reason = "guards a file at hand" + (f"; {reason}" if evidence.terms else "")
        if meant or stated:
            reason = f"nearly one of its {'examples' if meant else 'symptoms'}"
        if unlike:
            reason = "nearly one of its `not-for` prompts"
        reason = reason if passed else f"suppressed: {reason}"
        judged.append(
            replace(
                hit,
                matched=matched,
                confidence=confidence,
                parts=parts,
                passed=passed,
                reason=reason,
            )
        )
    return _find_leads(judged, weighings)


def _find_leads(judged: Sequence[Hit], weighings: Sequence[_Weighed]) -> list[Hit]:
    """Return the hits with the parts in which they lead, because no other card is nearly as sure
    there.
    """
    leading = []
    for place, hit in enumerate(judged):
        others = [*weighings[:place], *weighings[place + 1 :]]
        leads = []
        for parts in hit.parts:
            rivals = [other.by_part.get(parts, 0.0) for other in others]
            limit = SHAPE.nearly * weighings[place].by_part[parts]
            if max(rivals, default=0.0) <= limit:
                leads.append(parts)
        leading.append(replace(hit, leads=tuple(leads)) if leads else hit)
    return leading


class _Window(NamedTuple):
    """A part of the query that a card may answer."""

    terms: Collection[str]
    weight: float
    """The sum of the weights of its terms."""
    parts: tuple[int, ...]
    """The positions of its parts in the query."""


class _Weighed(NamedTuple):
    """The confidence in a card, and the parts of the query that it answers."""

    confidence: float
    parts: tuple[tuple[int, ...], ...]
    """The parts of each window that passes the gate, with the best first and the whole query
    last.
    """
    by_part: Mapping[tuple[int, ...], float]
    """Mapping from the parts of a window to the confidence for this window alone."""


_NOT_WEIGHED = _Weighed(confidence=0.0, parts=(), by_part={})


class _Query:
    """The values of a query that are the same for every hit in a language."""

    def __init__(self, evidence: GateEvidence, guessed: Mapping[str, float]) -> None:
        self.evidence = evidence
        self.guessed = guessed
        self.absences: dict[str, float] = {}
        """Mapping from each term to the log of the share of passages of a card's kind without the
        term.
        """
        self.surprises: dict[str, float] = {}
        self.weights: dict[str, float] = {}
        self.domain: dict[str, float] = {}
        """Mapping from each term to the nats by which it is more common in the brain's cards than
        in the world.
        """
        sharing = 0
        for term, weight in evidence.terms.items():
            share = guessed.get(term) or max(share_of(term), evidence.project.get(term, 0.0))
            frequency = evidence.frequencies.get(term, 0)
            in_project = evidence.project_passages.get(term, share)
            # A card contains the words of its project as well as those of its mistake. Without
            # enough cards to tell, each is assumed to be half of it.
            in_card = max(share, (share + in_project) / 2)
            self.absences[term] = log1p(-in_card)
            self.surprises[term] = -log(share)
            self.weights[term] = weight * idf(frequency, evidence.size)
            sharing += frequency
            if frequency > 1:
                world = exp(-min(self.surprises[term], measure_rarity(term)))
                here = (frequency - 1 + SHAPE.belief * world) / (evidence.size - 1 + SHAPE.belief)
                self.domain[term] = max(log(here / world), 0.0)
        self.belonging = fade(self.domain.values())
        # A card in another language does not share a word with the query, and is not a rival.
        rivals = max(min(evidence.rivals or evidence.size, sharing), SHAPE.fewest_rivals)
        self.rivals = log(rivals / (SHAPE.many_rivals + rivals))
        self.length = log(max(len(evidence.terms), SHAPE.fewest_terms))
        parts = [self.weights.keys() & part for part in evidence.parts]
        self.windows = [self._make_window(evidence.terms.keys(), range(max(len(parts), 1)))]
        """The whole query, each part of it, and each two adjacent parts."""
        if parts != [self.weights.keys()]:  # otherwise the only part is the whole query
            for place, part in enumerate(parts):
                self.windows.append(self._make_window(part, [place]))
            for place, (part, following) in enumerate(pairwise(parts)):
                self.windows.append(self._make_window(part | following, [place, place + 1]))

    def _make_window(self, terms: Collection[str], parts: Iterable[int]) -> _Window:
        weight = sum(map(self.weights.__getitem__, terms))
        return _Window(terms=terms, weight=weight, parts=tuple(parts))

    def is_stated(self, found: Mapping[str, Collection[str]], symptoms: Iterable[str]) -> bool:
        """Return whether the query has all terms of a symptom, and few others.

        ``found`` maps the fields of the card to the terms of the query in them.
        """
        asked = self.evidence.terms.keys()
        least = max(SHAPE.least_stated, SHAPE.stated_share * len(asked))
        if len(found.get("symptoms", ())) < least:
            return False
        stated = (set(analyze(symptom)) for symptom in symptoms)
        return any(len(terms) >= least and terms <= asked for terms in stated)

    def is_like(self, text: str) -> bool:
        """Return whether a text is nearly the same as the query, because they share most of their
        information.
        """
        terms = dict.fromkeys(analyze(text))
        asked = {term: self.surprises.get(term) or -log(share_of(term)) for term in terms}
        both = {**self.surprises, **asked}
        shared = sum([nats for term, nats in asked.items() if term in self.surprises])
        return shared > SHAPE.alike * sum(both.values())


def _weigh(
    hit: Hit, matched: Sequence[str], query: _Query, *, protects: bool, least: float
) -> _Weighed:
    """Return the confidence in a hit, for its best window or for the whole query."""
    card, evidence = hit.card.id, query.evidence
    full_terms: Collection[str] = matched
    if hit.card.symptoms:
        # The symptoms state when the card matters, so words that are only in its prose count less.
        # A card without symptoms has only its prose.
        fields = evidence.found[card]
        full_terms = {term for name in _TELLING_FIELDS for term in fields.get(name, ())}
    subject = _weigh_title(hit.card.title)
    if evidence.project:
        subject = _weigh_title_in_project(hit.card.title, evidence.project)
    length = evidence.lengths.get(card, {}).get("body", PASSAGE)
    passages = (max(length, 1) / PASSAGE) ** SPREAD
    terms = []
    for term in matched:
        count = 1.0 if term in full_terms else SHAPE.in_prose
        # If words were evenly distributed, a term in the share p of passages of PASSAGE terms
        # would be in this card with probability 1 - (1 - p) ** passages.
        chance = -log(-expm1(query.absences[term] * passages))
        chance -= SHAPE.shared_part * min(query.domain.get(term, 0.0), chance)
        rarity = measure_rarity(term)
        if term in evidence.project:
            rarity = min(rarity, -log(evidence.project[term]))
        # Few background prompts are in a language other than English, so the share of such a
        # word is more reliable.
        is_bigram = not term.isascii() and find_script_of_word(term) in BIGRAM_SCRIPTS
        if is_bigram or term in query.guessed:
            rarity = min(rarity, query.surprises[term])
        nats = query.surprises[term] * count, chance * count, rarity * count
        terms.append((term, query.weights[term], *nats, subject.get(term, 0.0)))
    found = sum(map(query.weights.__getitem__, matched)) or 1.0
    odds_of: dict[tuple[int, ...], float] = {}
    for window in query.windows:
        here = [weighed for weighed in terms if weighed[0] in window.terms]
        if not here or window.weight <= 0 or query.surprises[here[0][0]] < SHAPE.everyday:
            continue
        _terms, weights, anywhere, chances, rarities, subjects = zip(*here, strict=True)
        # The contribution of a term to the score is assumed to be proportional to its weight.
        answered = hit.bm25 / (K1 + 1) * sum(weights) / found / window.weight
        if not answered:  # the terms have no weight
            continue
        odds = (
            WEIGHTS.answered * log(answered / (SHAPE.half_answered + answered))
            + WEIGHTS.surprise * fade(chances)
            + WEIGHTS.lacking * max(SHAPE.enough - sum(anywhere), 0)
            + WEIGHTS.rarity * fade(rarities)
            + WEIGHTS.subject * sum(subjects)
        )
        odds_of[window.parts] = odds
    everywhere = (
        WEIGHTS.bias
        + WEIGHTS.rivals * query.rivals
        + WEIGHTS.domain * query.belonging
        + WEIGHTS.phrases * log1p(evidence.phrases.get(card, 0))
        + WEIGHTS.background * evidence.background.get(card, UNKNOWN)
        + WEIGHTS.length * query.length
        + (WEIGHTS.protected if protects else 0)
    )
    whole = query.windows[0].parts
    confidences = {parts: _squash(everywhere + odds) for parts, odds in odds_of.items()}
    confidence = max(confidences.values(), default=_squash(everywhere - SHAPE.limit))
    passing = [parts for parts in confidences if confidences[parts] >= least]
    passing.sort(key=lambda parts: (parts == whole, -confidences[parts]))
    return _Weighed(confidence, tuple(passing), confidences)


def _squash(odds: float) -> float:
    return round(1 / (1 + exp(-max(min(odds, SHAPE.limit), -SHAPE.limit))), 4)


@lru_cache(maxsize=10_000)
def _weigh_title(title: str) -> Mapping[str, float]:
    """Return a mapping from each term of a title to its share of the title's information."""
    return _weigh_title_in_project(title, _NONE)


def _weigh_title_in_project(title: str, project: Mapping[str, float]) -> Mapping[str, float]:
    """Return the result of `_weigh_title`, in which the everyday words of a project weigh less."""
    nats = {term: -log(max(share_of(term), project.get(term, 0.0))) for term in analyze(title)}
    whole = max(sum(nats.values()), SHAPE.least_title)
    return {term: value / whole for term, value in nats.items()}


def _put_into_words(matched: Sequence[str], query: _Query, *, passed: bool) -> str:
    if not matched:
        return "shares no word with the prompt"
    names = ", ".join(matched[: WORDING.shown])
    rare = [term for term in matched[: WORDING.shown] if query.surprises[term] >= WORDING.telling]
    if not rare and not passed:
        return f"only common words matched ({names})"
    own = sorted(query.domain, key=query.domain.__getitem__, reverse=True)[: WORDING.shown]
    own = [term for term in own if query.domain[term] >= WORDING.own]
    domain = f"; this brain's own terms: {', '.join(own)}" if own else ""
    telling = f"rare terms: {', '.join(rare)}" if rare else f"terms: {names}"
    return f"{'shares' if passed else 'shares too little:'} {telling}{domain}"

"""The relevance gate: is this card about this prompt, or do they merely share words?

Two kinds of evidence are weighed together, for either alone fails: how much of the prompt the card
answers (a long prompt shares words with every card), and how surprising the shared words are (a
short prompt, "run the tests", is answered in full by any card that holds two common words). The
form was found by logistic regression on retrieval sets in English and Korean (rules, weaknesses,
bug reports, lessons; brains of 3 to 6,800 cards), each group of sets judged by constants fitted
without it. It is flat: a constant a fifth larger or smaller changes little, and further features
(gap to the next card, words of the title, how foreign the prompt is to the brain) gained nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import exp, expm1, log, log1p

from lessons_kb.config import Gate
from lessons_kb.model import Hit
from lessons_kb.search.engine import K1
from lessons_kb.text.document_frequencies import get_share

# The log odds of a card are the sum of these times what each names.
_BIAS = 2.3
_ANSWERED = 2.5
_HALF = 0.5
"""ln(r / (_HALF + r)), r being BM25 over what it would be, were every term of the prompt there."""
_RIVALS = -0.65
"""ln(cards): the best of many shares more with any prompt, by chance alone."""
_SURPRISE = 0.45
"""Nats it takes to find the shared words in a card of this length by chance."""
_ENOUGH = 8.0
_LACKING = -0.5
"""Nats that the shared words lack in any text: common ones convince little in a short card too."""
_GUARDED = 1.5
"""For a card whose globs match a file of the prompt. Not fitted: the sets name no files."""

_TELLING_FIELDS = ("title", "tags", "symptoms", "checklist")
_IN_PROSE = 0.7
"""Weight of a shared word that stands in none of these, for a card with symptoms. Of 200 everyday
prompts 17 % draw a card of ``brain-example`` with it, 24 % without, and 3.0 instead of 5.5 % one of
433 real lessons; of 126 tasks told about those, 45 instead of 47 get a right one."""

_IN_TITLE = 0.55
"""Part of the nats it would take to find by chance the words that stand in the title; where that
is more than for the whole card, it counts. On the sets it keeps 1.3 % more of the right cards and
draws next to no further wrong one; 0.7 draws some, and the same for symptoms draws many."""

_FADING = 0.7
"""Each further word counts this much of the one before, the rarest first: words come in company."""
_SPREAD = 1.25
"""A card ten times as long holds more than ten times as many common words: topics widen."""
_PASSAGE = 150
"""Terms of the passages in which the shares of common terms were counted."""
_RARE = 0.0005
_RARE_PIECE = 0.005
"""Shares of terms that are not listed: of words, and of numbers and CJK bigrams."""
_FIRST_BIGRAM = "\u0e00"
_EVERYDAY = 2.2
"""Nats of words that stand in one of nine texts: a card that shares no other is not about it."""
_TELLING = 4.0
"""Nats from which a word is called rare when a verdict is put into words (one text in 55)."""
_ONLY_FILES = 0.75
"""Least confidence in a card that guards a file at hand: its author named the file."""
_SHOWN = 3


@dataclass(frozen=True, kw_only=True, slots=True)
class Evidence:
    """What the gate is told about a query and the cards found for it."""

    terms: Mapping[str, float]
    """Term of the query → its weight there."""
    frequencies: Mapping[str, int]
    """Term → in how many documents' ``body`` it stands."""
    size: int
    """Number of documents in the index."""
    found: Mapping[str, Mapping[str, tuple[str, ...]]]
    """Id of a card → field → terms of the query that stand in it."""
    lengths: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    """Id of a card → field → number of terms in it; 150 in a ``body`` that is not known."""
    rivals: int = 0
    """How many documents of the kinds asked for there are; 0 = all of ``size``."""


def judge(hits: Sequence[Hit], evidence: Evidence, gate: Gate) -> list[Hit]:
    """Return the hits, in their order, with ``matched``, ``confidence``, ``passed``, ``reason``.

    The confidence is a probability of "this card is about this query", 0.5 where the gate was
    set: at about one false card in twenty prompts that no card is about. The size of the brain
    and the lengths of prompt and card are accounted for, so that hits of two brains compare.
    """
    shares = {term: _share(term) for term in evidence.terms}
    surprises = {term: -log(share) for term, share in shares.items()}
    asked = sum(weight * surprises[term] for term, weight in evidence.terms.items()) or 1.0
    best = (K1 + 1) * sum(
        weight * _idf(evidence.frequencies.get(term, 0), evidence.size)
        for term, weight in evidence.terms.items()
    )
    rivals = max(evidence.rivals or evidence.size, 1)
    judged = []
    for hit in hits:
        fields = evidence.found.get(hit.card.id, {})
        shared = surprises.keys() & set().union(*fields.values())
        matched = tuple(sorted(sorted(shared), key=surprises.__getitem__, reverse=True))
        weights = _weigh_terms(hit, fields, matched)
        chance = _surprise(fields, weights, shares, evidence.lengths.get(hit.card.id, {}))
        answered = hit.bm25 / best if best else 0.0
        confidence = _weigh(hit, weights, surprises, answered, chance, rivals)
        passed = confidence >= gate.min_confidence
        covered = sum([evidence.terms[term] * surprises[term] for term in matched]) / asked
        rare = [term for term in matched if surprises[term] >= _TELLING]
        reason = _put_into_words(matched, rare, covered, passed=passed)
        if hit.matches_path:
            reason = "guards a file at hand" + (f"; {reason}" if evidence.terms else "")
        judged.append(
            replace(
                hit,
                matched=matched,
                confidence=confidence,
                passed=passed,
                reason=reason if passed else f"suppressed: {reason}",
            )
        )
    return judged


def _weigh_terms(
    hit: Hit, fields: Mapping[str, Iterable[str]], matched: Iterable[str]
) -> dict[str, float]:
    """Return how much each shared word counts.

    A card that lists symptoms says itself when it matters: words that stand only in its prose
    count less. A card without any is known by nothing but its prose.
    """
    if not hit.card.symptoms:
        return dict.fromkeys(matched, 1.0)
    told = {term for name in _TELLING_FIELDS for term in fields.get(name, ())}
    return {term: 1.0 if term in told else _IN_PROSE for term in matched}


def _weigh(
    hit: Hit,
    matched: Mapping[str, float],
    surprises: Mapping[str, float],
    answered: float,
    chance: float,
    rivals: int,
) -> float:
    least = _ONLY_FILES if hit.matches_path else 0.0
    if answered <= 0 or max(map(surprises.__getitem__, matched), default=0.0) < _EVERYDAY:
        return least
    anywhere = sum([surprises[term] * weight for term, weight in matched.items()])
    odds = (
        _BIAS
        + _ANSWERED * log(answered / (_HALF + answered))
        + _RIVALS * log(rivals)
        + _SURPRISE * chance
        + _LACKING * max(_ENOUGH - anywhere, 0)
        + (_GUARDED if hit.matches_path else 0)
    )
    return max(least, round(1 / (1 + exp(-max(min(odds, 9), -9))), 4))


def _surprise(
    fields: Mapping[str, Iterable[str]],
    matched: Mapping[str, float],
    shares: Mapping[str, float],
    lengths: Mapping[str, int],
) -> float:
    """Return the nats it takes to find by chance the shared words, or those of the title in it."""
    anywhere = _chance(matched, shares, lengths.get("body", _PASSAGE))
    if "title" not in lengths:
        return anywhere
    there = dict.fromkeys(matched.keys() & set(fields.get("title", ())), 1.0)
    return max(anywhere, _IN_TITLE * _chance(there, shares, lengths["title"]))


def _chance(matched: Mapping[str, float], shares: Mapping[str, float], length: int) -> float:
    """Return how many nats it would take to find these terms, the rarest first, by chance.

    A term that stands in the share p of passages of _PASSAGE terms stands in a card of n terms
    with probability 1 - (1 - p) ** (n / _PASSAGE), were words strewn evenly.
    """
    passages = (max(length, 1) / _PASSAGE) ** _SPREAD
    nats = sorted(
        [-log(-expm1(log1p(-shares[t]) * passages)) * weight for t, weight in matched.items()],
        reverse=True,
    )
    return sum([value * _FADING**place for place, value in enumerate(nats)])


def _share(term: str) -> float:
    share = get_share(term)
    if share is not None:
        return share
    return _RARE_PIECE if term.isdigit() or term > _FIRST_BIGRAM else _RARE


def _idf(n: int, size: int) -> float:
    return log(1 + (max(size - n, 0) + 0.5) / (n + 0.5))


def _put_into_words(
    matched: Sequence[str], rare: Sequence[str], covered: float, *, passed: bool
) -> str:
    if not matched:
        return "shares no word with the prompt"
    if not rare and not passed:
        return f"only common words matched ({', '.join(matched[:_SHOWN])})"
    kind, shown = ("rare terms", rare) if rare else ("terms", matched)
    share = f"{'' if passed else 'only '}{covered:.0%} of the prompt's information"
    return f"covers {share}; {kind}: {', '.join(shown[:_SHOWN])}"

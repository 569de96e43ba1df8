"""After the answer: which checklist items it denies, and which are not shown at all.

Only what the answer itself denies may be told to anyone as not done: what an item asks for can be
told in words that share nothing with it, so that an item which is not shown may well be done.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache

from lessons_kb.check.denials import ABSENT, PUT_OFF, Denial, find_denials
from lessons_kb.model import Card, Check, Unaddressed
from lessons_kb.text.analyzer import analyze
from lessons_kb.text.document_frequencies import get_share
from lessons_kb.text.prompts import split_sentences

MAX_ANSWER, MAX_EVIDENCE = 100_000, 400_000
"""Characters that are looked at."""
MAX_ITEM = 1_000

SHOWN_FROM = 0.5
"""Part of an item's terms, weighed by rarity, that one sentence or piece of code has to hold."""
DENIED_FROM = 0.2
"""Part of an item's terms that a denying clause has to hold at least, …"""
NEAR_FROM = 0.6
"""… and what that and the item's part of what the clause is about have to come to."""
ABSENT_FROM = 0.6
"""Part of an item's terms in a clause that only says of something that it is not so."""

_RAREST = 1e-3
"""Share of texts that hold a term which is in no table."""
_LEAST_WEIGHT = 0.1
_CHUNK_LINES, _CHUNK_OVERLAP = 12, 4
_FENCE = r"(?ms)^[ \t]*(```|~~~).*?(?:^[ \t]*\1[ \t]*$|\Z)"
_FORBIDS = (
    r"(?i)\b(?:never|don['\u2019]t|no|not|without|avoid|nothing|none|neither)\b|"
    "않|금지|말 것|마라|없이|없는|없다"
)


def find_unaddressed_items(
    answer: str, cards: Sequence[Card], evidence: Sequence[str] = ()
) -> Check:
    """Return the checklist items that neither ``answer`` nor ``evidence`` shows.

    An item is shown by a sentence, or some lines of an edit or a command, with enough of its
    words, unless the answer denies it: then it is ``denied``. ``evidence`` is what the agent did:
    edits (path and new text, or a diff) and commands, each one string. An item without a word that
    could be looked for is neither found nor counted.
    """
    items = [(card, item, find_terms(item)) for card in cards for item in card.checklist]
    items = [entry for entry in items if entry[2]]
    answer = answer[:MAX_ANSWER]
    code = [fence[0] for fence in re.finditer(_FENCE, answer)]
    prose = split_sentences(re.sub(_FENCE, "", answer))
    told = [(sentence, frozenset(analyze(sentence))) for sentence in prose]
    places = [terms for _, terms in told]
    places += [frozenset(analyze(piece)) for piece in _pieces((*code, *evidence))]
    seen = frozenset().union(*places)
    denials = find_denials(told, frozenset().union(*(terms for *_, terms in items)))
    found = []
    for card, item, terms in items:
        denial = _find_denial(item, terms, denials)
        if denial is None and max(_shares(terms, places), default=0.0) >= SHOWN_FROM:
            continue
        nearest = max(told, key=lambda entry: _share(terms, entry[1]), default=("", frozenset()))
        sentence = nearest[0] if terms & nearest[1] else ""
        found.append(
            Unaddressed(
                card=card,
                item=item,
                terms=_words_of(item, terms - seen),
                sentence=denial.sentence if denial else sentence,
                denied=denial is not None,
            )
        )
    return Check(unaddressed=tuple(found), checked=len(items))


def find_terms(item: str) -> frozenset[str]:
    """Return what to look for of a checklist item, nothing if it holds no significant word."""
    return frozenset(analyze(item[:MAX_ITEM]))


def _find_denial(item: str, terms: frozenset[str], denials: Iterable[Denial]) -> Denial | None:
    """Return the clause that most nearly says of an item that it was not done, if one does.

    What an item forbids is kept by not doing it: that may only be put off.
    """
    forbids = re.search(_FORBIDS, item)
    near: list[tuple[float, Denial]] = []
    for denial in denials:
        if (forbids and denial.what != PUT_OFF) or (denial.cue and denial.cue in item.lower()):
            continue
        part = _share(terms, denial.terms)
        about = part + _share(denial.topic, terms)
        least = ABSENT_FROM if denial.what == ABSENT else DENIED_FROM
        if part >= least and about >= NEAR_FROM:
            near.append((about, denial))
    return max(near, key=lambda entry: entry[0])[1] if near else None


def _pieces(evidence: Iterable[str]) -> Iterator[str]:
    """Yield some lines of an edit or a command at a time: a whole file holds any word."""
    left = MAX_EVIDENCE
    for text in evidence:
        lines = text[:left].split("\n")
        left = max(0, left - len(text))
        for start in range(0, len(lines), _CHUNK_LINES):
            yield "\n".join(lines[start : start + _CHUNK_LINES + _CHUNK_OVERLAP])


def _shares(terms: frozenset[str], places: Iterable[frozenset[str]]) -> Iterator[float]:
    return (_share(terms, place) for place in places)


def _share(terms: frozenset[str], others: frozenset[str]) -> float:
    """Return the part of some terms, weighed by rarity, that is among others."""
    both = terms & others
    return sum(map(_weigh, both)) / sum(map(_weigh, terms)) if both else 0.0


@lru_cache(maxsize=10_000)
def _weigh(term: str) -> float:
    """Return what a term tells: 1 for a rare one, less the commoner it is anywhere."""
    share = get_share(term)
    return 1.0 if share is None else max(_LEAST_WEIGHT, math.log(share) / math.log(_RAREST))


def _words_of(item: str, terms: frozenset[str]) -> tuple[str, ...]:
    """Return the words of an item that give some terms, as it writes them."""
    words = re.findall(r"[^\W_](?:[\w'./-]*\w)?", item)
    return tuple(dict.fromkeys(word for word in words if terms & frozenset(analyze(word))))

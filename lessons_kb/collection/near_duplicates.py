"""Is this lesson there already? Candidates by BM25, then how alike two texts are.

Three answers, for a wrong merge destroys a lesson: ``same`` may be merged by whatever runs
unattended, ``near`` is proposed, ``related`` has the form of another card and speaks of other
things. The figures of ``python -m benchmarks dedup`` hold for the thresholds below.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable
from difflib import SequenceMatcher
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING

from lessons_kb.cards.links import normal_title
from lessons_kb.model import Card
from lessons_kb.text.analyzer import STOP_WORDS, analyze
from lessons_kb.values import frozen

if TYPE_CHECKING:
    from lessons_kb.search.rank_bm25_engine import LuceneBM25

SAME = "same"
NEAR = "near"
RELATED = "related"

PROPOSED = 0.55
"""Similarity from which a card is proposed: recall .59 at precision .96 on pairs/ko_question."""
CANDIDATES = 20
"""Cards that are compared word by word."""
_DENSE = "\u1100-\u11ff\u3041-\u318f\u31a0-\u9fff\uac00-\ud7a3"
_TURNING = frozenset(
    """
    no not never none nor cannot without neither don doesn didn isn wasn shouldn mustn won wouldn
    aren weren hasn haven hadn couldn needn before after above below over under up down in out on
    off from to with only until while if unless less more too own same other
    """.split()  # noqa: SIM905 - a table for people
)
"""Stop words that turn a sentence round: two titles that differ in one are not the same."""
_SYMBOL = r"[=<>+*/%&|^~#@$\\!?-]+"


@frozen
class NearDuplicate:
    """A card that may be the same lesson."""

    card: Card
    level: str
    """``same``, ``near`` or ``related``."""
    score: float
    """0 to 1; 1 for the same words."""
    reason: str
    """One line for whoever decides."""


class Duplicates:
    """The cards of a brain, asked for near-duplicates of one that is to be written."""

    def __init__(self, cards: Iterable[Card]) -> None:
        self._cards = [card for card in cards if card.kind != "note"]

    @cached_property
    def _titles(self) -> dict[str, list[Card]]:
        titles: dict[str, list[Card]] = {}
        for card in self._cards:
            titles.setdefault(normal_title(card.title), []).append(card)
        return titles

    @cached_property
    def _bm25(self) -> LuceneBM25:
        from lessons_kb.search.rank_bm25_engine import LuceneBM25

        texts = (f"{c.title}\n{_said(c)}\n{' '.join(c.symptoms)}" for c in self._cards)
        # A corpus without a single term would divide by zero.
        return LuceneBM25([analyze(text) or ["\0"] for text in texts])

    def find(
        self, title: str, *, text: str = "", kind: str | None = None, limit: int = 3
    ) -> list[NearDuplicate]:
        """Return the likeliest near-duplicates of a card with this title, best first.

        ``text`` is what else it says (cause, checklist), ``kind`` limits the search to cards of
        one kind. The order is by level, score and id.
        """
        titled = self._titles.get(normal_title(title), ())
        candidates = [*titled, *self._find_candidates(f"{title}\n{text}")]
        if kind is not None:
            candidates = [card for card in candidates if card.kind == kind]
        return find_alike(title, candidates, text=text)[:limit]

    def _find_candidates(self, text: str) -> list[Card]:
        terms = dict.fromkeys(analyze(text)) if self._cards else ()
        if not (known := [term for term in terms if term in self._bm25.idf]):
            return []
        scores = self._bm25.get_scores(known)
        best = sorted(range(len(self._cards)), key=lambda n: (-scores[n], n))[:CANDIDATES]
        return [self._cards[n] for n in best if scores[n] > 0]


def find_alike(title: str, candidates: Iterable[Card], *, text: str = "") -> list[NearDuplicate]:
    """Return which of some cards are near-duplicates of a card with this title, best first."""
    likely = {}
    for card in candidates:
        if card.id not in likely:
            likely[card.id] = compare(title, card, text=text)
    found = [duplicate for duplicate in likely.values() if duplicate is not None]
    return sorted(found, key=lambda one: (_ORDER[one.level], -one.score, one.card.id))


_ORDER = {SAME: 0, NEAR: 1, RELATED: 2}


def compare(title: str, card: Card, *, text: str = "") -> NearDuplicate | None:
    """Return how a card duplicates a lesson with this title and text, None if it does not."""
    if normal_title(title) == normal_title(card.title):
        return _same_title(card)
    if is_same_wording(title, card.title):
        reason = f"{card.id} has a title with the same words: {card.title}"
        return NearDuplicate(card=card, level=SAME, score=1.0, reason=reason)
    titles = similarity(title, card.title)
    said = _said(card)
    whole = similarity(f"{title}\n{text}", f"{card.title}\n{said}") if text and said else 0.0
    score = max(titles, whole)
    if score < PROPOSED:
        return None
    filled = titles >= PROPOSED and _is_other_subject(title, card.title)
    level = RELATED if filled else NEAR
    what = "title" if titles >= whole else "text"
    reason = f"{card.id} is similar ({what} {score:.0%}): {card.title}"
    return NearDuplicate(card=card, level=level, score=round(score, 4), reason=reason)


def similarity(one: str, other: str) -> float:
    """Return how alike two texts are, from 0 to 1.

    The mean of three Dice coefficients (Dice 1945) over multisets: of words (stems; characters
    of Hangul, Kana, Han), of pairs (stems; character bigrams) and of pieces (letter trigrams;
    trigrams of Jamo, in which a particle or an ending is a small part).
    """
    total = 0.0
    for mine, theirs in zip(_families(one), _families(other), strict=True):
        both = mine.total() + theirs.total()
        total += 2 * (mine & theirs).total() / both if both else 0.0
    return total / 3


def is_same_wording(one: str, other: str) -> bool:
    """Return whether two titles are equal but for inflection, stop words, spaces and full stops.

    Order, negation, numbers and symbols count; titles of fewer than three words never are.
    """
    first, second = _wording(one), _wording(other)
    length = sum(len(word) if _is_dense(word) else 2 for word in first)
    return first == second and length >= _SHORTEST


_SHORTEST = 6


def _same_title(card: Card) -> NearDuplicate:
    reason = f"{card.id} already has this title"
    return NearDuplicate(card=card, level=SAME, score=1.0, reason=reason)


def _said(card: Card) -> str:
    return "\n".join((card.why, *card.checklist)).strip()


def _words(text: str) -> list[str]:
    text = unicodedata.normalize("NFKC", text).casefold()
    found = re.findall(rf"[{_DENSE}]+|[^\W{_DENSE}]+|{_SYMBOL}", text)
    return [word for word in found if word not in ("-", "!", "?", "/")]


def _is_dense(word: str) -> bool:
    return re.match(f"[{_DENSE}]", word) is not None


@lru_cache(maxsize=4096)
def _families(text: str) -> tuple[Counter[str], Counter[str], Counter[str]]:
    words = [word for word in _words(text) if word[0].isalnum()]
    dense = [word for word in words if _is_dense(word)]
    stems = analyze(" ".join(word for word in words if not _is_dense(word)))
    run = "".join(dense)
    units, pairs, pieces = Counter(stems), Counter(stems), Counter[str]()
    units.update(run)
    pairs.update(run[i : i + 2] for i in range(len(run) - 1))
    whole = unicodedata.normalize("NFD", f" {' '.join(dense)} ") if dense else ""
    for piece in (*(f" {stem} " for stem in stems), whole):
        pieces.update(piece[i : i + 3] for i in range(len(piece) - 2))
    return units, pairs, pieces


def _wording(text: str) -> list[str]:
    """Return what must be equal: stems, words that turn a sentence, numbers, symbols, in order.

    Text without spaces between words is one run: where they stand is a matter of taste.
    """
    kept: list[str] = []
    for word in _words(text):
        if _is_dense(word):
            if kept and _is_dense(kept[-1]):
                kept[-1] += word
            else:
                kept.append(word)
        elif not word[0].isalnum() or word in _TURNING or word[0].isdigit():
            kept.append(word)
        elif word not in STOP_WORDS and word != "a":
            kept += analyze(word) or [word]
    return kept


def _is_other_subject(one: str, other: str) -> bool:
    """Return whether two titles fill one form with other words: "A for X" and "A for Y".

    So they do where every difference is an exchange, or a number, a symbol or a negation.
    """
    first, second = (
        [part for word in _wording(text) for part in (word if _is_dense(word) else [word])]
        for text in (one, other)
    )
    exchanged = False
    for what, i, j, k, m in SequenceMatcher(None, first, second, autojunk=False).get_opcodes():
        # A number, a symbol or a negation changes the meaning.
        if what != "equal" and any(
            not word[0].isalpha() or any(map(str.isdigit, word)) or word in _TURNING
            for word in (*first[i:j], *second[k:m])
        ):
            return True
        if what in ("insert", "delete"):
            return False
        exchanged = exchanged or what == "replace"
    return exchanged

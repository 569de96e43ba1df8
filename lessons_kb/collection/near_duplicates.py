"""Find near-duplicates of a lesson: candidates by BM25, then the similarity of two texts.

There are three levels, because a wrong merge destroys a lesson. A program may merge cards of the
level ``same``. A person decides about cards of the level ``near``. Cards of the level ``related``
have the same form but another subject. ``python -m benchmarks dedup`` measures the thresholds
below.
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
"""The minimum similarity of a near-duplicate: recall .59 at precision .96 on pairs/ko_question."""
CANDIDATES = 20
"""The maximum number of cards that are compared word by word."""
_DENSE = "\u1100-\u11ff\u3041-\u318f\u31a0-\u9fff\uac00-\ud7a3"
_TURNING = frozenset(
    """
    no not never none nor cannot without neither don doesn didn isn wasn shouldn mustn won wouldn
    aren weren hasn haven hadn couldn needn before after above below over under up down in out on
    off from to with only until while if unless less more too own same other
    """.split()  # noqa: SIM905 - a table for people
)
"""Stop words that change the meaning of a sentence. Titles that differ in one are not the same."""
_SYMBOL = r"[=<>+*/%&|^~#@$\\!?-]+"


@frozen
class NearDuplicate:
    """A card that may be the same lesson."""

    card: Card
    level: str
    """``same``, ``near`` or ``related``."""
    score: float
    """From 0 to 1, where 1 means the same words."""
    reason: str
    """One line for the person who decides."""


class Duplicates:
    """The cards of a brain, which are searched for near-duplicates of a new card."""

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

        documents: list[list[str]] = []
        for card in self._cards:
            text = f"{card.title}\n{_join_text(card)}\n{' '.join(card.symptoms)}"
            # A placeholder, because a corpus without a single term would divide by zero.
            documents.append(analyze(text) or ["\0"])
        return LuceneBM25(documents)

    def find(
        self, title: str, *, text: str = "", kind: str | None = None, limit: int = 3
    ) -> list[NearDuplicate]:
        """Return the likeliest near-duplicates of a card with this title, by level, score and id.

        ``text`` is the rest of the card (its cause and checklist). ``kind`` limits the search to
        cards of one kind.
        """
        titled = self._titles.get(normal_title(title), ())
        candidates = [*titled, *self._find_candidates(f"{title}\n{text}")]
        if kind is not None:
            candidates = [card for card in candidates if card.kind == kind]
        return find_alike(title, candidates, text=text)[:limit]

    def _find_candidates(self, text: str) -> list[Card]:
        if not self._cards:
            return []
        terms = [term for term in dict.fromkeys(analyze(text)) if term in self._bm25.idf]
        if not terms:
            return []
        scores = self._bm25.get_scores(terms)
        best = sorted(range(len(self._cards)), key=lambda n: (-scores[n], n))[:CANDIDATES]
        return [self._cards[n] for n in best if scores[n] > 0]


def find_alike(title: str, candidates: Iterable[Card], *, text: str = "") -> list[NearDuplicate]:
    """Return the candidates that are near-duplicates of a card with this title, the best first."""
    unique: dict[str, Card] = {}
    for card in candidates:
        unique.setdefault(card.id, card)
    duplicates: list[NearDuplicate] = []
    for card in unique.values():
        duplicate = compare(title, card, text=text)
        if duplicate is not None:
            duplicates.append(duplicate)
    return sorted(duplicates, key=_sort_key)


def _sort_key(duplicate: NearDuplicate) -> tuple[int, float, str]:
    return _ORDER[duplicate.level], -duplicate.score, duplicate.card.id


_ORDER = {SAME: 0, NEAR: 1, RELATED: 2}


def compare(title: str, card: Card, *, text: str = "") -> NearDuplicate | None:
    """Return the card as a near-duplicate of a lesson with this title and text, or None."""
    if normal_title(title) == normal_title(card.title):
        return _same_title(card)
    if is_same_wording(title, card.title):
        reason = f"{card.id} has a title with the same words: {card.title}"
        return NearDuplicate(card=card, level=SAME, score=1.0, reason=reason)
    titles = similarity(title, card.title)
    card_text = _join_text(card)
    whole = 0.0
    if text and card_text:
        whole = similarity(f"{title}\n{text}", f"{card.title}\n{card_text}")
    score = max(titles, whole)
    if score < PROPOSED:
        return None
    is_same_form = titles >= PROPOSED and _is_other_subject(title, card.title)
    level = RELATED if is_same_form else NEAR
    part = "title" if titles >= whole else "text"
    reason = f"{card.id} is similar ({part} {score:.0%}): {card.title}"
    return NearDuplicate(card=card, level=level, score=round(score, 4), reason=reason)


def similarity(first: str, second: str) -> float:
    """Return the similarity of two texts, from 0 to 1.

    The similarity is the mean of three Dice coefficients (Dice 1945) over multisets. These are
    words (stems; characters of Hangul, Kana and Han), pairs (of stems; character bigrams) and
    pieces (letter trigrams; trigrams of Jamo, in which a particle or an ending is a small part).
    """
    total = 0.0
    for first_units, second_units in zip(_count_units(first), _count_units(second), strict=True):
        both = first_units.total() + second_units.total()
        if both:
            total += 2 * (first_units & second_units).total() / both
    return total / 3


def is_same_wording(first: str, second: str) -> bool:
    """Return whether two titles are equal except for inflection, stop words, spaces and full stops.

    The order of words, negations, numbers and symbols must be equal. Titles of fewer than three
    words never have the same wording.
    """
    first_words, second_words = _split_wording(first), _split_wording(second)
    length = sum(len(word) if _is_dense(word) else 2 for word in first_words)
    return first_words == second_words and length >= _SHORTEST


_SHORTEST = 6
"""The minimum length of a title. A character of a script without spaces counts 1, any other word
2."""


def _same_title(card: Card) -> NearDuplicate:
    reason = f"{card.id} already has this title"
    return NearDuplicate(card=card, level=SAME, score=1.0, reason=reason)


def _join_text(card: Card) -> str:
    """Return the cause and the checklist of a card."""
    return "\n".join((card.why, *card.checklist)).strip()


def _split_words(text: str) -> list[str]:
    """Return the words and symbols of a text. A run of a dense script is one word."""
    text = unicodedata.normalize("NFKC", text).casefold()
    words = re.findall(rf"[{_DENSE}]+|[^\W{_DENSE}]+|{_SYMBOL}", text)
    return [word for word in words if word not in ("-", "!", "?", "/")]


def _is_dense(word: str) -> bool:
    """Return whether a word is in a script that is compared by characters."""
    return re.match(f"[{_DENSE}]", word) is not None


@lru_cache(maxsize=4096)
def _count_units(text: str) -> tuple[Counter[str], Counter[str], Counter[str]]:
    """Return the words, the pairs and the pieces of a text. See `similarity`."""
    words = [word for word in _split_words(text) if word[0].isalnum()]
    dense = [word for word in words if _is_dense(word)]
    stems = analyze(" ".join(word for word in words if not _is_dense(word)))
    run = "".join(dense)
    units = Counter(stems)
    pairs = Counter(stems)
    pieces = Counter[str]()
    units.update(run)
    pairs.update(run[i : i + 2] for i in range(len(run) - 1))
    whole = unicodedata.normalize("NFD", f" {' '.join(dense)} ") if dense else ""
    for piece in (*(f" {stem} " for stem in stems), whole):
        pieces.update(piece[i : i + 3] for i in range(len(piece) - 2))
    return units, pairs, pieces


def _split_wording(text: str) -> list[str]:
    """Return the stems, the words that change a meaning, the numbers and the symbols, in order.

    Words of a dense script are joined, because the spaces between them are optional.
    """
    wording: list[str] = []
    for word in _split_words(text):
        if _is_dense(word):
            if wording and _is_dense(wording[-1]):
                wording[-1] += word
            else:
                wording.append(word)
        elif not word[0].isalnum() or word in _TURNING or word[0].isdigit():
            wording.append(word)
        elif word not in STOP_WORDS and word != "a":
            wording += analyze(word) or [word]
    return wording


def _is_other_subject(first: str, second: str) -> bool:
    """Return whether two titles have one form but different subjects: "A for X" and "A for Y".

    This is the case if every difference is a replacement, or if a number, a symbol or a negation
    differs.
    """
    first_parts, second_parts = _split_parts(first), _split_parts(second)
    matcher = SequenceMatcher(None, first_parts, second_parts, autojunk=False)
    has_replacement = False
    for operation, i, j, k, m in matcher.get_opcodes():
        if operation == "equal":
            continue
        if any(map(_changes_meaning, (*first_parts[i:j], *second_parts[k:m]))):
            return True
        if operation in ("insert", "delete"):
            return False
        has_replacement = True
    return has_replacement


def _split_parts(text: str) -> list[str]:
    """Return the wording of a title, with dense scripts divided into characters."""
    parts: list[str] = []
    for word in _split_wording(text):
        parts += list(word) if _is_dense(word) else [word]
    return parts


def _changes_meaning(word: str) -> bool:
    """Return whether a word is a number, a symbol or a negation."""
    return not word[0].isalpha() or any(map(str.isdigit, word)) or word in _TURNING

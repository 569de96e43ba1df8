"""A checklist item → the terms an answer has to show, and how it may tell that it did."""

from __future__ import annotations

import math
import re
import unicodedata
from functools import cache, lru_cache

from lessons_kb.recall import equivalents as table
from lessons_kb.recall.ways import find_ways
from lessons_kb.text.analyzer import IRREGULAR, analyze

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

DO, AVOID, EITHER = "do", "avoid", "either"
"""What an item wants: something done, something not done, or told in either way."""

SAME = 1.0
SYNONYM = 0.85
"""How well a term is shown by an equivalent."""
ASIDE = 0.3
"""Weight of what only tells when, or what is replaced."""
LITTLE = 0.35
"""Weight of a word that says little about which item is meant."""
HEAD = 1.3
"""Weight of the word that names the action."""

PREFIX = 3
"""A stem keeps at least this many letters of its words."""

DOUBT, ALL_KNOWN = 0.08, 3.5
"""Doubt per logarithm of the ways to say a term that we know fewer than thirty."""

_PART = r"[A-Z]{2,}s?(?![a-z])[0-9]*|[A-Z]?[a-z]+[0-9]*|[A-Z]|[0-9]+|[^\W\d_A-Za-z]+"
_FIRST_WIDE = "\u2e80"
"""From here on, words are looked for as parts of a run without spaces."""
_RUN = r"[\u30a0-\u30ff]+|[\u3400-\u4dbf\u4e00-\u9fff]+"
_WHOLE_RUN = 2


class Wanted:
    """What one item looks for.

    ``weights[k]`` is what its term ``k`` counts, ``words[k]`` how the item writes it;
    ``stems`` and ``pieces`` say which stems and which parts of words show which terms how well;
    ``key`` is the term that names the action, if there is one; ``ways`` are ways to tell of it in
    other words, and which of its terms each shows.
    """

    def __init__(self, item: str) -> None:
        self.words: list[str] = []
        self.weights: list[float] = []
        self.stems: dict[str, dict[int, float]] = {}
        self.pieces: dict[str, dict[int, float]] = {}
        self._numbers: dict[str, int] = {}
        item = unicodedata.normalize("NFKC", item)
        self.aim = _aim(item)
        self.told_with_not = bool(re.search(table.UNNEGATED, item))
        asides = _asides(item)
        plain = re.sub(table.FORBIDS, lambda found: " " * len(found[0]), item)
        for found in re.finditer(_PART, plain):
            aside = any(start <= found.start() < end for start, end in asides)
            self._add_word(found[0], ASIDE if aside else 1.0)
        self.ways = find_ways(item, self.words)
        self.key = self._find_key(plain)
        if self.key is not None:
            self.weights[self.key] *= HEAD
        self.total = sum(self.weights)
        self.doubt = self._weigh_doubt(self.key)

    def _add_word(self, word: str, weight: float) -> None:
        if not is_wide(word):
            for stem in analyze(word):
                common = LITTLE if stem in table.COMMON else 1.0
                self._add(stem, word, weight * common, self.stems, stem)
            return
        known = [entry for entry in _wide_entries() if word.startswith(entry)]
        common = LITTLE if word in table.KOREAN_COMMON else 1.0
        for piece in [max(known, key=len)] if known and is_hangul(word[0]) else _pieces(word):
            self._add(piece, word, weight * common, self.pieces, piece)

    def _add(
        self, key: str, word: str, weight: float, shown_by: dict[str, dict[int, float]], entry: str
    ) -> None:
        number = self._numbers.get(key)
        if number is not None:
            self.weights[number] = max(self.weights[number], weight)
            return
        number = self._numbers[key] = len(self.words)
        self.words.append(word)
        self.weights.append(weight)
        for other in _equivalents(word if shown_by is self.pieces else entry):
            place = self.pieces if other[0] >= _FIRST_WIDE else self.stems
            place.setdefault(other, {})[number] = SYNONYM
        shown_by.setdefault(entry, {})[number] = SAME

    def _weigh_doubt(self, key: int | None) -> float:
        """Return how little its not being found says of the item, 0 to 0.28.

        The fewer words we know for its terms and its action, the likelier others were used.
        """
        ways = [0] * len(self.words)
        for terms in (*self.stems.values(), *self.pieces.values()):
            for number in terms:
                ways[number] += 1
        known = sum(w * math.log(n) for w, n in zip(self.weights, ways, strict=True))
        known /= self.total or 1.0
        known_key = known if key is None else math.log(ways[key])
        return max(0.0, DOUBT * (ALL_KNOWN - (known + known_key) / 2))

    def _find_key(self, plain: str) -> int | None:
        """Return the term that names the action: the first telling word, in Korean the last."""
        main = plain.rsplit(",", 1)[-1] if re.match(table.CONDITION, plain) else plain
        words = re.findall(_PART, main)
        if words and is_hangul(words[-1][0]):
            words.reverse()
        for word in words:
            for number, own in enumerate(self.words):
                if own == word and self.weights[number] >= 1.0:
                    return number
        return None


@lru_cache(maxsize=512)
def read_item(item: str) -> Wanted:
    """Return what an item looks for; the same item is read once."""
    return Wanted(item)


def split_words(text: str) -> list[str]:
    """Return the words of a text as items are split: identifiers into their parts."""
    return re.findall(_PART, text)


def is_wide(word: str) -> bool:
    """Tell whether a word belongs to a script that is searched by parts of words."""
    return word[0] >= _FIRST_WIDE


def is_hangul(character: str) -> bool:
    """Tell whether a character is a Hangul syllable."""
    return "\uac00" <= character <= "\ud7a3"


def beginnings_of(stems: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """Return how words may begin whose stem is one of ``stems``, by their first letters.

    The cheapest filter: a stem differs from the beginning of its word in the last letter at most,
    as in copy, copi.
    """
    kept = set(stems)
    plain = {stem[: max(PREFIX, len(stem) - 1)] for stem in kept}
    plain |= {f"{stem[:-1]}y" for stem in kept if stem.endswith("i")}
    short = {stem[:PREFIX] for stem in kept}
    plain |= {form for form, lemma in IRREGULAR.items() if lemma[:PREFIX] in short}
    found: dict[str, list[str]] = {}
    for beginning in plain:
        found.setdefault(beginning[:PREFIX], []).append(beginning)
    return {start: tuple(own) for start, own in found.items()}


def may_begin(word: str, beginnings: dict[str, tuple[str, ...]]) -> bool:
    """Tell whether a word in lower case begins in one of the ways of ``beginnings_of``."""
    own = beginnings.get(word[:PREFIX])
    return own is not None and word.startswith(own)


def _aim(item: str) -> str:
    forbids = re.search(table.FORBIDS, item) and not re.search(table.PURPOSE, item)
    if re.search(table.UNTOUCHED, item):
        return EITHER
    return AVOID if forbids else DO


def _asides(item: str) -> list[tuple[int, int]]:
    """Return the spans of an item that tell when, what for, or instead of what."""
    spans = []
    for pattern in (table.CONDITION, table.CONTRAST):
        for found in re.finditer(pattern, item):
            end = re.search(r"[,;]", item[found.end() :])
            spans.append((found.start(), found.end() + end.start() if end else len(item)))
    if purpose := re.search(table.PURPOSE, item):
        spans.append(purpose.span(1))
    return spans


def _pieces(run: str) -> list[str]:
    """Return what to look for of a run of wide characters."""
    if is_hangul(run[0]):
        return [_without_ending(run)]
    pieces: list[str] = []
    for part in re.findall(_RUN, run):
        if len(part) <= _WHOLE_RUN or part[0] < "\u3100":
            pieces.append(part)
        else:
            pieces += [part[start : start + 2] for start in range(len(part) - 1)]
    return pieces


def _without_ending(word: str) -> str:
    for ending in table.KOREAN_ENDINGS:
        if word.endswith(ending) and len(word) > len(ending):
            # A word of two syllables is more likely a noun than one syllable and a particle.
            return word if len(word) == _WHOLE_RUN else word[: -len(ending)]
    return word


def _equivalents(entry: str) -> set[str]:
    groups = _groups_of(entry) if entry[0] >= _FIRST_WIDE else _by_entry().get(entry, ())
    return {other for group in groups for other in group}


def _groups_of(word: str) -> list[tuple[str, ...]]:
    found = {
        group: None
        for entry, groups in _wide_entries().items()
        if (entry in word if len(entry) > 1 else word.startswith(entry))
        for group in groups
    }
    return list(found)


@cache
def _by_entry() -> dict[str, list[tuple[str, ...]]]:
    entries: dict[str, list[tuple[str, ...]]] = {}
    for line in table.EQUIVALENTS.split(";"):
        group = tuple(line.split())
        for entry in group:
            entries.setdefault(entry, []).append(group)
    return entries


@cache
def _wide_entries() -> dict[str, list[tuple[str, ...]]]:
    return {entry: groups for entry, groups in _by_entry().items() if entry[0] >= _FIRST_WIDE}

"""The script that most of a text is written in."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

LATIN, OTHER, HANGUL, KANA, HAN, UNKNOWN = "latin", "other", "hangul", "kana", "han", "unknown"
BIGRAM_SCRIPTS = frozenset({HANGUL, KANA, HAN})
"""Those of Korean, Japanese and Chinese, whose terms are pairs of characters."""
_LETTERS = {HANGUL: 3, KANA: 3, HAN: 3, UNKNOWN: 3}
"""Letters of an alphabet that say as much as one character."""
_JAPANESE = 0.1
"""Kana for each Han character from which a text is Japanese."""


def find_script(words: Iterable[str]) -> str:
    """Return the script of most of some words: LATIN, OTHER alphabets, or one of the pairs'."""
    counts: Counter[str] = Counter()
    for word in words:
        if word.isascii():
            counts[LATIN] += len(word)
            continue
        for char in word:
            script = _script_of(char)
            counts[script] += _LETTERS.get(script, 1)
    if counts[KANA] > _JAPANESE * counts[HAN]:
        counts[KANA] += counts.pop(HAN, 0)
    if not counts:
        return LATIN
    return max(counts, key=counts.__getitem__)


def find_script_of_word(word: str) -> str:
    """Return the script of a word; that of its last character in Unicode's order, if mixed."""
    return _script_of(max(word))


def _script_of(char: str) -> str:
    if char < "\u0250":
        return LATIN
    if char < "\u0e00":
        return OTHER
    if "\u3041" <= char <= "\u30ff":
        return KANA
    if "\u4e00" <= char <= "\u9fff":
        return HAN
    return HANGUL if "\uac00" <= char <= "\ud7a3" else UNKNOWN

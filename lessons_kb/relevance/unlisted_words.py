"""How common words are that the table of shares cannot list: those of other languages.

The table is English. It lists nine in ten of the different words of an English prompt, so that a
word it lacks is a rare one. Of a prompt in Spanish or Polish it lists a third: there its silence
says nothing. What is left to go by is a word's length, for in every language the more often a word
is said, the shorter it is (Zipf's law of abbreviation). Of Korean, Japanese and Chinese the table
lists the commonest pairs of characters; of the others, the background prompts tell some.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from math import exp

from lessons_kb.relevance.background_prompts import share_of_background
from lessons_kb.text.analyzer import STOP_WORDS, analyze
from lessons_kb.text.document_frequencies import get_share
from lessons_kb.text.scripts import BIGRAM_SCRIPTS, LATIN, OTHER, find_script, find_script_of_word

_LONGEST = 4_000
"""Characters of a text that are looked at."""
_WORD = re.compile(r"(?<![\w./\\@#$`-])[^\W\d_]+(?:-[^\W\d_]+)*+(?![\w/\\@(=`-]|\.\w)")
"""A word of prose: no part of a path, an address, an identifier, an option or a call."""
_SHORTEST = 2

_DOUBT = 2.0
"""Listed words that every text is given beforehand: a name or two are no language."""
_FEWEST = 12
"""Different words that a card needs for its language to be told: a heading alone, *Confirmación de
Logout*, is of names and of words that English has too."""
_SOME = 0.15
_MOST = 0.3
"""Parts of a text's different words that are unlisted from which its language is: _SOME where
there is a short one among them, a function word. Of the recorded English prompts one in 200 is
taken for another language's, of Spanish, Portuguese and French ones six in seven."""

_SHORT = 3
"""Letters of most function words. The listed share of such a word does not count in another
language: *el*, *de*, *con* are rare in English."""
_STEEPNESS = 0.6
_LEAST = 0.012
"""exp(-_STEEPNESS · (letters - 1)), at least _LEAST: the geometric mean of the shares of words of
so many letters in the recorded English prompts, function words included. Half or a quarter of
_LEAST changes next to nothing."""
_LEAST_PAIR = 0.01
"""Of a pair of characters that no background prompt holds. With 0.005 a third more of the prompts
in Chinese about other things draw a card, with 0.02 a fifth of the right cards is lost."""


def guess_shares(text: str, terms: Iterable[str]) -> dict[str, float]:
    """Return term → share in 0..1 for those of which the table's silence says nothing.

    Empty for a text in a language that the table knows. Left out is what the text writes as a
    name: an identifier, a path, a word in another script than most of the text.
    """
    words = _read_words(text)
    script = find_script(words)
    if script in BIGRAM_SCRIPTS:
        pairs = [one for one in terms if not one.isascii() and get_share(one) is None]
        return {one: max(share_of_background(one, script), _LEAST_PAIR) for one in pairs}
    plain = {one for word in _find_unknown(words) for one in analyze(word)}
    return {one: _guess(one) for one in terms if one in plain and _is_guessed(one)}


def is_known_language(parts: Sequence[str]) -> bool:
    """Tell whether all parts of a card are in a language that the table knows.

    A card that says too little to tell is not: it is then taken for one in the prompt's language.
    """
    read = [dict.fromkeys(_read_words(part), True) for part in (*parts, "\n".join(parts))]
    together = read[-1]
    if len(together) < _FEWEST or find_script(together) in BIGRAM_SCRIPTS:
        return False
    return not any(map(_find_unknown, read))


def _guess(term: str) -> float:
    return max(exp(-_STEEPNESS * (len(term) - 1)), _LEAST)


def _is_guessed(term: str) -> bool:
    return len(term) <= _SHORT or get_share(term) is None


def _read_words(text: str) -> dict[str, bool]:
    """Return the different words of prose in a text, in lower case → whether it has them so."""
    text = text[:_LONGEST]
    shouted = sum(map(str.isupper, text)) > sum(map(str.islower, text))
    words: dict[str, bool] = {}
    for word in set(_WORD.findall(text)):
        lower = word.lower()
        if len(word) >= _SHORTEST and (shouted or word[1:] == lower[1:]):
            words[lower] = words.get(lower, False) or shouted or word == lower
    return words


def _find_unknown(words: Mapping[str, bool]) -> set[str]:
    """Return the words in scripts and languages that the table does not know.

    Which language it is, the words in lower case tell: a title in English is full of names.
    """
    by_script: dict[str, set[str]] = defaultdict(set)
    for word in words:
        by_script[find_script_of_word(word)].add(word)
    latin, other = by_script[LATIN], by_script[OTHER]
    if find_script(words) != LATIN:
        return other
    telling = [word for word in latin if words[word]]
    unlisted = [word for word in telling if not _is_listed(word)]
    least = _SOME if any(len(word) <= _SHORT for word in unlisted) else _MOST
    return other | latin if len(unlisted) >= least * (len(telling) + _DOUBT) else other


@lru_cache(maxsize=20_000)
def _is_listed(word: str) -> bool:
    return word in STOP_WORDS or any(get_share(term) is not None for term in analyze(word))

"""The background: how readily a card is drawn by prompts that are about other things.

A long card about how a team works shares words with every prompt; a short one about one function
with none. What 1,200 prompts about other things make of a card tells the two apart, before any
user's prompt does (hubness, as CSLS corrects it in retrieval). The figure depends on the card's
text alone, so it is measured when the card is read.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import cache, lru_cache
from math import exp, expm1, log, log1p
from operator import mul
from typing import NamedTuple

from lessons_kb.data import read_json_lines, read_lines, read_words
from lessons_kb.text.analyzer import (
    BIGRAM_SCRIPTS,
    LATIN,
    OTHER,
    STOP_WORDS,
    analyze,
    find_script,
    find_script_of_word,
    get_share,
)

FADING = 0.7
"""Each further word counts this much of the one before, the rarest first: words come in company."""
SPREAD = 1.25
"""A card ten times as long holds more than ten times as many common words: topics widen."""
_POWERS = tuple(FADING**place for place in range(256))
"""Of further ones nothing is left."""
PASSAGE = 150
"""Terms of the passages in which the shares of common terms were counted."""
RARE = 0.0005
RARE_PIECE = 0.005
"""Shares of terms that are not listed: of words, and of numbers and CJK bigrams."""
_FIRST_BIGRAM = "\u0e00"


def share_of(term: str) -> float:
    """Return the share of passages of PASSAGE terms that hold a term."""
    if (share := get_share(term)) is not None:
        return share
    return RARE_PIECE if term.isdigit() or term > _FIRST_BIGRAM else RARE


def fade(nats: Iterable[float]) -> float:
    """Return the sum of some evidence, the strongest first, each further piece counting less."""
    return float(sum(map(mul, sorted(nats, reverse=True), _POWERS)))


_PROMPTS = "background_prompts.txt"
UNKNOWN = 2.5
"""For a card that was not measured: a figure that one in twenty of a large brain exceeds."""

LEAST = 4.0
"""Nats that a prompt and a card have to share to count at all."""
# The gate's form without what a brain adds to it (its size, its own document frequencies).
ANSWERED = 2.5
HALF = 0.5
SURPRISE = 0.45
ENOUGH = 8.0
LACKING = -0.5
NONE = 0.01
"""Prompts drawn by a card that draws none: one in a hundred times as many."""


def measure_background(terms: Sequence[str]) -> float:
    """Return the log of how many background prompts a card with these body terms would draw.

    From about -4.6 (none) to 3 (twenty of 1,200).
    """
    by_term, information = read_background()
    passages = (max(len(terms), 1) / PASSAGE) ** SPREAD
    shared, told = [0.0] * len(information), [0.0] * len(information)
    # The commonest term first: `fade` counts each less than the next rarer one.
    for held in sorted((by_term[term] for term in by_term.keys() & set(terms)), reverse=True):
        nats, anywhere = -log(-expm1(log1p(-held.share) * passages)), held.nats
        for prompt in held.prompts:
            shared[prompt] = shared[prompt] * FADING + nats
            told[prompt] += anywhere
    drawn = NONE
    for prompt, nats in enumerate(told):
        if nats >= LEAST:
            answered = nats / information[prompt]
            odds = (
                ANSWERED * log(answered / (HALF + answered))
                + SURPRISE * shared[prompt]
                + (LACKING * (ENOUGH - nats) if nats < ENOUGH else 0)
            )
            drawn += 1 / (1 + exp(-odds))
    return round(log(drawn), 3)


@lru_cache(maxsize=10_000)
def measure_rarity(term: str) -> float:
    """Return how rare a term is in prompts about other things, in nats: 7.8 where none holds it.

    These are the background prompts, and what people type to coding agents, where it is less rare.
    """
    nats = _measure_rarity_in_background(term)
    share = _read_prompt_shares().get(term)
    return min(nats, -log(share)) if share else nats


@cache
def _read_prompt_shares() -> dict[str, float]:
    """Return term → the share of prompts to coding agents that hold it."""
    shares: dict[str, float] = {}
    for share, terms in read_words("prompt_frequencies.txt").items():
        shares.update(dict.fromkeys(terms, float(share)))
    return shares


def read_developer_prompts() -> list[str]:
    """Return prompts to coding agents, with which the thresholds of a brain are found."""
    prompts: list[str] = read_json_lines("developer_prompts.jsonl")
    return prompts


def _measure_rarity_in_background(term: str) -> float:
    # No table of counts: to make one takes a process that asks for a few terms longer than to look.
    text, prompts = _background_text()
    return -log((text.count(f" {term} ") + 0.5) / (prompts + 1))


def share_of_background(term: str, script: str) -> float:
    """Return the share of the background prompts in a script that hold a term; see `find_script`.

    There are 40 to 130 in each of HANGUL, KANA and HAN, so it is one in 40 or nothing.
    """
    prompts = _background_in(script)
    return sum(term in prompt for prompt in prompts) / (len(prompts) + 1)


@cache
def _background_in(script: str) -> tuple[frozenset[str], ...]:
    prompts = (frozenset(line.split()) for line in read_lines(_PROMPTS) if not line.isascii())
    return tuple(prompt for prompt in prompts if find_script(prompt) == script)


@cache
def _background_text() -> tuple[str, int]:
    lines = list(read_lines(_PROMPTS))
    return f" {'  '.join(lines)} ", len(lines)


class HeldTerm(NamedTuple):
    """One term of the background, ordered from the rarest to the commonest."""

    share: float
    """Share of passages that hold it."""
    nats: float
    prompts: tuple[int, ...]
    """Numbers of the prompts that hold it."""


@cache
def read_background() -> tuple[dict[str, HeldTerm], list[float]]:
    """Return each term of the prompts, and the nats of each prompt's terms."""
    by_term: dict[str, list[int]] = defaultdict(list)
    prompts = [line.split() for line in read_lines(_PROMPTS)]
    for number, terms in enumerate(prompts):
        for term in terms:
            by_term[term].append(number)
    held = {}
    for term, numbers in by_term.items():
        share = share_of(term)
        held[term] = HeldTerm(share=share, nats=-log(share), prompts=tuple(numbers))
    return held, [sum(held[term].nats for term in terms) or 1.0 for terms in prompts]


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
_LEAST_SHARE = 0.012
"""exp(-_STEEPNESS · (letters - 1)), at least _LEAST_SHARE: the geometric mean of the shares of
words of so many letters in the recorded English prompts, function words included. Half or a quarter
of _LEAST_SHARE changes next to nothing."""
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
    return {
        one: max(exp(-_STEEPNESS * (len(one) - 1)), _LEAST_SHARE)
        for one in terms
        if one in plain and (len(one) <= _SHORT or get_share(one) is None)
    }


@lru_cache(maxsize=10_000)
def is_known_language(parts: tuple[str, ...]) -> bool:
    """Tell whether all parts of a card are in a language that the table knows.

    A card that says too little to tell is not: it is then taken for one in the prompt's language.
    """
    read = [dict.fromkeys(_read_words(part), True) for part in (*parts, "\n".join(parts))]
    together = read[-1]
    if len(together) < _FEWEST or find_script(together) in BIGRAM_SCRIPTS:
        return False
    return not any(map(_find_unknown, read))


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
        by_script[LATIN if word.isascii() else find_script_of_word(word)].add(word)
    latin, other = by_script[LATIN], by_script[OTHER]
    if find_script(words) != LATIN:
        return other
    telling = [word for word in latin if words[word]]
    unlisted = [word for word in telling if not _is_listed(word)]
    least = _SOME if min(map(len, unlisted), default=_SHORT + 1) <= _SHORT else _MOST
    return other | latin if len(unlisted) >= least * (len(telling) + _DOUBT) else other


@lru_cache(maxsize=20_000)
def _is_listed(word: str) -> bool:
    return word in STOP_WORDS or any(get_share(term) is not None for term in analyze(word))

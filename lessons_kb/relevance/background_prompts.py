"""The background of a card, which is its base rate: how often unrelated prompts match it.

A long card about how a team works shares words with every prompt, but a short card about one
function shares words with none. The matches of 1,200 unrelated prompts distinguish the two before a
user sends a prompt (this corrects for hubness, like CSLS in retrieval). The figure depends only on
the card's text, so it is measured when the card is read.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import cache, lru_cache
from itertools import count
from math import exp, expm1, log, log1p
from operator import mul

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
from lessons_kb.values import NamedTuple

FADING = 0.7
"""Factor for each further word, the rarest word first, because words occur together."""
SPREAD = 1.25
"""The exponent of length. A card ten times as long has over ten times as many common words."""
_POWERS = tuple(FADING**place for place in range(256))
"""The first powers of FADING. Further powers are close to 0."""
PASSAGE = 150
"""The length, in terms, of the passages in which the shares of common terms were counted."""
RARE = 0.0005
RARE_PIECE = 0.005
"""Shares of terms that are not listed: RARE for words, RARE_PIECE for numbers and CJK bigrams."""
_FIRST_BIGRAM = "\u0e00"


def share_of(term: str) -> float:
    """Return the share of passages of PASSAGE terms that contain a term."""
    if (share := get_share(term)) is not None:
        return share
    return RARE_PIECE if term.isdigit() or term > _FIRST_BIGRAM else RARE


def fade(nats: Iterable[float]) -> float:
    """Return the sum of ``nats``, starting with the largest. Each further value counts less."""
    return float(sum(map(mul, sorted(nats, reverse=True), _POWERS)))


_PROMPTS = "background_prompts.txt"
UNKNOWN = 2.5
"""The background of a card that was not measured. It is exceeded by 5 % of the cards of a large
brain.
"""

LEAST = 4.0
"""The minimum information, in nats, that a prompt and a card must share to count as a match."""
# The gate's formula without the parts that depend on a brain (its size, its frequencies).
ANSWERED = 2.5
HALF = 0.5
SURPRISE = 0.45
ENOUGH = 8.0
LACKING = -0.5
NONE = 0.01
"""The count for a card that no prompt matches, as if 100 times as many prompts had one match."""


def measure_background(terms: Sequence[str]) -> float:
    """Return the log of the number of background prompts that match a card with these body terms.

    The result is between about -4.6 (none) and 3 (twenty of 1,200).
    """
    by_term, information = read_background()
    passages = (max(len(terms), 1) / PASSAGE) ** SPREAD
    shared = [0.0] * len(information)
    nats_of_prompt = [0.0] * len(information)
    background_terms = [by_term[term] for term in by_term.keys() & set(terms)]
    # The most common term comes first. As in `fade`, each term counts less than the next rarer
    # term.
    for term in sorted(background_terms, reverse=True):
        nats_in_card = -log(-expm1(log1p(-term.share) * passages))
        for prompt in term.prompts:
            shared[prompt] = shared[prompt] * FADING + nats_in_card
            nats_of_prompt[prompt] += term.nats
    matches = NONE
    for prompt, nats in enumerate(nats_of_prompt):
        if nats >= LEAST:
            answered = nats / information[prompt]
            odds = (
                ANSWERED * log(answered / (HALF + answered))
                + SURPRISE * shared[prompt]
                + (LACKING * (ENOUGH - nats) if nats < ENOUGH else 0)
            )
            matches += 1 / (1 + exp(-odds))
    return round(log(matches), 3)


@lru_cache(maxsize=10_000)
def measure_rarity(term: str) -> float:
    """Return the rarity of a term in unrelated prompts, in nats, which is 7.8 if no prompt contains
    the term.

    It is the lower of two figures, from the background prompts and from prompts to coding agents.
    """
    nats = _measure_rarity_in_background(term)
    share = _read_prompt_shares().get(term)
    return min(nats, -log(share)) if share else nats


@cache
def _read_prompt_shares() -> dict[str, float]:
    """Return a mapping from each term to the share of prompts to coding agents that contain it."""
    shares: dict[str, float] = {}
    for share, terms in read_words("prompt_frequencies.txt").items():
        shares.update(dict.fromkeys(terms, float(share)))
    return shares


def read_developer_prompts() -> list[str]:
    """Return prompts to coding agents, from which the thresholds of a brain are derived."""
    prompts: list[str] = read_json_lines("developer_prompts.jsonl")
    return prompts


_FEW_TERMS = 200
"""The number of terms whose prompts are counted in the text, which takes 0.1 ms each. For a process
that looks up more terms, a table of all counts is faster."""
_terms_looked_up = count()


def _measure_rarity_in_background(term: str) -> float:
    text, prompts = _background_text()
    if next(_terms_looked_up) < _FEW_TERMS:
        with_term = text.count(f" {term} ")
    else:
        with_term = _count_background_terms()[term]
    return -log((with_term + 0.5) / (prompts + 1))


@cache
def _count_background_terms() -> Counter[str]:
    """Return the number of background prompts with each term. No prompt repeats a term."""
    return Counter(_background_text()[0].split())


def share_of_background(term: str, script: str) -> float:
    """Return the share of the background prompts in a script that contain a term.

    `find_script` names the scripts. There are only 40 to 130 prompts in each of HANGUL, KANA and
    HAN, so the share is coarse.
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


class BackgroundTerm(NamedTuple):
    """One term of the background, ordered from the rarest to the most common."""

    share: float
    """The share of passages that contain it."""
    nats: float
    prompts: tuple[int, ...]
    """The numbers of the prompts that contain it."""


@cache
def read_background() -> tuple[dict[str, BackgroundTerm], list[float]]:
    """Return a mapping from each term to its data, and the sum of the nats of each prompt's
    terms.
    """
    by_term: dict[str, list[int]] = defaultdict(list)
    prompts = [line.split() for line in read_lines(_PROMPTS)]
    for number, terms in enumerate(prompts):
        for term in terms:
            by_term[term].append(number)
    background_terms = {}
    for term, numbers in by_term.items():
        share = share_of(term)
        background_terms[term] = BackgroundTerm(
            share=share, nats=-log(share), prompts=tuple(numbers)
        )
    sums = [sum(background_terms[term].nats for term in terms) for terms in prompts]
    return background_terms, [nats or 1.0 for nats in sums]


_LONGEST = 4_000
"""The maximum number of characters of a text that are read."""
_WORD = re.compile(r"(?<![\w./\\@#$`-])[^\W\d_]+(?:-[^\W\d_]+)*+(?![\w/\\@(=`-]|\.\w)")
"""A word of prose, as opposed to a part of a path, address, identifier, option or call."""
_SHORTEST = 2

_DOUBT = 2.0
"""Listed words that are added to every text, so that one or two names do not set its language."""
_FEWEST = 12
"""The minimum number of different words in a card whose language can be detected: a heading alone,
such as *Confirmación de Logout*, consists of names and of words that also occur in English."""
_SOME = 0.15
_MOST = 0.3
"""The share of a text's different words that must be unlisted for its language to count as unknown;
_SOME if an unlisted word is short, and so probably a function word. One in 200 of the recorded
English prompts is classified as another language, and six in seven of the Spanish, Portuguese and
French prompts."""

_SHORT = 3
"""The maximum number of letters of most function words. The listed share of such a word does not
apply in another language: *el*, *de*, *con* are rare in English."""
_STEEPNESS = 0.6
_LEAST_SHARE = 0.012
"""The share of an unlisted word is exp(-_STEEPNESS · (letters - 1)), at least _LEAST_SHARE. It is
the geometric mean of the shares of words with this number of letters in the recorded English
prompts, including function words. Half or a quarter of _LEAST_SHARE changes almost nothing."""
_LEAST_PAIR = 0.01
"""The share of a pair of characters that no background prompt contains. With 0.005, a third more of
the unrelated Chinese prompts match a card; with 0.02, a fifth of the right cards is lost."""


def guess_shares(text: str, terms: Iterable[str]) -> dict[str, float]:
    """Return a mapping from terms in a language that the table does not cover to estimated shares
    in 0..1.

    The result is empty for a text in a language that the table covers. Terms that the text uses as
    names are left out: identifiers, paths, and words in another script than most of the text.
    """
    words = _read_words(text)
    script = find_script(words)
    if script in BIGRAM_SCRIPTS:
        pairs = [term for term in terms if not term.isascii() and get_share(term) is None]
        return {pair: max(share_of_background(pair, script), _LEAST_PAIR) for pair in pairs}
    plain: set[str] = set()
    for word in _find_unknown(words):
        plain.update(analyze(word))
    shares = {}
    for term in terms:
        if term in plain and (len(term) <= _SHORT or get_share(term) is None):
            shares[term] = max(exp(-_STEEPNESS * (len(term) - 1)), _LEAST_SHARE)
    return shares


@lru_cache(maxsize=10_000)
def is_known_language(parts: tuple[str, ...]) -> bool:
    """Return whether all parts of a card are in a language that the table covers.

    The result is False if a card is too short to detect its language. The card then counts as
    written in the prompt's language.
    """
    read = [dict.fromkeys(_read_words(part), True) for part in (*parts, "\n".join(parts))]
    together = read[-1]
    if len(together) < _FEWEST or find_script(together) in BIGRAM_SCRIPTS:
        return False
    return not any(map(_find_unknown, read))


def _read_words(text: str) -> dict[str, bool]:
    """Return a mapping from each word of prose, in lower case, to whether the text has it in lower
    case.
    """
    text = text[:_LONGEST]
    shouted = sum(map(str.isupper, text)) > sum(map(str.islower, text))
    words: dict[str, bool] = {}
    for word in set(_WORD.findall(text)):
        lower = word.lower()
        if len(word) >= _SHORTEST and (shouted or word[1:] == lower[1:]):
            words[lower] = words.get(lower, False) or shouted or word == lower
    return words


def _find_unknown(words: Mapping[str, bool]) -> set[str]:
    """Return the words in scripts and languages that the table does not cover.

    The words in lower case decide on the language, because an English title is full of names.
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

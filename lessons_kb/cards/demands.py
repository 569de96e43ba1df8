"""Read the demands of a card: the orders and the prohibitions in its title and its checklist.

Each sentence is one demand. It has a subject (the words for its object) and a direction (whether it
demands or forbids the object).
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import cache, lru_cache
from itertools import pairwise
from typing import NamedTuple

from lessons_kb.data import read_toml
from lessons_kb.model import Card
from lessons_kb.text.analyzer import STOP_WORDS, analyze

_TABLE = read_toml("opposed_words.toml")
_NEGATIVE = frozenset(_TABLE["negative"].split())
_POSITIVE = frozenset(_TABLE["positive"].split())
_DENIALS = frozenset(_TABLE["denials"].split())
"""Words that deny the words after them."""
_MOMENTS = frozenset({"before", "during", "after"})
_LIMITS = {
    word: kind if kind in _MOMENTS else word
    for kind, words in _TABLE["limits"].items()
    for word in words.split()
}
"""Maps a word that begins a condition or a place of a demand to its kind."""
_ORDINARY = frozenset(_TABLE["ordinary"].split())
"""Verbs and measures that are too common to identify a subject."""
_EXCEPTION = re.compile(
    r"\b(?:except|exceptions?|unless|exempt|elsewhere|otherwise|everywhere else|anywhere else)\b",
    re.IGNORECASE,
)

_TOKEN = re.compile(r"[^\W_][\w'’]*|[,;:.!?()]")
_WORD = re.compile(r"[A-Za-z][A-Za-z'’]*")
_SENTENCE_END = re.compile(r"(?<=[.!?;])\s+(?=[A-Z`])")
_SPECIFIC = re.compile(
    r"`[^`]+`|\b\w*\d\w*\b|\b\w+[._/]\w[\w./]*|\b[a-z]+[A-Z]\w*|\b\w+_\w+\b|(?<!\w)\.\w[\w.]*"
)
"""Words that distinguish subjects: code, numbers, names of files and identifiers."""
_INSTEAD = re.compile(
    r"\b(?P<good>[\w.`/-]+)(?: \w+)? (?:instead of|rather than|over|not) (?P<bad>[\w.`/-]+)",
    re.IGNORECASE,
)
_ARTICLES = frozenset(_TABLE["articles"].split())
_PUNCTUATION = frozenset(",;:.!?()")
_FIRST_WORDS = 3
_LONGEST_LIMIT = 6
"""In words."""
_MAX_ITEMS = 30
_REMEMBERED = 200_000
"""Sentences. A daemon compares the same cards again after each change."""


class Side(NamedTuple):
    """A word that has an opposite."""

    word: str
    """The stem of the word."""
    pair: int
    """The number of its pair of opposites."""
    place: int
    """Its place in the pair, 0 or 1."""
    is_step: bool
    """Whether both words may be demanded, one after the other."""


class Demand(NamedTuple):
    """The demand in one sentence of a card."""

    text: str
    subject: frozenset[str]
    """The stems of the words for the subject."""
    specific: frozenset[str]
    """The names, numbers and code in the sentence."""
    is_negative: bool
    sides: frozenset[Side]
    """The words of the sentence that belong to a pair of opposites."""
    preferred: tuple[str, str]
    """The preferred thing and the rejected alternative, or ("", "") without such a pair."""
    verb: str
    """The first word that is not a function word. It is usually the verb of an order."""
    attributes: Mapping[str, str]
    """Maps a word to the content word just before it: ``{"branch": "featur"}``."""
    heads: Mapping[str, str]
    """Maps a word to the content word just after it: ``{"featur": "branch"}``."""
    limits: frozenset[tuple[str, frozenset[str]]]
    """The conditions and places that limit the demand: the kind and the words of each."""
    scopes: frozenset[tuple[int, int]]
    """The limiting words, by their places among words that exclude each other."""
    is_exception: bool
    is_title: bool = False


class _Token(NamedTuple):
    word: str
    stem: str


def read_demands(card: Card) -> list[Demand]:
    """Return the demands of a card: the sentences of its title and of its checklist."""
    demands = [demand._replace(is_title=True) for demand in _read_sentences(card.title)]
    for item in card.checklist[: _MAX_ITEMS - 1]:
        demands += _read_sentences(item)
    return demands


def _read_sentences(text: str) -> Iterator[Demand]:
    for sentence in _SENTENCE_END.split(text):
        yield _read_demand(sentence)


@lru_cache(_REMEMBERED)
def _read_demand(text: str) -> Demand:
    """Return the demand of one sentence. See ``Demand`` for its parts.

    ``attributes`` and ``heads`` come from all neighbouring words, not only from those of the verb.
    """
    words = [word.replace("’", "'").casefold() for word in _WORD.findall(text)]
    is_negative = sum(word in _NEGATIVE for word in words) % 2 == 1
    terms = {stem for stem in analyze(text) if stem not in _FUNCTION_STEMS}
    sides = {side for word in words for side in _SIDES.get(stem_word(word), ())}
    side_words = {side.word for side in sides}
    specific = frozenset(name.strip("`").casefold() for name in _SPECIFIC.findall(text))
    preferred = ("", "")
    if instead := _INSTEAD.search(text):
        preferred = (stem_word(instead["good"]), stem_word(instead["bad"]))
    tokens = _read_tokens(text)
    verb = _find_verb(tokens)
    attributes, heads = _find_neighbours(tokens, verb)
    return Demand(
        text=text,
        subject=frozenset(terms - side_words),
        specific=specific,
        is_negative=is_negative,
        sides=frozenset(sides),
        preferred=preferred,
        verb=tokens[verb].stem if verb >= 0 else "",
        attributes=attributes,
        heads=heads,
        limits=frozenset(_find_limits(tokens)),
        scopes=frozenset(scope for token in tokens for scope in _SCOPES.get(token.stem, ())),
        is_exception=_EXCEPTION.search(text) is not None,
    )


@cache
def stem_word(word: str) -> str:
    """Return the stem of one word."""
    return next(iter(analyze(word)), word.casefold())


def _is_content(word: str) -> bool:
    return word not in STOP_WORDS and word not in _ORDINARY and word not in _PUNCTUATION


def _read_tokens(text: str) -> list[_Token]:
    """Return the words and the punctuation of a sentence."""
    words = [word.replace("’", "'").casefold() for word in _TOKEN.findall(text)]
    return [_Token(word=word, stem=stem_word(word)) for word in words]


def _find_verb(tokens: Sequence[_Token]) -> int:
    """Return the position of the first word that is not a function word, or -1 without one.

    If a sentence begins with a denial ("Allow no …"), this is the first word that is denied.
    """
    first_words = [token.word for token in tokens[:_FIRST_WORDS]]
    start = next((place + 1 for place, word in enumerate(first_words) if word in _DENIALS), 0)
    for place, token in enumerate(tokens[start:], start):
        if token.word not in _FUNCTION_WORDS and token.word not in _PUNCTUATION:
            return place
    return -1


def _find_neighbours(
    tokens: Sequence[_Token], verb: int
) -> tuple[Mapping[str, str], Mapping[str, str]]:
    """Return the attribute of each word, and the word to which each word is an attribute.

    Articles between two words are ignored. A verb at the beginning is not an attribute of any word,
    but the word after it is its object.
    """
    attributes: dict[str, str] = {}
    heads: dict[str, str] = {}
    places = [place for place, token in enumerate(tokens) if token.word not in _ARTICLES]
    for first, second in pairwise(places):
        before, token = tokens[first], tokens[second]
        if not _is_content(token.word):
            continue
        if first == verb:
            heads[before.stem] = token.stem
        elif _is_content(before.word):
            attributes[token.stem] = before.stem
            heads[before.stem] = token.stem
    return attributes, heads


def _find_limits(tokens: Sequence[_Token]) -> Iterator[tuple[str, frozenset[str]]]:
    """Yield the kind and the words of each limit."""
    for place, token in enumerate(tokens):
        kind = _LIMITS.get(token.word)
        before = tokens[place - 1].word if place else ""
        if kind is None or (before == "at" and token.word == "once"):
            continue
        stems = set()
        for following in tokens[place + 1 : place + 1 + _LONGEST_LIMIT]:
            if following.word in _PUNCTUATION or following.word in _LIMITS:
                break
            if _is_content(following.word):
                stems.add(following.stem)
        if stems:
            yield kind, frozenset(stems)


def _read_sides() -> Mapping[str, Sequence[Side]]:
    sides: dict[str, list[Side]] = defaultdict(list)
    for number, pair in enumerate(_TABLE["opposites"]):
        for place, name in enumerate(pair):
            word = stem_word(name)
            sides[word].append(Side(word, number, place, is_step=pair[0] in _TABLE["steps"]))
    return sides


def _read_scopes() -> Mapping[str, Sequence[tuple[int, int]]]:
    """Return a mapping from the stem of each limiting word to its places among such words."""
    scopes: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for number, pair in enumerate(_TABLE["scopes"]):
        for place, word in enumerate(pair):
            scopes[stem_word(word)].append((number, place))
    return scopes


_SIDES = _read_sides()
_SCOPES = _read_scopes()
_FUNCTION_WORDS = _NEGATIVE | _POSITIVE | STOP_WORDS
_FUNCTION_STEMS = frozenset(stem_word(word) for word in (*_NEGATIVE, *_POSITIVE))

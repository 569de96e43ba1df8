"""Read the demands of a card: the orders and the prohibitions in its title and its checklist.

Each sentence is one demand. It has a subject (the words for its object), a direction (whether it
demands or forbids the object), and its answers to the questions of practice in
``opposed_practices.toml``, such as "tabs or spaces?".
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
MOMENTS = frozenset({"before", "during", "after"})
"""The kinds of limits that exclude each other."""
_LIMITS = {
    word: kind if kind in MOMENTS else word
    for kind, words in _TABLE["limits"].items()
    for word in words.split()
}
"""Maps a word that begins a condition or a place of a demand to its kind."""
_CONDITIONS = frozenset(_TABLE["limits"]["condition"].split())
_COMPARISONS = frozenset({("rather", "than"), ("instead", "of")})
_ORDINARY = frozenset(_TABLE["ordinary"].split())
"""Verbs and measures that are too common to identify a subject."""
_STATEMENTS = frozenset(_TABLE["statements"].split())
_EXCEPTION = re.compile(
    r"\b(?:except|exceptions?|unless|exempt|elsewhere|otherwise|everywhere else|anywhere else)\b",
    re.IGNORECASE,
)
_NUMBERS = {word: number for number, word in enumerate(_TABLE["numbers"].split(), 1)}
_SECONDS: Mapping[str, int] = _TABLE["seconds"]
"""Maps a unit of time, or a word for a period, to its seconds."""
_DIGITS = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h|d|%)?")

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
_MAX_GAP = 3
"""The maximum number of words between two words of a cue."""
_DENIED_WORDS = 5
"""The number of words after a denial to which it applies."""
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


class Answer(NamedTuple):
    """The answer that a demand gives to a question of practice."""

    practice: str
    number: int
    """The number of the answer among the answers of the practice."""
    is_denied: bool


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
    answers: frozenset[Answer]
    topic: frozenset[str]
    """The stems of the content words, including cues but not ordinary verbs."""
    denied: frozenset[str]
    """The words of the topic that the demand denies."""
    answers_by_verb: bool
    """Whether the verb belongs to an answer."""
    verb: str
    """The first word that is not a function word. It is usually the verb of an order."""
    attributes: Mapping[str, str]
    """Maps a word to the content word just before it: ``{"branch": "featur"}``."""
    heads: Mapping[str, str]
    """Maps a word to the content word just after it: ``{"featur": "branch"}``."""
    limits: frozenset[tuple[str, frozenset[str]]]
    """The conditions and places that limit the demand: the kind and the words of each."""
    limit_words: frozenset[str]
    """The words of the moments and conditions."""
    amounts: Mapping[str, frozenset[float]]
    """Maps the unit of the only number to that number. Times are in seconds."""
    scopes: frozenset[tuple[int, int]]
    """The limiting words, by their places among words that exclude each other."""
    is_exception: bool
    is_order: bool
    """Whether the sentence is an order. A title may name the mistake instead."""
    is_title: bool = False

    @property
    def words(self) -> frozenset[str]:
        """All words by which another demand may have the same subject."""
        return self.subject | self.topic


class _Token(NamedTuple):
    word: str
    stem: str
    is_denied: bool


class _Cue(NamedTuple):
    """A sequence of stems that answers a question of practice."""

    stems: tuple[str, ...]
    practice: str
    number: int


def read_demands(card: Card) -> list[Demand]:
    """Return the demands of a card: the sentences of its title and of its checklist."""
    demands = []
    for demand in _read_sentences(card.title):
        first_word = demand.text.split(" ", 1)[0].casefold()
        demands.append(demand._replace(is_title=True, is_order=first_word in _ORDERS))
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
    answers, cue_places = _find_answers(tokens)
    verb = _find_verb(tokens)
    attributes, heads = _find_neighbours(tokens, cue_places, verb)
    limits = frozenset(_find_limits(tokens, cue_places))
    topic = frozenset(token.stem for token in tokens if _is_content(token.word))
    return Demand(
        text=text,
        subject=frozenset(terms - side_words),
        specific=specific,
        is_negative=is_negative,
        sides=frozenset(sides),
        preferred=preferred,
        answers=answers,
        topic=topic,
        denied=topic & {token.stem for token in tokens if token.is_denied},
        answers_by_verb=verb in cue_places,
        verb=tokens[verb].stem if verb >= 0 else "",
        attributes=attributes,
        heads=heads,
        limits=limits,
        limit_words=frozenset[str]().union(
            *(words for kind, words in limits if kind in MOMENTS or kind in _CONDITIONS)
        ),
        amounts=_find_amounts(tokens),
        scopes=frozenset(scope for token in tokens for scope in _SCOPES.get(token.stem, ())),
        is_exception=_EXCEPTION.search(text) is not None,
        is_order=bool(words) and words[0] not in _STATEMENTS,
    )


@cache
def stem_word(word: str) -> str:
    """Return the stem of one word."""
    return next(iter(analyze(word)), word.casefold())


def _is_content(word: str) -> bool:
    return word not in STOP_WORDS and word not in _ORDINARY and word not in _PUNCTUATION


def _read_tokens(text: str) -> list[_Token]:
    """Return the words and the punctuation of a sentence. A denial ends at the next comma."""
    tokens = []
    words_left = 0
    words = [word.replace("’", "'").casefold() for word in _TOKEN.findall(text)]
    for place, word in enumerate(words):
        if word in _PUNCTUATION or word == "but":
            words_left = 0
        tokens.append(_Token(word=word, stem=stem_word(word), is_denied=words_left > 0))
        words_left = max(0, words_left - 1)
        following = words[place + 1] if place + 1 < len(words) else ""
        denies = word in _DENIALS and following not in {"only", "just"}
        if denies or (word, following) in _COMPARISONS:
            words_left = _DENIED_WORDS
    return tokens


def _find_answers(tokens: Sequence[_Token]) -> tuple[frozenset[Answer], set[int]]:
    """Return the answers of a sentence, and the positions of the words that give them.

    If a sentence answers a question in two ways, neither answer counts.
    """
    lengths: dict[Answer, int] = {}
    covered: dict[str, set[int]] = defaultdict(set)
    matches = []
    for start, token in enumerate(tokens):
        for cue in _CUES.get(token.stem, ()):
            places = _match_cue(tokens, start, cue.stems)
            if places:
                matches.append((len(cue.stems), places, cue))
    matches.sort(key=lambda match: -match[0])
    for length, places, cue in matches:
        if covered[cue.practice].intersection(places):
            continue  # a longer cue is more exact
        covered[cue.practice].update(places)
        is_denied = tokens[places[0]].is_denied
        lengths.setdefault(Answer(cue.practice, cue.number, is_denied), length)
    by_practice: dict[str, set[Answer]] = defaultdict(set)
    for answer in lengths:
        by_practice[answer.practice].add(answer)
    answers: set[Answer] = set()
    for group in by_practice.values():
        asserted = {answer.number for answer in group if not answer.is_denied}
        if len(asserted) <= 1:
            answers.update(group)
    places_of = {answer.practice: covered[answer.practice] for answer in answers}
    return frozenset(answers), set[int]().union(*places_of.values())


def _match_cue(tokens: Sequence[_Token], start: int, stems: tuple[str, ...]) -> list[int]:
    """Return the positions of a cue that begins at a token, or [] if it does not begin there."""
    places = [start]
    for stem in stems[1:]:
        first = places[-1] + 1
        for place in range(first, min(first + _MAX_GAP + 1, len(tokens))):
            if tokens[place].stem == stem:
                places.append(place)
                break
            if tokens[place].word in _PUNCTUATION:
                return []
        else:
            return []
    return places


def _find_amounts(tokens: Sequence[_Token]) -> Mapping[str, frozenset[float]]:
    amounts: dict[str, set[float]] = defaultdict(set)
    for place, token in enumerate(tokens):
        following = tokens[place + 1].word if place + 1 < len(tokens) else ""
        digits = _DIGITS.fullmatch(token.word)
        number = float(digits[1]) if digits else float(_NUMBERS.get(token.word, 0))
        unit = digits[2] if digits and digits[2] else following.rstrip("s")
        if number and unit in _SECONDS:
            amounts["time"].add(number * _SECONDS[unit])
        elif number:
            amounts[stem_word(following) if following else ""].add(number)
        elif token.word in _SECONDS and place and tokens[place - 1].word not in _NUMBERS:
            amounts["time"].add(float(_SECONDS[token.word]))
    if sum(map(len, amounts.values())) > 1:
        return {}  # a range, or several rules
    return {unit: frozenset(numbers) for unit, numbers in amounts.items()}


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
    tokens: Sequence[_Token], cue_places: set[int], verb: int
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
        elif second in cue_places:
            continue
        elif _is_content(before.word) and first not in cue_places:
            attributes[token.stem] = before.stem
            heads[before.stem] = token.stem
    return attributes, heads


def _find_limits(
    tokens: Sequence[_Token], cue_places: set[int]
) -> Iterator[tuple[str, frozenset[str]]]:
    """Yield the kind and the words of each limit. An answer to a question is not a limit."""
    for place, token in enumerate(tokens):
        kind = _LIMITS.get(token.word)
        before = tokens[place - 1].word if place else ""
        if kind is None or (before == "at" and token.word == "once"):
            continue
        stems = set()
        last = min(place + 1 + _LONGEST_LIMIT, len(tokens))
        for number in range(place + 1, last):
            following = tokens[number]
            if following.word in _PUNCTUATION or following.word in _LIMITS:
                break
            if _is_content(following.word) and number not in cue_places:
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


def _read_cues() -> Mapping[str, Sequence[_Cue]]:
    """Return a mapping from the first stem of a cue to the cues that begin with it."""
    cues: dict[str, list[_Cue]] = defaultdict(list)
    for practice, answers in _PRACTICES.items():
        for number, texts in enumerate(answers):
            for text in texts.split("|"):
                stems = tuple(stem_word(word) for word in _TOKEN.findall(text.strip()))
                cues[stems[0]].append(_Cue(stems, practice, number))
    return cues


_PRACTICES: Mapping[str, Sequence[str]] = read_toml("opposed_practices.toml")["practices"]
COMMON_PRACTICES = frozenset(read_toml("opposed_practices.toml")["common"].split())
"""The practices whose cues are everyday words."""
BINARY = frozenset(
    practice for practice, answers in _PRACTICES.items() if len(answers) == len("01")
)
"""The practices with two answers that deny each other."""
_SIDES = _read_sides()
_CUES = _read_cues()
_SCOPES = _read_scopes()
_FUNCTION_WORDS = _NEGATIVE | _POSITIVE | STOP_WORDS
_ORDERS = _NEGATIVE | _POSITIVE
"""Words at the beginning of a title that is an order."""
_FUNCTION_STEMS = frozenset(stem_word(word) for word in (*_NEGATIVE, *_POSITIVE))

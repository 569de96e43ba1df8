"""Find pairs of cards that make opposite demands about the same subject.

A demand is a title or a checklist item, split into its subject (the words for the thing that it is
about) and its direction (whether it demands or forbids the thing). Two demands are opposed if their
subjects are the same and their directions differ. Words that distinguish subjects, such as numbers,
names and code, must be equal: the same demand about another module is not a conflict.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from lessons_kb.data import read_toml
from lessons_kb.model import Card, Pattern
from lessons_kb.on_demand import MATCH_PATTERNS, load
from lessons_kb.text.analyzer import analyze

_TABLE = read_toml("opposed_words.toml")
_NEGATIVE = frozenset(_TABLE["negative"].split())
_POSITIVE = frozenset(_TABLE["positive"].split())
_WORD = re.compile(r"[A-Za-z][A-Za-z'’]*")
_LEAST_SHARED = 2
"""The minimum number of subject words that two opposed demands share."""
_ALIKE = 0.6
"""The minimum share of all words of two subjects that both subjects contain."""
_SPECIFIC = re.compile(r"`[^`]+`|\b\w*\d\w*\b|\b\w+[._/]\w[\w./]*|\b[a-z]+[A-Z]\w*|\b\w+_\w+\b")
"""Words that distinguish subjects: code, numbers, names of files and identifiers."""
_INSTEAD = re.compile(
    r"\b(?P<good>[\w.`/-]+)(?: \w+)? (?:instead of|rather than|over|not) (?P<bad>[\w.`/-]+)",
    re.IGNORECASE,
)
_MOST_DEMANDS = 30


class Side(NamedTuple):
    """A word that has an opposite."""

    word: str
    """Its stem."""
    pair: int
    """The number of the pair of opposites."""
    place: int
    """Its place in the pair, 0 or 1."""


class Demand(NamedTuple):
    """The demand in one sentence of a card."""

    text: str
    subject: frozenset[str]
    """The stems of the words for its subject."""
    specific: frozenset[str]
    """The names, numbers and code in it."""
    is_negative: bool
    sides: frozenset[Side]
    """The words in it that belong to a pair of opposites."""
    preferred: tuple[str, str]
    """The preferred thing and the rejected alternative; ("", "") if it names no such pair."""
    is_title: bool = False
    """Whether it is the title, which may name the mistake instead of what to do."""


class Conflict(NamedTuple):
    """Two opposed demands."""

    first: Card
    second: Card
    demand: str
    """The demand of the first card."""
    opposed: str
    """The opposed demand of the second card."""


def _stem(word: str) -> str:
    return next(iter(analyze(word)), word.casefold())


def _read_sides() -> Mapping[str, Sequence[Side]]:
    sides: dict[str, list[Side]] = defaultdict(list)
    for number, pair in enumerate(_TABLE["opposites"]):
        for place, name in enumerate(pair):
            word = _stem(name)
            sides[word].append(Side(word, number, place))
    return sides


_SIDES = _read_sides()


def read_demands(card: Card) -> list[Demand]:
    """Return the demands of a card: its title and the items of its checklist."""
    title = _read_demand(card.title)._replace(is_title=True)
    return [title, *map(_read_demand, card.checklist[: _MOST_DEMANDS - 1])]


def _read_demand(text: str) -> Demand:
    words = [word.replace("’", "'").casefold() for word in _WORD.findall(text)]
    is_negative = sum(word in _NEGATIVE for word in words) % 2 == 1
    terms = {stem for stem in analyze(text) if stem not in _FUNCTION_STEMS}
    sides = {side for word in map(_stem, words) for side in _SIDES.get(word, ())}
    named = {side.word for side in sides}
    specific = frozenset(name.strip("`").casefold() for name in _SPECIFIC.findall(text))
    preferred = ("", "")
    if instead := _INSTEAD.search(text):
        preferred = (_stem(instead["good"]), _stem(instead["bad"]))
    return Demand(
        text=text,
        subject=frozenset(terms - named),
        specific=specific,
        is_negative=is_negative,
        sides=frozenset(sides),
        preferred=preferred,
    )


_FUNCTION_STEMS = frozenset(_stem(word) for word in (*_NEGATIVE, *_POSITIVE))


def find_conflict(first: Card, second: Card) -> Conflict | None:
    """Return the first pair of opposed demands of two cards; None if there is none."""
    if first.project and second.project and first.project != second.project:
        return None
    for demand in read_demands(first):
        for other in read_demands(second):
            if are_opposed(demand, other):
                return Conflict(first, second, demand.text, other.text)
    return _find_opposed_patterns(first, second)


def are_opposed(demand: Demand, other: Demand) -> bool:
    """Return whether two demands are opposed to each other."""
    if demand.is_title != other.is_title:  # a title names the mistake, an item its opposite
        return False
    turns_round = demand.is_negative != other.is_negative or demand.sides or demand.preferred[0]
    if not turns_round:  # most pairs; the comparison of subjects takes longer
        return False
    if demand.specific != other.specific and not _swaps(demand, other):
        return False
    shared = demand.subject & other.subject
    every = demand.subject | other.subject
    if len(shared) < _LEAST_SHARED or len(shared) < _ALIKE * len(every):
        return False
    if _swaps(demand, other):
        return True
    flipped = _find_flipped(demand.sides, other.sides)
    flipped_back = _find_flipped(other.sides, demand.sides)
    if flipped is None or flipped_back is None:
        return False
    turns = len(flipped) + (demand.is_negative != other.is_negative)
    return turns % 2 == 1


def _find_flipped(sides: frozenset[Side], others: frozenset[Side]) -> set[str] | None:
    """Return the words of one demand whose opposites are in the other demand.

    The result is None if the other demand has neither a word nor its opposite, because the demands
    are then about different things.
    """
    flipped = set()
    for word in {side.word for side in sides}:
        own = {(side.pair, side.place) for side in sides if side.word == word}
        theirs = {(side.pair, side.place) for side in others}
        if word in {side.word for side in others}:
            continue
        if not any((pair, 1 - place) in theirs for pair, place in own):
            return None
        flipped.add(word)
    return flipped


def _swaps(demand: Demand, other: Demand) -> bool:
    good, bad = demand.preferred
    return bool(good) and other.preferred == (bad, good)


def _find_opposed_patterns(first: Card, second: Card) -> Conflict | None:
    """Return a conflict if the patterns of each card match a good example of the other card."""
    finds = _list_found(first.detect, second.detect)
    back = _list_found(second.detect, first.detect)
    if finds and back:
        return Conflict(first, second, finds[0], back[0])
    return None


def _list_found(patterns: Sequence[Pattern], others: Sequence[Pattern]) -> list[str]:
    """Return the good examples of other patterns that ``patterns`` match."""
    examples = [example for pattern in others for example in pattern.good]
    usable = [pattern for pattern in patterns if pattern.kind == "regex"]
    if not examples or not usable:
        return []
    patterns_over_code = load(MATCH_PATTERNS)
    found = []
    for pattern in usable:
        compiled = patterns_over_code.compile_pattern(pattern.text)
        found += [example for example in examples if compiled.search(example)]
    return found


def find_conflicts(cards: Iterable[Card]) -> Iterator[Conflict]:
    """Yield the conflicts among many cards, each pair of cards once."""
    cards = [card for card in cards if card.is_injectable]
    demands = [
        (number, demand) for number, card in enumerate(cards) for demand in read_demands(card)
    ]
    counts: dict[str, int] = defaultdict(int)
    for _number, demand in demands:
        for term in demand.subject:
            counts[term] += 1
    known: set[tuple[int, int]] = set()
    places: dict[str, list[int]] = defaultdict(list)
    for place, (number, demand) in enumerate(demands):
        # Two sets with 60 % in common share a word from the rarest 40 % (plus one) of each set.
        rarest = sorted(demand.subject, key=lambda term: (counts[term], term))
        prefix = rarest[: len(rarest) - int(_ALIKE * len(rarest)) + 1]
        candidates = {other for term in prefix for other in places[term]}
        for other in sorted(candidates):
            first = demands[other][0]
            is_new = first != number and (first, number) not in known
            if is_new and are_opposed(demands[other][1], demand):
                known.add((first, number))
                yield Conflict(cards[first], cards[number], demands[other][1].text, demand.text)
        for term in prefix:
            places[term].append(place)


def choose(first: Card, second: Card) -> tuple[Card, Card]:
    """Return the stronger of two opposed cards, which agents get, and then the other card.

    The stronger card is the one that was confirmed, or else created, later. If the dates are equal,
    it is the card whose mistake was seen more often.
    """

    def rank(card: Card) -> tuple[str, int, str]:
        return card.confirmed or card.created or card.last_seen or "", card.occurrences, card.id

    return (first, second) if rank(first) >= rank(second) else (second, first)

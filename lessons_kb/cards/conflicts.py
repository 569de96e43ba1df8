"""Find pairs of cards that make opposite demands about the same subject.

Two demands are opposed if their subjects are the same and their directions differ. Words that
distinguish subjects, such as numbers, names and code, must be equal. The same demand about another
module is not a conflict, nor is a demand that is limited to another place. Contradictions in other
words need a reader: an agent judges them (``writers/contradictions.py``).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from typing import NamedTuple

from lessons_kb.cards.demands import Demand, Side, read_demands
from lessons_kb.model import Card, Pattern
from lessons_kb.on_demand import MATCH_PATTERNS, load
from lessons_kb.text.analyzer import analyze

_LEAST_SHARED = 2
"""The minimum number of subject words that two opposed demands share."""
_ALIKE = 0.6
"""The minimum share of all words of two subjects that both subjects contain."""
_MOST_CARDS = 30
"""Cards are compared for a word if at most this number of cards share it."""


class Conflict(NamedTuple):
    """Two opposed demands."""

    first: Card
    second: Card
    demand: str
    """The demand of the first card."""
    opposed: str
    """The opposed demand of the second card."""
    is_judged: bool = False
    """Whether an agent judged the cards. A person has not confirmed that yet."""


class CardDemands(NamedTuple):
    """The demands of a card that are compared with the demands of another card."""

    card: Card
    demands: Sequence[Demand]


def read_card(card: Card) -> CardDemands:
    """Return the demands of a card."""
    return CardDemands(card, read_demands(card))


def find_conflict(first: Card, second: Card) -> Conflict | None:
    """Return the first pair of opposed demands of two cards, or None if there is none."""
    opposed = _compare(read_card(first), read_card(second))
    return opposed or _find_opposed_patterns(first, second)


def _compare(first: CardDemands, second: CardDemands) -> Conflict | None:
    for demand in first.demands:
        for other in second.demands:
            conflict = _compare_demands(demand, other, first.card, second.card)
            if conflict is not None:
                return conflict
    return None


def _compare_demands(demand: Demand, other: Demand, first: Card, second: Card) -> Conflict | None:
    if have_other_projects(first, second) or not _have_opposed_wording(demand, other):
        return None
    return Conflict(first, second, demand.text, other.text)


def have_other_projects(first: Card, second: Card) -> bool:
    """Return whether two cards are for two different projects, so that they never meet."""
    return bool(first.project and second.project) and first.project != second.project


def _have_other_scope(demand: Demand, other: Demand) -> bool:
    """Return whether two demands are limited to different places or kinds of things."""
    if any((number, 1 - place) in other.scopes for number, place in demand.scopes):
        return True
    mine, theirs = _group_limits(demand), _group_limits(other)
    return any(stems.isdisjoint(theirs[kind]) for kind, stems in mine.items() if kind in theirs)


def _group_limits(demand: Demand) -> dict[str, set[str]]:
    limits: dict[str, set[str]] = defaultdict(set)
    for kind, stems in demand.limits:
        limits[kind] |= stems
    return limits


def _have_opposed_wording(demand: Demand, other: Demand) -> bool:
    """Return whether two demands contain the same words with their roles exchanged."""
    if demand.is_title != other.is_title:  # a title names the mistake, an item its opposite
        return False
    turns_round = demand.is_negative != other.is_negative or demand.sides or demand.preferred[0]
    if not turns_round:  # This is so for most pairs. The comparison of subjects takes longer.
        return False
    if demand.specific != other.specific and not _swaps(demand, other):
        return False
    if demand.is_exception or other.is_exception or _have_other_scope(demand, other):
        return False
    shared = demand.subject & other.subject
    every = demand.subject | other.subject
    if len(shared) < _LEAST_SHARED or len(shared) < _ALIKE * len(every):
        return False
    if _swaps(demand, other):
        return True
    if _have_other_attributes(demand, other) or _have_other_objects(demand, other):
        return False
    flipped = _find_flipped(demand.sides, other.sides)
    flipped_back = _find_flipped(other.sides, demand.sides)
    if flipped is None or flipped_back is None:
        return False
    turns = len(flipped) + (demand.is_negative != other.is_negative)
    return turns % 2 == 1


def _have_other_objects(demand: Demand, other: Demand) -> bool:
    """Return whether two demands have the same verb with different objects."""
    mine, theirs = demand.heads.get(demand.verb), other.heads.get(other.verb)
    if demand.verb != other.verb or not (mine and theirs) or mine == theirs:
        return False
    side_words = {side.word for side in demand.sides | other.sides}
    return mine not in side_words or theirs not in side_words


def _have_other_attributes(demand: Demand, other: Demand) -> bool:
    """Return whether a common word has two attributes: "feature branch", "release branch"."""
    side_words = {side.word for side in demand.sides | other.sides}
    for word, attribute in demand.attributes.items():
        theirs = other.attributes.get(word, attribute)
        if theirs != attribute and not {theirs, attribute} & side_words:
            return True
    return False


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
    """Return the good examples of the other patterns that ``patterns`` match."""
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
    """Yield the conflicts among many cards, each pair of cards once.

    Only demands that share a word are compared. A word of more than ``_MOST_CARDS`` cards is
    the subject of none of them. The time grows with the number of cards, not with the number of
    pairs.
    """
    members = [read_card(card) for card in cards if card.is_injectable]
    counts = _count_cards(members)
    known: set[tuple[int, int]] = set()
    for place, other_place in _pair_by_wording(members, counts):
        pair = place.card, other_place.card
        if pair in known:
            continue
        first, second = members[place.card], members[other_place.card]
        demand, other = first.demands[place.demand], second.demands[other_place.demand]
        conflict = _compare_demands(demand, other, first.card, second.card)
        if conflict is not None:
            known.add(pair)
            yield conflict
    for number, other_number in _pair_by_patterns(members):
        if (number, other_number) not in known:
            conflict = _find_opposed_patterns(members[number].card, members[other_number].card)
            if conflict is not None:
                yield conflict


def _pair_by_patterns(members: Sequence[CardDemands]) -> Iterator[tuple[int, int]]:
    """Yield pairs of cards that have both patterns and good examples.

    Only cards whose examples share a word are compared.
    """
    places: dict[str, set[int]] = defaultdict(set)
    for number, member in enumerate(members):
        for pattern in member.card.detect:
            for example in pattern.good:
                for word in analyze(example):
                    places[word].add(number)
    pairs: set[tuple[int, int]] = set()
    for numbers in places.values():
        if len(numbers) <= _MOST_CARDS:
            pairs.update(combinations(sorted(numbers), 2))
    yield from sorted(pairs)


class _Place(NamedTuple):
    """The place of a demand in a brain."""

    card: int
    demand: int


def _count_cards(members: Sequence[CardDemands]) -> Counter[str]:
    """Return a mapping from each word to the number of cards with a demand that contains it."""
    counts: Counter[str] = Counter()
    for member in members:
        words = frozenset[str]().union(*(demand.subject for demand in member.demands))
        counts.update(words)
    return counts


def _pair_by_wording(
    members: Sequence[CardDemands], counts: Mapping[str, int]
) -> Iterator[tuple[_Place, _Place]]:
    """Yield pairs of demands of two cards whose subjects may be similar, the earlier card first.

    Two sets with 60 % in common share a word from the rarest 40 % (plus one) of each set.
    """
    places: dict[str, list[_Place]] = defaultdict(list)
    for number, member in enumerate(members):
        for position, demand in enumerate(member.demands):
            place = _Place(number, position)
            rarest = sorted(demand.subject, key=lambda term: (counts[term], term))
            for term in rarest[: len(rarest) - int(_ALIKE * len(rarest)) + 1]:
                if 1 < counts[term] <= _MOST_CARDS:
                    yield from ((other, place) for other in places[term] if other.card != number)
                    places[term].append(place)


def choose(first: Card, second: Card) -> tuple[Card, Card]:
    """Return the stronger of two opposed cards, which agents get, and then the other card.

    The stronger card is the one with the later confirmation or, without a confirmation, the later
    creation. If the dates are equal, it is the card whose mistake was seen more often.
    """

    def rank(card: Card) -> tuple[str, int, str]:
        return card.confirmed or card.created or card.last_seen or "", card.occurrences, card.id

    return (first, second) if rank(first) >= rank(second) else (second, first)

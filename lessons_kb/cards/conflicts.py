"""Find pairs of cards that make opposite demands about the same subject.

Two demands are opposed if their subjects are the same and their directions differ. They are also
opposed if they answer one question of practice differently and share rare words of their subjects.
Words that distinguish subjects, such as numbers, names and code, must then be equal. The same
demand about another module is not a conflict, nor is a demand that is limited to another place or
moment.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from itertools import combinations
from typing import NamedTuple

from lessons_kb.cards.demands import (
    BINARY,
    COMMON_PRACTICES,
    MOMENTS,
    Answer,
    Demand,
    Side,
    read_demands,
)
from lessons_kb.model import Card, Pattern
from lessons_kb.on_demand import MATCH_PATTERNS, load
from lessons_kb.text.analyzer import analyze, get_share

_LEAST_SHARED = 2
"""The minimum number of subject words that two opposed demands share."""
_ALIKE = 0.6
"""The minimum share of all words of two subjects that both subjects contain."""
_SAME_FOR_ANSWERS, _SAME_FOR_WORDS = 0.05, 0.35
"""The minimum share of the words of two demands that both contain.

The first share is for demands that answer a question of practice differently. The second share is
for demands of which one denies the other, opposes it, or names another number. Both were fitted on
seven brains of 845 cards, of which almost no two contradict each other (11,518 pairs without these
limits), and on pairs written for this purpose."""
_LEAST_COMMON = 2
"""The minimum number of words that both demands contain, unless they answer a question."""
_COMMON_SHARE = 0.1
"""A word in at least this share of all passages is not a subject."""
_FEW_CARDS, _FEW_OF_CARDS = 4, 0.02
"""A rare word occurs in at most this number of cards, or this share of a brain's cards."""
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


class CardDemands(NamedTuple):
    """The demands of a card that are compared with the demands of another card."""

    card: Card
    demands: Sequence[Demand]
    title_words: frozenset[str]


def read_card(card: Card) -> CardDemands:
    """Return the demands of a card."""
    demands = read_demands(card)
    title_words = frozenset[str]().union(*(one.topic for one in demands if one.is_title))
    return CardDemands(card, demands, title_words)


def find_conflict(first: Card, second: Card) -> Conflict | None:
    """Return the first pair of opposed demands of two cards, or None if there is none."""
    opposed = _compare(read_card(first), read_card(second), is_uncommon)
    return opposed or _find_opposed_patterns(first, second)


def is_uncommon(word: str) -> bool:
    """Return whether few texts anywhere contain a word, so that it can be a subject."""
    share = get_share(word)
    return share is None or share < _COMMON_SHARE


def _compare(
    first: CardDemands, second: CardDemands, is_rare: Callable[[str], bool]
) -> Conflict | None:
    for demand in first.demands:
        for other in second.demands:
            conflict = _compare_demands(demand, other, first, second, is_rare)
            if conflict is not None:
                return conflict
    return None


def _compare_demands(
    demand: Demand,
    other: Demand,
    first: CardDemands,
    second: CardDemands,
    is_rare: Callable[[str], bool],
) -> Conflict | None:
    if first.card.project and second.card.project and first.card.project != second.card.project:
        return None
    if (
        _have_opposed_wording(demand, other)
        or _have_opposed_answers(demand, other, first, second, is_rare)
        or _have_opposed_words(demand, other)
    ):
        return Conflict(first.card, second.card, demand.text, other.text)
    return None


def _have_opposed_answers(
    demand: Demand,
    other: Demand,
    first: CardDemands,
    second: CardDemands,
    is_rare: Callable[[str], bool],
) -> bool:
    """Return whether two demands on a rare subject answer a question of practice differently."""
    if not (demand.answers and other.answers and demand.is_order and other.is_order):
        return False
    opposed = [answer for answer in demand.answers if _excludes(answer, other.answers)]
    if not opposed or _are_limited_apart(demand, other):
        return False
    involves_denial = any(answer.is_denied for answer in demand.answers | other.answers)
    if involves_denial and not _denies_act(demand, other):
        return False
    is_everyday = all(answer.practice in COMMON_PRACTICES for answer in opposed)
    least = _SAME_FOR_WORDS if is_everyday else _SAME_FOR_ANSWERS
    if _share_words(demand, other) < least:
        return False
    common = _find_common(demand, other)
    named = (demand.topic & second.title_words) | (other.topic & first.title_words)
    return any(map(is_rare, common | (named - demand.topic & other.topic)))


def _have_opposed_words(demand: Demand, other: Demand) -> bool:
    """Return whether two similar demands deny or oppose each other, or name different numbers."""
    if not (demand.is_order and other.is_order):  # a title may name the mistake
        return False
    is_turned = _denies_act(demand, other) or _have_opposites(demand, other)
    if not (is_turned or _count(demand, other)):
        return False
    if _are_limited_apart(demand, other) or _share_words(demand, other) < _SAME_FOR_WORDS:
        return False
    return len(_find_common(demand, other)) >= _LEAST_COMMON


def _have_opposites(demand: Demand, other: Demand) -> bool:
    theirs = {(side.pair, side.place) for side in other.sides}
    return any((side.pair, 1 - side.place) in theirs for side in demand.sides if not side.is_step)


def _count(demand: Demand, other: Demand) -> bool:
    """Return whether two demands name different numbers with the same unit."""
    return any(
        numbers.isdisjoint(other.amounts.get(unit, numbers))
        for unit, numbers in demand.amounts.items()
    )


def _share_words(demand: Demand, other: Demand) -> float:
    """Return the share of the words of two demands that both contain."""
    return len(_find_common(demand, other)) / max(1, len(demand.topic | other.topic))


def _excludes(answer: Answer, others: frozenset[Answer]) -> bool:
    return any(
        _exclude_each_other(answer, other) for other in others if other.practice == answer.practice
    )


def _exclude_each_other(answer: Answer, other: Answer) -> bool:
    is_same = other.number == answer.number
    if answer.practice in BINARY:
        return is_same == (other.is_denied != answer.is_denied)
    if is_same:
        return other.is_denied != answer.is_denied
    return not (other.is_denied or answer.is_denied)


def _denies_act(demand: Demand, other: Demand) -> bool:
    """Return whether one demand denies the act of the other, or the object of that act."""
    if bool(demand.denied) == bool(other.denied):
        return False
    denying, asserting = (demand, other) if demand.denied else (other, demand)
    if denying.verb not in denying.denied:
        return False
    if asserting.answers_by_verb and denying.answers_by_verb:
        return True
    return denying.verb in {asserting.verb, asserting.heads.get(asserting.verb)}


def _are_limited_apart(demand: Demand, other: Demand) -> bool:
    """Return whether two demands are about different things, places or moments."""
    if demand.is_exception or other.is_exception:
        return True
    if demand.specific and other.specific and demand.specific.isdisjoint(other.specific):
        return True
    return (
        _have_other_scope(demand, other)
        or _have_other_moment(demand, other)
        or _have_other_objects(demand, other)
    )


def _have_other_scope(demand: Demand, other: Demand) -> bool:
    """Return whether two demands are limited to different places or kinds of things."""
    if any((number, 1 - place) in other.scopes for number, place in demand.scopes):
        return True
    mine, theirs = _group_limits(demand), _group_limits(other)
    return any(stems.isdisjoint(theirs[kind]) for kind, stems in mine.items() if kind in theirs)


def _have_other_moment(demand: Demand, other: Demand) -> bool:
    """Return whether one demand is about the time before something, and the other after it."""
    mine = {kind for kind, _stems in demand.limits} & MOMENTS
    theirs = {kind for kind, _stems in other.limits} & MOMENTS
    return bool(mine and theirs) and mine.isdisjoint(theirs)


def _group_limits(demand: Demand) -> dict[str, set[str]]:
    limits: dict[str, set[str]] = defaultdict(set)
    for kind, stems in demand.limits:
        limits[kind] |= stems
    return limits


def _find_common(demand: Demand, other: Demand) -> set[str]:
    """Return the common words of two subjects that have the same neighbours in both.

    For example, "feature branch" and "release branch" have no such word in common. "failed
    payments" and "failed uploads" have none either.
    """
    return {
        word
        for word in demand.topic & other.topic
        if (word in demand.limit_words) == (word in other.limit_words)
        and _agree(word, demand.attributes, other.attributes)
        and _agree(word, demand.heads, other.heads)
    }


def _agree(word: str, mine: Mapping[str, str], theirs: Mapping[str, str]) -> bool:
    return word not in mine or word not in theirs or mine[word] == theirs[word]


def _have_opposed_wording(demand: Demand, other: Demand) -> bool:
    """Return whether two demands contain the same words with their roles exchanged."""
    if demand.is_title != other.is_title:  # a title names the mistake, an item its opposite
        return False
    turns_round = demand.is_negative != other.is_negative or demand.sides or demand.preferred[0]
    if not turns_round:  # This is so for most pairs. The comparison of subjects takes longer.
        return False
    if demand.specific != other.specific and not _swaps(demand, other):
        return False
    if _have_other_scope(demand, other):
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

    Only demands that share a rare word are compared. A word of more than ``_MOST_CARDS`` cards is
    the subject of none of them. The time grows with the number of cards, not with the number of
    pairs.
    """
    members = [read_card(card) for card in cards if card.is_injectable]
    counts = _count_cards(members)
    most = max(_FEW_CARDS, _FEW_OF_CARDS * len(members))

    def is_rare(word: str) -> bool:
        return counts[word] <= most and is_uncommon(word)

    known: set[tuple[int, int]] = set()
    for place, other_place in _find_candidates(members, counts):
        pair = place.card, other_place.card
        if pair in known:
            continue
        first, second = members[place.card], members[other_place.card]
        conflict = _compare_demands(
            first.demands[place.demand], second.demands[other_place.demand], first, second, is_rare
        )
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
        words = frozenset[str]().union(*(demand.words for demand in member.demands))
        counts.update(words)
    return counts


def _find_candidates(
    members: Sequence[CardDemands], counts: Mapping[str, int]
) -> Iterator[tuple[_Place, _Place]]:
    """Yield pairs of demands of two cards that may be opposed, the earlier card first."""
    yield from _pair_by_wording(members, counts)
    yield from _pair_by_direction(members, counts)


def _pair_by_wording(
    members: Sequence[CardDemands], counts: Mapping[str, int]
) -> Iterator[tuple[_Place, _Place]]:
    """Yield pairs of demands whose subjects may be similar.

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


def _pair_by_direction(
    members: Sequence[CardDemands], counts: Mapping[str, int]
) -> Iterator[tuple[_Place, _Place]]:
    """Yield pairs of demands that share a word and take opposite sides of a question."""
    denied = {
        demand.verb
        for member in members
        for demand in member.demands
        if demand.verb in demand.denied
    }
    sides: dict[tuple[str, str], list[tuple[_Place, object]]] = defaultdict(list)
    for number, member in enumerate(members):
        for position, demand in enumerate(member.demands):
            if not demand.is_order:
                continue
            place = _Place(number, position)
            words = [
                word
                for word in demand.topic | member.title_words
                if 1 < counts[word] <= _MOST_CARDS
            ]
            for question, side in _list_directions(demand, denied):
                for word in words:
                    sides[question, word].append((place, side))
    for entries in sides.values():
        for (place, side), (other_place, other_side) in combinations(entries, 2):
            if place.card != other_place.card and side != other_side:
                yield place, other_place


def _list_directions(demand: Demand, denied: AbstractSet[str]) -> Iterator[tuple[str, object]]:
    """Yield the questions on which a demand takes a side, each with that side.

    ``denied`` contains the acts that some demand of the brain denies.
    """
    for answer in demand.answers:
        yield f"practice {answer.practice}", answer
    for side in demand.sides:
        if not side.is_step:
            yield f"opposites {side.pair}", side.place
    for unit, numbers in demand.amounts.items():
        yield f"amount {unit}", numbers
    acts = {demand.verb, demand.heads.get(demand.verb, "")}
    for act in acts & denied:
        yield f"act {act}", act in demand.denied


def choose(first: Card, second: Card) -> tuple[Card, Card]:
    """Return the stronger of two opposed cards, which agents get, and then the other card.

    The stronger card is the one with the later confirmation or, without a confirmation, the later
    creation. If the dates are equal, it is the card whose mistake was seen more often.
    """

    def rank(card: Card) -> tuple[str, int, str]:
        return card.confirmed or card.created or card.last_seen or "", card.occurrences, card.id

    return (first, second) if rank(first) >= rank(second) else (second, first)

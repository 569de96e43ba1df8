"""Find pairs of cards whose `detect` patterns are opposed, and choose the stronger card of a pair.

Two cards are opposed if the patterns of each card match a good example of the other card.
Contradictions in words need a reader: an agent judges them (``writers/contradictions.py``).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations
from typing import NamedTuple

from lessons_kb.model import Card, Pattern
from lessons_kb.on_demand import DETECT_MATCHER, load
from lessons_kb.text.analyzer import analyze

_MOST_CARDS = 30
"""Cards are compared for a word if at most this number of cards have it in an example."""


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


def find_conflict(first: Card, second: Card) -> Conflict | None:
    """Return a conflict if the patterns of each card match a good example of the other card."""
    if _have_other_projects(first, second):
        return None
    matched = _list_matched(first.detect, second.detect)
    matched_back = _list_matched(second.detect, first.detect)
    if matched and matched_back:
        return Conflict(first, second, matched_back[0], matched[0])
    return None


def _have_other_projects(first: Card, second: Card) -> bool:
    """Return whether two cards are for two different projects, so that they never meet."""
    return bool(first.project and second.project) and first.project != second.project


def _list_matched(patterns: Sequence[Pattern], others: Sequence[Pattern]) -> list[str]:
    """Return the good examples of the other patterns that ``patterns`` match."""
    examples = [example for pattern in others for example in pattern.good]
    usable = [pattern for pattern in patterns if pattern.kind == "regex"]
    if not examples or not usable:
        return []
    patterns_over_code = load(DETECT_MATCHER)
    matched = []
    for pattern in usable:
        compiled = patterns_over_code.compile_pattern(pattern.text)
        matched += [example for example in examples if compiled.search(example)]
    return matched


def find_conflicts(cards: Iterable[Card]) -> Iterator[Conflict]:
    """Yield the conflicts among many cards, each pair of cards once.

    Only cards whose good examples share a word are compared. A word of more than ``_MOST_CARDS``
    cards does not count. The time grows with the number of cards, not with the number of pairs.
    """
    active = [card for card in cards if card.detect and card.is_injectable]
    places: dict[str, set[int]] = defaultdict(set)
    for number, card in enumerate(active):
        for word in _list_words(card):
            places[word].add(number)
    pairs: set[tuple[int, int]] = set()
    for numbers in places.values():
        if len(numbers) <= _MOST_CARDS:
            pairs.update(combinations(sorted(numbers), 2))
    for number, other_number in sorted(pairs):
        conflict = find_conflict(active[number], active[other_number])
        if conflict is not None:
            yield conflict


def _list_words(card: Card) -> Iterator[str]:
    """Yield the words of the good examples of a card."""
    for pattern in card.detect:
        for example in pattern.good:
            yield from analyze(example)


def choose(first: Card, second: Card) -> tuple[Card, Card]:
    """Return the stronger of two opposed cards, which agents get, and then the other card.

    The stronger card is the one with the later confirmation or, without a confirmation, the later
    creation. If the dates are equal, it is the card whose mistake was seen more often.
    """

    def rank(card: Card) -> tuple[str, int, str]:
        return card.confirmed or card.created or card.last_seen or "", card.occurrences, card.id

    return (first, second) if rank(first) >= rank(second) else (second, first)

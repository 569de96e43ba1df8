"""The contradictions among the cards of a brain: by their patterns, and as an agent judged them.

``lint`` and ``doctor`` report them, and nobody adds or accepts such a card unasked.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from itertools import combinations

from lessons_kb.brain.brain import Brain
from lessons_kb.cards.card_names import are_linked
from lessons_kb.cards.conflicts import Conflict, find_conflict, find_conflicts
from lessons_kb.cards.edit import edit_header
from lessons_kb.model import Card
from lessons_kb.store.judged_pairs import Opposed, PairKey, add_verdicts, read_verdicts


def sign_demands(card: Card) -> str:
    """Return the digest of what a card demands: its title and its checklist."""
    lines = [" ".join(line.split()) for line in (card.title, *card.checklist)]
    return hashlib.sha256("\n".join(lines).encode("utf-8", "replace")).hexdigest()[:16]


class Verdicts:
    """What an agent or a person said about pairs of cards of one brain."""

    def __init__(self, root: str) -> None:
        self._root = root
        self._verdicts = read_verdicts(root)

    def is_judged(self, first: Card, second: Card) -> bool:
        """Return whether two cards were compared before, with the same demands."""
        return _key_of(first, second) in self._verdicts

    def find_conflict(self, first: Card, second: Card) -> Conflict | None:
        """Return the opposed demands of two cards, or None if there are none."""
        opposed = self._verdicts.get(_key_of(first, second))
        if opposed is None:
            return None
        demand, other = opposed
        if sign_demands(first) > sign_demands(second):
            demand, other = other, demand
        return Conflict(first, second, demand, other, is_judged=True)

    def opposes(self, card: Card) -> bool:
        """Return whether any card contradicts a card."""
        digest = sign_demands(card)
        return any(digest in key for key, sentences in self._verdicts.items() if sentences)

    def find_conflicts(self, cards: Iterable[Card]) -> list[Conflict]:
        """Return the conflicts among many cards, each pair of cards once."""
        opposed = {key for key, sentences in self._verdicts.items() if sentences}
        named = {digest for key in opposed for digest in key}
        if not named:
            return []
        judged = [card for card in cards if card.is_injectable and sign_demands(card) in named]
        pairs = combinations(judged, 2)
        conflicts = [self.find_conflict(first, second) for first, second in pairs]
        return [conflict for conflict in conflicts if conflict is not None]

    def add(self, conflicts: Iterable[Conflict], compatible: Iterable[tuple[Card, Card]]) -> None:
        """Store verdicts: pairs that contradict each other, and pairs that go together.

        Raises StorageError if they cannot be written.
        """
        verdicts: dict[PairKey, Opposed | None] = {}
        for first, second in compatible:
            verdicts[_key_of(first, second)] = None
        for conflict in conflicts:
            sentences = Opposed(conflict.demand, conflict.opposed)
            if sign_demands(conflict.first) > sign_demands(conflict.second):
                sentences = Opposed(conflict.opposed, conflict.demand)
            verdicts[_key_of(conflict.first, conflict.second)] = sentences
        self._verdicts |= verdicts
        add_verdicts(self._root, verdicts)


def _key_of(first: Card, second: Card) -> PairKey:
    return PairKey(*sorted((sign_demands(first), sign_demands(second))))


def find_all(root: str, cards: Iterable[Card]) -> list[Conflict]:
    """Return the conflicts among the cards of a brain, each pair of cards once.

    Cards that are linked by ``contradicts`` are left out, because a person has decided about them.
    """
    cards = list(cards)
    conflicts = list(find_conflicts(cards))
    known = {frozenset((one.first.id, one.second.id)) for one in conflicts}
    for conflict in Verdicts(root).find_conflicts(cards):
        pair = frozenset((conflict.first.id, conflict.second.id))
        if pair not in known:
            known.add(pair)
            conflicts.append(conflict)
    return [one for one in conflicts if not are_linked(one.first, one.second)]


def find_rivals(brain: Brain, card: Card, near: Iterable[Card]) -> list[Conflict]:
    """Return the conflicts of a card, which need not be in the brain, with active cards.

    Only the patterns of the cards ``near`` it are compared. Cards that it names in its
    ``contradicts`` are left out.
    """
    verdicts = Verdicts(brain.root)
    others = {other.id: other for other in near}
    if verdicts.opposes(card):
        every = brain.read(lambda one: one.catalogue.all_cards())
        others |= {other.id: other for other in every}
    conflicts = []
    for other in others.values():
        if not other.is_injectable or are_linked(card, other):
            continue
        conflict = find_conflict(card, other) or verdicts.find_conflict(card, other)
        if conflict is not None:
            conflicts.append(conflict)
    return conflicts


def link(text: str, card: Card, rivals: Sequence[str]) -> str:
    """Return the text of a card with more ids in its ``contradicts``. Raises EditRefused."""
    names = dict.fromkeys((*card.contradicts, *rivals))
    return edit_header(text, {"contradicts": tuple(names)})


def order_by_age(first: Card, second: Card) -> tuple[Card, Card]:
    """Return the newer of two cards, which gets the link, and then the older card."""

    def age(card: Card) -> tuple[str, str]:
        return card.created or card.last_seen or "", card.id

    return (first, second) if age(first) >= age(second) else (second, first)

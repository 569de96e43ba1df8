"""Ways to tell of a deed in other words, or to show it in code, by topic.

The tables beside this module stand in the order of the alphabet. A line reads
``words of an item : ways to tell``; an indented line continues it. Before the colon stand groups
of beginnings of words, ``/`` between alternatives: an item is of the topic if it holds a word of
each group. After it stand the ways, ``|`` between them: beginnings of words, phrases, pieces of
code; up to three letters are a whole word, and so is what ends in ``$``. The parts of ``a~b`` may
stand anywhere in one sentence. A line works in one direction: what shows `without blocking` is not
asked for by it.
"""

from __future__ import annotations

import re
from functools import cache, cached_property

from lessons_kb.recall.ways.a_to_c import WAYS as A_TO_C
from lessons_kb.recall.ways.d_to_g import WAYS as D_TO_G
from lessons_kb.recall.ways.h_to_l import WAYS as H_TO_L
from lessons_kb.recall.ways.m_to_q import WAYS as M_TO_Q
from lessons_kb.recall.ways.r_to_s import WAYS as R_TO_S
from lessons_kb.recall.ways.t_to_w import WAYS as T_TO_W

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from lessons_kb.recall.wanted import Wanted

_TABLES = (A_TO_C, D_TO_G, H_TO_L, M_TO_Q, R_TO_S, T_TO_W)

IN_OTHER_WORDS = 0.6
"""How well a way to tell shows the words of the item that made its topic."""

_FIRST_WIDE = "\u2e80"
_SHORT = 3
"""A way of so few Latin letters is a whole word."""
_LONG = 5
"""A way of so many letters may stand inside a longer word of code."""
_KEY = 3
"""Letters by which the ways that a text may hold are chosen."""
_SPACE_AND_ONE = 2
_PAIR = 2
_ANYWHERE = ""
"""Key of the topics whose first word is Hangul, which may stand inside a word."""
_NO_WORD = r"[^\w+]+"
_WORD = r"[^\W_]+"
_CAPITALISED = "[A-Z][a-z]+"


class Topic:
    """What an item may be about, and how it is told."""

    def __init__(self, head: str, ways: str) -> None:
        self.first, *self.others = head.split()
        self.ways = ways

    @cached_property
    def groups(self) -> list[list[str]]:
        """How the words of each group begin."""
        return [_starts(group) for group in (self.first, *self.others)]

    def find_terms(self, item: str, words: Sequence[str]) -> set[int]:
        """Return which ``words`` make an item one of the topic; none if it is not."""
        if not all(any(start in item for start in group) for group in self.groups):
            return set()
        terms: set[int] = set()
        of_all = True
        for group in self.groups:
            own = {n for n, word in enumerate(words) if any(start in word for start in group)}
            of_all = of_all and bool(own)
            terms |= own
        # One word that is in all groups is no pair.
        return terms if len(terms) > 1 or len(self.groups) == 1 or not of_all else set()


class Way:
    """One way to tell, and what it shows: of items by number, their terms and how well."""

    def __init__(self, text: str) -> None:
        self.parts = tuple(map(_read_part, text.split("~")))
        self.key = _key_of(self.parts[0][0])
        self.shows: list[tuple[int, int, float]] = []
        self.items: set[int] = set()

    def is_in(self, text: str, *, code: bool) -> bool:
        """Tell whether a flat text holds it."""
        if self.parts[0][0] not in text:  # nearly always; the rest is slow
            return False
        return all(
            _holds(text, part, inside=inside or (code and long), whole=whole)
            for part, inside, long, whole in self.parts
        )


class Ways:
    """The ways to tell of items, each once."""

    def __init__(self, items: Sequence[Wanted]) -> None:
        ways: dict[str, Way] = {}
        for number, wanted in enumerate(items):
            for text, terms in wanted.ways:
                way = ways.get(text)
                if way is None:
                    way = ways[text] = Way(text)
                way.shows += [(number, term, IN_OTHER_WORDS) for term in terms]
                way.items.add(number)
        self.by_key: dict[str, list[Way]] = {}
        for way in ways.values():
            self.by_key.setdefault(way.key, []).append(way)
        self.chosen: list[Way] = []

    def choose(self, text: str) -> None:
        """Of the ways that no word leads to, look for those alone that a whole text holds."""
        low = text.lower()
        self.chosen = [way for way in self.by_key.get("", ()) if way.parts[0][0] in low]

    def find(self, text: str, *, code: bool) -> list[Way]:
        """Return the ways that a part of the text that was last chosen from holds."""
        flat = flatten(text, code=code)
        keys = {word[:_KEY] for word in re.findall(_WORD, flat)}
        if code:
            keys |= {word[:_KEY].lower() for word in re.findall(_CAPITALISED, text)}
        may = [way for key in keys & self.by_key.keys() for way in self.by_key[key]]
        return [way for way in (*may, *self.chosen) if way.is_in(flat, code=code)]


def find_ways(item: str, words: Sequence[str]) -> list[tuple[str, frozenset[int]]]:
    """Return the ways to tell of an item, and which of its ``words`` each shows."""
    low = [f" {word.lower()}" for word in words]
    padded = " " + re.sub(_NO_WORD, " ", item.lower()) + "".join(low)
    topics = _topics()
    may = [
        topic for key in {word[:_PAIR] for word in padded.split()} for topic in topics.get(key, ())
    ]
    found: list[tuple[str, frozenset[int]]] = []
    for topic in dict.fromkeys((*may, *topics[_ANYWHERE])):
        terms = frozenset(topic.find_terms(padded, low))
        if terms:
            found += [(way, terms) for way in topic.ways.split("|")]
    return found


def flatten(text: str, *, code: bool) -> str:
    """Return a text as ways are looked for in it: small letters, single spaces.

    Of code, names such as ``order_by`` are added as words.
    """
    flat = " ".join(text.lower().split())
    return f"{flat}\n{flat.replace('_', ' ').replace('-', ' ')}" if code else flat


def _read_part(text: str) -> tuple[str, bool, bool, bool]:
    """Return a part, whether it may stand inside a word, or in one of code, or is a whole word."""
    text = text.strip()
    whole = len(text) > 1 and text[-1] == "$" and text[-2].isalnum()
    if whole:
        text = text[:-1]
    latin = text.isascii() and text.isalnum()
    inside = not text[0].isalnum() or text[0] >= _FIRST_WIDE
    return text, inside, len(text) >= _LONG, whole or (latin and len(text) <= _SHORT)


def _key_of(part: str) -> str:
    """Return how the word begins that a part begins with, "" if it begins with none."""
    found = re.match("[a-z0-9]+", part)
    return found[0][:_KEY] if found else ""


def _holds(text: str, part: str, *, inside: bool, whole: bool) -> bool:
    at = text.find(part)
    while at >= 0:
        end = at + len(part)
        begins = inside or at == 0 or not text[at - 1].isalnum()
        if begins and not (whole and end < len(text) and text[end].isalnum()):
            return True
        at = text.find(part, at + 1)
    return False


def _starts(group: str) -> list[str]:
    """Return how words of a group begin; Hangul of two syllables and more may stand anywhere."""
    starts = f" {group.replace('/', '/ ')}".split("/")
    if group.isascii():
        return starts
    return [
        start if start.isascii() or len(start) <= _SPACE_AND_ONE else start[1:] for start in starts
    ]


@cache
def _topics() -> dict[str, list[Topic]]:
    """Return the topics by how a word of their first group begins."""
    topics: dict[str, list[Topic]] = {_ANYWHERE: []}
    for line in _join_lines("".join(_TABLES)).split("\n"):
        head, _, ways = line.partition(" : ")
        if ways:
            topic = Topic(head, ways)
            keys = {start[:_PAIR] for start in topic.first.split("/")}
            for key in (
                keys if head.isascii() else {key if key.isascii() else _ANYWHERE for key in keys}
            ):
                topics.setdefault(key, []).append(topic)
    return topics


def _join_lines(text: str) -> str:
    return text.replace("/\n  ", "/").replace("|\n  ", "|").replace("\n  ", " ")

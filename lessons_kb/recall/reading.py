"""An answer and what was done, read for what checklist items look for.

Lexical on purpose: no model, no network, a few milliseconds. An item is shown by the sentence or
edit that shows most of its terms, unless that sentence says that it was not done.
"""

from __future__ import annotations

import re
from functools import lru_cache
from heapq import nlargest

from lessons_kb.recall import equivalents as table
from lessons_kb.recall.telling import is_done, opens_what_is_left, says, split_clauses
from lessons_kb.recall.wanted import (
    AVOID,
    SAME,
    beginnings_of,
    is_wide,
    may_begin,
    split_words,
)
from lessons_kb.recall.ways import Ways, flatten
from lessons_kb.text.analyzer import analyze
from lessons_kb.text.prompts import split_sentences

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from lessons_kb.recall.wanted import Wanted
    from lessons_kb.recall.ways import Way

    _Shows = tuple[int, int, float]  # an item's number, its term, and how well it is shown

MAX_SENTENCE = 2_000
"""Nobody writes a longer sentence: it is data, and read like code."""

NEXT_TO = 0.8
"""A term shown by a neighbouring sentence counts this much."""
ELSEWHERE = 0.5
"""A term shown elsewhere, if little was said; the more was said, the less it counts."""
IN_CODE = 0.9
INSIDE_WORD = 0.9
"""A stem inside a longer word of code, such as goleak or mkdtemp."""
UNTOLD = 0.3
"""For what is to be avoided: a sentence about it that does not say that it is avoided."""

_LOOKED_AT = 6
"""Sentences and edits that are weighed for one item: those that show most of it."""
_FEW_UNITS = 4
_FEW_BLOCKS = 24
"""An answer of more blocks between blank lines is read only where it tells most."""
_READ_BLOCKS = 3
"""For one item."""
_SOME = 0.25
_HARDLY = 0.3
_CLOSE = 0.1
_SHORTEST_INSIDE = 4
_CHUNK_LINES = 12
_CHUNK_OVERLAP = 4
_FENCE = r"(?ms)^[ \t]*(?:```|~~~)[^\n]*\n(.*?)(?:^[ \t]*(?:```|~~~)[ \t]*$|\Z)"
_WORD = r"[^\W_]+"
_INLINE_CODE = r"`([^`]+)`"
_LIST_ITEM = r"\s*(?:[-*+•]|\d{1,3}[.)])\s"
_REMOVED_LINE = r"(?m)^-(?!-)"
_TO_BE_DONE = r"\b(?:TODO|FIXME|XXX)\b"


class Shown:
    """How an answer and its evidence show one item; all parts are between 0 and 1."""

    def __init__(self, wanted: Wanted) -> None:
        self.wanted = wanted
        self.score = 0.0
        """At the place that shows it best, what its surroundings show for less."""
        self.told = 0.0
        """Part told as done by one place."""
        self.denied = 0.0
        """Part told as not done by one place."""
        self.seen = 0.0
        """Part that is told as done anywhere."""
        self.action = 0.0
        """How well the word that names the action is told."""
        self.missing: tuple[str, ...] = ()
        """Its words that are nowhere told as done."""
        self.sentence = ""
        """The nearest sentence of the answer."""
        self.ways = 0
        """How many ways to tell of it are told as done."""

    @property
    def is_denied(self) -> bool:
        """Tell whether more of it is told as not done than as done."""
        return self.denied >= _SOME and self.denied >= self.told - _CLOSE


class _Unit:
    """A sentence of the answer, or a piece of code, and the terms of each item it shows."""

    def __init__(self, text: str, *, code: bool) -> None:
        self.text = text
        self.code = code
        self.left = False
        """It stands in a list of what was not done."""
        self.shown: dict[int, dict[int, float]] = {}
        """Item number → term → how well."""
        self.part: dict[int, float] = {}
        """Item number → weighted part of it that is shown."""
        self.told: list[Way] = []
        """The ways to tell of some item that it holds."""


class _Word:
    """What one unit says of one item."""

    def __init__(
        self,
        done: dict[int, float],
        denied: float = 0.0,
        untold: float = 0.0,
        ways: Iterable[Way] = (),
    ) -> None:
        self.done = done
        """Term → how well it is shown by a part of the unit that tells it as done."""
        self.ways = set(ways)
        """The ways to tell that such a part holds."""
        self.denied = denied
        """Part of the item that is told as not done."""
        self.untold = untold
        """Part of an item to be avoided that is mentioned without a word on avoiding it."""


class Reading:
    """An answer and its evidence, read for what a set of items looks for."""

    def __init__(self, items: Sequence[Wanted]) -> None:
        self.items = items
        self.units: list[_Unit] = []
        self.stems: dict[str, list[_Shows]] = {}
        self.pieces: dict[str, list[_Shows]] = {}
        self.inside: list[tuple[str, list[_Shows]]] = []
        for number, wanted in enumerate(items):
            for table_of, kept in ((wanted.stems, self.stems), (wanted.pieces, self.pieces)):
                for entry, parts in table_of.items():
                    kept.setdefault(entry, []).extend(
                        (number, term, part) for term, part in parts.items()
                    )
        for stem, shows in self.stems.items():
            own = [(number, term, INSIDE_WORD) for number, term, part in shows if part == SAME]
            if own and len(stem) >= _SHORTEST_INSIDE:
                self.inside.append((stem, own))
        self.ways = Ways(items)
        self.find_words = re.compile(_WORD).findall
        self.beginnings = beginnings_of(self.stems)
        self.met: set[str] = set()
        """Words looked at; most show nothing."""
        self.known: dict[str, Sequence[_Shows]] = {}

    def read_answer(self, answer: str) -> None:
        """Read what was said, code in fences as code."""
        end = 0
        for fence in re.finditer(_FENCE, answer):
            self._read_prose(answer[end : fence.start()])
            self.read_evidence(fence[1])
            end = fence.end()
        self._read_prose(answer[end:])

    def read_evidence(self, piece: str) -> None:
        """Read an edit or a command, a bounded number of lines at a time."""
        if not piece.strip():
            return
        lines = [line for line in piece.split("\n") if not re.search(_TO_BE_DONE, line)]
        self.ways.choose(piece)
        for start in range(0, max(1, len(lines)), _CHUNK_LINES):
            text = "\n".join(lines[start : start + _CHUNK_LINES + _CHUNK_OVERLAP])
            unit = self._read(text, code=True)
            if len(lines) == 1:
                self._show(unit, self.stems.get("run", ()))

    def _read_prose(self, text: str) -> None:
        self.ways.choose(text)
        blocks = text.split("\n\n")
        if len(blocks) <= _FEW_BLOCKS:
            return self._read_sentences(text)
        telling = self._find_telling(blocks)
        for place, block in enumerate(blocks):
            if place in telling or (place - 1 in telling and says(table.REFERS_BACK, block)):
                self._read_sentences(block)
            else:
                self.units.append(_Unit(block, code=False))
        return None

    def _read_sentences(self, text: str) -> None:
        left = False
        for sentence in split_sentences(text):
            unit = self._read(sentence, code=len(sentence) > MAX_SENTENCE)
            unit.left = left and bool(re.match(_LIST_ITEM, sentence))
            left = unit.left or opens_what_is_left(sentence)

    def _find_telling(self, blocks: Sequence[str]) -> set[int]:
        """Return the blocks that show most of each item: splitting all of a long text is slow."""
        by_item: dict[int, list[tuple[float, int]]] = {}
        for place, text in enumerate(blocks):
            block = _Unit(text, code=False)
            self._match(block)
            for number, part in block.part.items():
                by_item.setdefault(number, []).append((part, -place))
        return {-place for found in by_item.values() for _, place in nlargest(_READ_BLOCKS, found)}

    def _read(self, text: str, *, code: bool) -> _Unit:
        unit = _Unit(text, code=code)
        self.units.append(unit)
        self._match(unit)
        return unit

    def _match(self, unit: _Unit, whole: _Unit | None = None) -> None:
        """Find what a unit shows, a part of the ``whole`` if there is one."""
        words = set(self.find_words(unit.text))
        for word in words - self.met:
            shows = self._shown_by(word)
            if shows:
                self.known[word] = shows
        self.met |= words
        for word in words & self.known.keys():
            self._show(unit, self.known[word])
        self._match_ways(unit, whole)
        if self.pieces and not unit.text.isascii():
            self._match_pieces(unit)
        if unit.code:
            self._match_inside(unit, unit.text)
        elif "`" in unit.text:
            self._match_inside(unit, " ".join(re.findall(_INLINE_CODE, unit.text)))

    def _match_ways(self, unit: _Unit, whole: _Unit | None) -> None:
        if whole is None:
            unit.told = self.ways.find(unit.text, code=unit.code)
        else:
            flat = flatten(unit.text, code=unit.code)
            unit.told = [way for way in whole.told if way.is_in(flat, code=unit.code)]
        for way in unit.told:
            self._show(unit, way.shows)

    def _match_inside(self, unit: _Unit, code: str) -> None:
        low = code.lower()
        for stem, shows in self.inside:
            if stem in low:
                self._show(unit, shows)

    def _match_pieces(self, unit: _Unit) -> None:
        runs = [word for word in split_words(unit.text) if is_wide(word)]
        if not runs:
            return
        flat, spaced = "".join(runs), " " + " ".join(runs)
        for piece, shows in self.pieces.items():
            if piece in flat if len(piece) > 1 else f" {piece}" in spaced:
                self._show(unit, shows)

    def _shown_by(self, word: str) -> Sequence[_Shows]:
        if word[1:].islower() and word.isalpha():  # the common case, in a hurry
            low = word.lower()
            if not may_begin(low, self.beginnings):
                return ()
            return [entry for stem in _stems(low) for entry in self.stems.get(stem, ())]
        parts = {part.lower() for part in split_words(word)}
        stems = {stem for low in parts if may_begin(low, self.beginnings) for stem in _stems(low)}
        return [entry for stem in stems for entry in self.stems.get(stem, ())]

    def _show(self, unit: _Unit, shows: Iterable[_Shows]) -> None:
        for number, term, part in shows:
            shown = unit.shown.get(number)
            if shown is None:
                shown = unit.shown[number] = {}
                unit.part[number] = 0.0
            more = part - shown.get(term, 0.0)
            if more > 0:
                wanted = self.items[number]
                shown[term] = part
                unit.part[number] += more * wanted.weights[term] / wanted.total

    def judge(self, number: int) -> Shown:
        """Return how one of the items is shown."""
        wanted, units = self.items[number], self.units
        shown = Shown(wanted)
        places = [place for place, unit in enumerate(units) if number in unit.part]
        told_in = [place for place in places if not units[place].code]
        if told_in:
            shown.sentence = units[max(told_in, key=lambda at: units[at].part[number])].text
        if len(places) > _LOOKED_AT:
            places = nlargest(_LOOKED_AT, places, key=lambda place: units[place].part[number])
        words = {place: self._word_on(place, number) for place in places}
        seen: dict[int, float] = {}
        for word in words.values():
            _join(seen, word.done, 1.0)
            shown.denied = max(shown.denied, word.denied)
            shown.told = max(shown.told, _part(wanted, word.done))
            shown.score = max(shown.score, UNTOLD * word.untold)
        for place in places:
            if words[place].done:
                shown.score = max(shown.score, self._score(number, place, words, seen))
        shown.ways = len({way for word in words.values() for way in word.ways})
        shown.seen = _part(wanted, seen)
        shown.action = 0.5 if wanted.key is None else seen.get(wanted.key, 0.0)
        shown.missing = tuple(word for term, word in enumerate(wanted.words) if term not in seen)
        return shown

    def _score(
        self, number: int, place: int, words: dict[int, _Word], seen: dict[int, float]
    ) -> float:
        """Return the part of an item shown at one place, what its surroundings show for less."""
        unit = self.units[place]
        best: dict[int, float] = {}
        _join(best, words[place].done, IN_CODE if unit.code else 1.0)
        _join(best, seen, ELSEWHERE * min(1.0, _FEW_UNITS / len(self.units)))
        for other in (place - 1, place + 1):
            if other in words and self.units[other].code == unit.code:
                _join(best, words[other].done, NEXT_TO)
        return _part(self.items[number], best)

    def _word_on(self, place: int, number: int) -> _Word:
        unit, wanted = self.units[place], self.items[number]
        shown = unit.shown[number]
        ways = [way for way in unit.told if number in way.items]
        if unit.code:
            removes = wanted.aim != AVOID or ways or re.search(_REMOVED_LINE, unit.text)
            return _Word(shown, ways=ways) if removes else _Word({})
        if says(table.TICKED, unit.text):
            return _Word(shown, ways=ways)
        if unit.left or says(table.UNTICKED, unit.text):
            return _Word({}, denied=unit.part[number])
        if wanted.aim != AVOID and self._is_taken_back(place, number):
            return _Word({}, denied=unit.part[number])
        clauses = split_clauses(unit.text)
        if len(clauses) == 1:
            return _word_of(unit, unit.text, number, wanted)
        done: dict[int, float] = {}
        denied = untold = 0.0
        told: set[Way] = set()
        for text in clauses:
            clause = _Unit(text, code=False)
            self._match(clause, unit)
            word = _word_of(clause, unit.text, number, wanted)
            _join(done, word.done, 1.0)
            denied, untold = max(denied, word.denied), max(untold, word.untold)
            told |= word.ways
        return _Word(done, denied, untold, told)

    def _is_taken_back(self, place: int, number: int) -> bool:
        """Tell whether the next sentence says "that is for later" or the like."""
        if place + 1 >= len(self.units):
            return False
        after = self.units[place + 1]
        if after.code or after.part.get(number, 0.0) >= _HARDLY:
            return False
        return says(table.REFERS_BACK, after.text) and not is_done(after.text, self.items[number])


def _word_of(clause: _Unit, sentence: str, number: int, wanted: Wanted) -> _Word:
    shown = clause.shown.get(number, {})
    if not shown:
        return _Word({})
    part = _part(wanted, shown)
    ways = [way for way in clause.told if number in way.items]
    if wanted.aim == AVOID and not says(table.PUT_OFF, clause.text):
        is_avoided = ways or says(table.UNDONE, sentence)
        return _Word(shown, ways=ways) if is_avoided else _Word({}, untold=part)
    if is_done(clause.text, wanted):
        return _Word(shown, ways=ways)
    return _Word({}, denied=part)


@lru_cache(maxsize=8192)
def _stems(word: str) -> tuple[str, ...]:
    return tuple(analyze(word))


def _join(best: dict[int, float], shown: dict[int, float], worth: float) -> None:
    for term, part in shown.items():
        best[term] = max(best.get(term, 0.0), part * worth)


def _part(wanted: Wanted, shown: dict[int, float]) -> float:
    return sum(wanted.weights[term] * part for term, part in shown.items()) / wanted.total

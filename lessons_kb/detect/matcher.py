"""Many patterns, compiled together, looked for in one text.

One pass of RE2 over the text tells which regular expressions are in it at all; where they stand
is looked up for those alone. Syntax is read only where the words of a pattern occur.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice

from lessons_kb.detect.added_code import Change
from lessons_kb.detect.ast_patterns import find_language, find_nodes, language_of
from lessons_kb.detect.patterns import compile_pattern, find_segments, find_words
from lessons_kb.model import Pattern
from lessons_kb.text.globs import match_globs
from lessons_kb.text.linear_regex import compile_set

MAX_CHARS = 1_000_000
"""Of one text; what is behind them is not looked at."""
MAX_SYNTAX_CHARS = 200_000
"""Of a text whose syntax is read: garbage of this length takes ast-grep about a second."""
MAX_MATCHES = 1_000
"""Of one pattern in one text."""
_MAX_MEMORY = 64 << 20
"""Bytes for one compiled set."""
_MAX_SHOWN = 200
"""Characters of a line that are quoted."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Rule:
    """One pattern of one card."""

    card: str
    """Whatever tells the card from others."""
    pattern: Pattern
    globs: tuple[tuple[str, bool], ...] = ()
    """``pattern.files`` compiled."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Match:
    """One place where a pattern was found."""

    rule: Rule
    path: str
    """Of the file; "" for a command."""
    line: int
    """1-based; 0 = not known."""
    column: int
    """1-based, in characters."""
    text: str
    """The line in which it begins, without the white space around it, at most 200 characters."""
    length: int = 0
    """Characters of that line which belong to it; 0 = not known."""


@dataclass(frozen=True, kw_only=True, slots=True)
class _Hit:
    rule: Rule
    start: int
    end: int
    """Bytes in the piece."""
    found: str
    """What was found, without regard to white space."""


class Matcher:
    """Rules that passed ``check_pattern``, compiled once; safe to share between threads.

    Each kind is compiled when it is first looked for: a command needs no pattern of files.
    """

    def __init__(self, rules: Iterable[Rule]) -> None:
        self.rules = tuple(rules)
        by_kind: dict[str, list[Rule]] = {"regex": [], "ast": [], "command": []}
        for rule in self.rules:
            by_kind[rule.pattern.kind].append(rule)
        self._code, self._syntax = by_kind["regex"], by_kind["ast"]
        self._commands = by_kind["command"]

    @cached_property
    def _in_code(self) -> Callable[[bytes], list[int]]:
        return _set_of(self._code)

    @cached_property
    def _in_command(self) -> Callable[[bytes], list[int]]:
        return _set_of(self._commands)

    @cached_property
    def _words(self) -> list[tuple[bytes, ...]]:
        """Of each syntax pattern."""
        return [tuple(w.encode() for w in find_words(rule.pattern)) for rule in self._syntax]

    @cached_property
    def _segments(self) -> tuple[list[frozenset[int]], Callable[[bytes], list[int]]]:
        """What of each syntax pattern is in any code that it matches, and what tells that it is."""
        segments = [find_segments(rule.pattern) for rule in self._syntax]
        places = {one: n for n, one in enumerate(dict.fromkeys(s for own in segments for s in own))}
        needed = [frozenset(places[one] for one in own) for own in segments]
        return needed, compile_set(list(places), max_memory=_MAX_MEMORY)

    def find_added(self, change: Change) -> list[Match]:
        """Return what a change adds, in the order of the file.

        What was in the piece before does not count, wherever it stands now: of a text that is
        found more often than before, the places on new lines are returned first.
        """
        change = _with_plain_ends(change)
        after = _encode(change.after)
        hits = self._find(change, after, change.after)
        if not hits:
            return []
        lines = _Lines(after)
        if change.before:
            before = _encode(change.before)
            was = self._find(change, before, change.before, among={hit.rule for hit in hits})
            old = {line.strip() for line in before.split(b"\n")} if was else set()
            hits = _without(hits, was, lambda hit: lines.text(hit.start).strip() in old)
        found: dict[tuple[str, int], Match] = {}
        for hit in sorted(hits, key=lambda hit: hit.start):
            found.setdefault((hit.rule.card, lines.number(hit.start)), _match(hit, change, lines))
        return list(found.values())

    def find_in_file(self, path: str, text: str) -> list[Match]:
        """Return every match in a whole file, in its order."""
        return self.find_added(Change(path=path, after=text))

    def find_in_commands(self, commands: Sequence[str]) -> list[Match]:
        """Return the matches in some simple commands, one for each rule and command."""
        found = []
        for command in commands:
            data = _encode(command)
            for place in sorted(self._in_command(data)):
                rule = self._commands[place]
                if not all(_is_excused(hit, data) for hit in _find_regex(rule, data)):
                    shown = " ".join(command.split())[:_MAX_SHOWN]
                    found.append(Match(rule=rule, path="", line=1, column=1, text=shown))
        return found

    def _find(
        self, change: Change, data: bytes, text: str, *, among: Collection[Rule] | None = None
    ) -> list[_Hit]:
        """Return the matches in one side of a change; of some rules alone, if they are given."""

        def applies(rule: Rule) -> bool:
            if among is not None and rule not in among:
                return False
            return not rule.pattern.files or match_globs(rule.globs, change.path)

        hits: list[_Hit] = []
        for place in sorted(self._in_code(data)):
            if applies(self._code[place]):
                hits += _find_regex(self._code[place], data)
        told = [
            place
            for place, words in enumerate(self._words)
            if any(word in data for word in words) and applies(self._syntax[place])
        ]
        whole = f"{change.prefix}{text}{change.suffix}" if told else ""
        if told and len(whole) <= MAX_SYNTAX_CHARS:
            needed, tell = self._segments
            around = set(tell(data if whole == text else _encode(whole)))
            rules = [self._syntax[place] for place in told if needed[place] <= around]
            hits += _find_syntax(rules, change.path, whole, len(change.prefix), len(text))
        return [hit for hit in hits if not _is_excused(hit, data)]


def _set_of(rules: Sequence[Rule]) -> Callable[[bytes], list[int]]:
    return compile_set([f"(?m){rule.pattern.text}" for rule in rules], max_memory=_MAX_MEMORY)


def _with_plain_ends(change: Change) -> Change:
    names = ("before", "after", "prefix", "suffix")
    texts = {name: getattr(change, name) for name in names}
    if not any("\r" in text for text in texts.values()):
        return change
    return replace(change, **{name: text.replace("\r\n", "\n") for name, text in texts.items()})


def _encode(text: str) -> bytes:
    return text[:MAX_CHARS].encode("utf-8", "replace")


def _find_regex(rule: Rule, data: bytes) -> list[_Hit]:
    occurrences = compile_pattern(rule.pattern.text).finditer(data)
    return [
        _Hit(
            rule=rule,
            start=one.start(),
            end=one.end(),
            found=_fold(data[one.start() : one.end()].decode("utf-8", "replace")),
        )
        for one in islice(occurrences, MAX_MATCHES)
        if one.end() > one.start()
    ]


def _find_syntax(
    rules: Sequence[Rule], path: str, whole: str, begin: int, length: int
) -> Iterator[_Hit]:
    """Yield the nodes that reach into a piece of a text; places are bytes in that piece."""
    whole = whole.encode("utf-8", "replace").decode()
    piece = whole[begin : begin + length]
    known = language_of(path)
    by_language: dict[str, list[Rule]] = {}
    for rule in rules:
        language = find_language(rule.pattern.language) or known
        if language and known in ("", language):
            by_language.setdefault(language, []).append(rule)
    for language, some in by_language.items():
        for place, start, end in find_nodes(whole, language, [r.pattern.text for r in some]):
            if end <= begin or start >= begin + length:
                continue
            inside = (min(max(at - begin, 0), length) for at in (start, end))
            first, last = (len(piece[:at].encode()) for at in inside)
            yield _Hit(rule=some[place], start=first, end=last, found=_fold(whole[start:end]))


def _fold(text: str) -> str:
    return " ".join(text.split())


def _is_excused(hit: _Hit, data: bytes) -> bool:
    """Tell whether ``unless`` stands on the lines of a match."""
    unless = hit.rule.pattern.unless
    if not unless:
        return False
    start = data.rfind(b"\n", 0, hit.start) + 1
    end = data.find(b"\n", hit.end)
    return compile_pattern(unless).search(data[start : len(data) if end < 0 else end]) is not None


def _without(
    hits: Sequence[_Hit], was: Sequence[_Hit], is_old: Callable[[_Hit], bool]
) -> list[_Hit]:
    """Return as many matches of a text as there are more than before, those on new lines first."""
    left = Counter((hit.rule, hit.found) for hit in hits)
    left.subtract((hit.rule, hit.found) for hit in was)
    kept = []
    for hit in sorted(hits, key=is_old):
        key = (hit.rule, hit.found)
        if left[key] > 0:
            left[key] -= 1
            kept.append(hit)
    return kept


class _Lines:
    """Where the lines of a text begin."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._starts = [0]
        place = data.find(b"\n")
        while place >= 0:
            self._starts.append(place + 1)
            place = data.find(b"\n", place + 1)

    def number(self, at: int) -> int:
        """Return the number, from 0, of the line in which a byte stands."""
        return bisect_right(self._starts, at) - 1

    def start(self, at: int) -> int:
        """Return where the line of a byte begins."""
        return self._starts[self.number(at)]

    def text(self, at: int) -> bytes:
        """Return the line in which a byte stands."""
        end = self._data.find(b"\n", at)
        return self._data[self.start(at) : len(self._data) if end < 0 else end]


def _match(hit: _Hit, change: Change, lines: _Lines) -> Match:
    line = lines.text(hit.start)
    inside = hit.start - lines.start(hit.start)
    shown = line[max(inside - _MAX_SHOWN // 2, 0) :] if len(line) > _MAX_SHOWN else line
    own = line[inside : inside + hit.end - hit.start]
    return Match(
        rule=hit.rule,
        path=change.path,
        line=change.line + lines.number(hit.start) if change.line else 0,
        column=len(line[:inside].decode("utf-8", "replace")) + 1,
        text=shown[: 4 * _MAX_SHOWN].decode("utf-8", "replace").strip()[:_MAX_SHOWN],
        length=len(own.decode("utf-8", "replace")),
    )

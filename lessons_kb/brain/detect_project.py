"""Detection over a project: its files, a change of it, its history."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from lessons_kb.brain.detection import Detected, find_detected, read_text
from lessons_kb.brain.layers import Layers
from lessons_kb.detect.changes import Change, parse_diff, place_in
from lessons_kb.detect.matcher import Match, Matcher, Rule
from lessons_kb.detect.syntax import is_available, language_of
from lessons_kb.errors import GitError
from lessons_kb.model import Card, Pattern
from lessons_kb.process.git import list_files, read_history


@dataclass(frozen=True, kw_only=True, slots=True)
class Found:
    """One match with its card."""

    card: Card
    match: Match


@dataclass(frozen=True, kw_only=True, slots=True)
class History:
    """How often a card's mistake was added, by month."""

    card: Card
    months: tuple[tuple[str, int, int], ...]
    """(``2026-01``, times before the card was created, times since); a card without a date has
    all of them before."""

    @property
    def before(self) -> int:
        """Times before the card was created."""
        return sum(before for _month, before, _since in self.months)

    @property
    def since(self) -> int:
        """Times since."""
        return sum(since for _month, _before, since in self.months)


MANY_PLACES = 5
"""A pattern of one mistake that finds more places describes something ordinary."""
_HEAD = 8_000
"""Characters in which a NUL tells a binary file, as git does."""


def detect_files(brain: Layers, paths: Iterable[str]) -> Iterator[Found]:
    """Yield every match in some files, by file and line; ``paths`` start from the project root.

    Files that hold no text, or more than MAX_CHARS bytes of it, are passed over.
    """
    for path in paths:
        if text := read_source(os.path.join(brain.directory, path)):
            yield from flatten(find_detected(brain, [Change(path=path, after=text)]))


def read_source(path: str) -> str:
    """Return the text of a file, "" of one that is binary, too large or not there."""
    text = read_text(path)
    return "" if "\0" in text[:_HEAD] else text


def detect_diff(brain: Layers, diff: str) -> list[Found]:
    """Return what a unified diff adds, by file and line; its paths start from the project root."""
    changes = [
        place_in(change, read_text(os.path.join(brain.directory, change.path)))
        for change in parse_diff(diff)
    ]
    return list(flatten(find_detected(brain, changes)))


def detect_history(brain: Layers) -> list[History]:
    """Return how often each card's mistake was added by month, over all commits up to HEAD.

    Cards whose mistake was never added are left out; the others come by id. Raises GitError.
    """
    counts: dict[tuple[str, str], Counter[tuple[str, bool]]] = {}
    cards: dict[tuple[str, str], Card] = {}
    for commit in read_history(brain.directory):
        for one in find_detected(brain, parse_diff(commit.text)):
            key = (one.layer.alias, one.card.id)
            since = one.card.created is not None and commit.date >= one.card.created
            cards[key] = one.card
            months = counts.setdefault(key, Counter())
            months[commit.date[:7], since] += len(one.matches)
    return [
        History(
            card=card,
            months=tuple(
                (month, counts[key][month, False], counts[key][month, True])
                for month in sorted({month for month, _since in counts[key]})
            ),
        )
        for key, card in sorted(cards.items())
    ]


def is_rare(directory: str, pattern: Pattern) -> bool:
    """Tell whether a pattern finds at most MANY_PLACES in a project's files as they are now."""
    matcher = Matcher([Rule(card="", pattern=pattern)])
    found = 0
    for path in list_tree(directory):
        if not pattern.language or language_of(path) == pattern.language:
            found += len(matcher.find_in_file(path, read_source(os.path.join(directory, path))))
        if found > MANY_PLACES:
            return False
    return True


def list_tree(directory: str, paths: Sequence[str] = ()) -> list[str]:
    """Return the project's files, or those within ``paths``, from its root; ignored ones left out.

    Without git every file counts that is not hidden. No link is followed: a repository may hold
    one that leads to a private file. A file that is named counts, whatever it is.
    """
    named = [path for path in paths if os.path.isfile(os.path.join(directory, path))]
    folders = [path for path in paths if path not in named]
    if paths and not folders:
        return sorted(set(named))
    try:
        found = list_files(directory, [path for path in folders if path != "."])
    except GitError:
        found = list(_walk(directory, folders or ["."]))
    root = os.path.realpath(directory)
    whole = (
        path for path in found if os.path.realpath(os.path.join(root, path)) == _at(root, path)
    )
    return sorted({*named, *whole})


def _at(root: str, path: str) -> str:
    return os.path.join(root, *path.split("/"))


def _walk(root: str, folders: Sequence[str]) -> Iterator[str]:
    for start in folders:
        for place, inner, files in os.walk(os.path.join(root, start)):
            inner[:] = [name for name in inner if not name.startswith(".")]
            for name in files:
                if not name.startswith("."):
                    path = os.path.relpath(os.path.join(place, name), root)
                    yield path.replace(os.sep, "/")


def flatten(detected: Iterable[Detected]) -> list[Found]:
    """Return each match with its card, by file and line."""
    found = [Found(card=one.card, match=match) for one in detected for match in one.matches]
    return sorted(found, key=lambda one: (one.match.path, one.match.line, one.card.id))


def count_unused(brain: Layers) -> tuple[int, int]:
    """Return how many patterns are beyond what is looked for, and how many need ast-grep."""
    matchers = [
        (layer.state.detectors, layer.read(lambda one: one.matcher()))
        for layer in brain.layers
        if layer.state is not None and layer.state.detectors
    ]
    beyond = sum(count - len(matcher.rules) for count, matcher in matchers)
    if is_available():
        return beyond, 0
    kinds = [rule.pattern.kind for _count, matcher in matchers for rule in matcher.rules]
    return beyond, kinds.count("ast")

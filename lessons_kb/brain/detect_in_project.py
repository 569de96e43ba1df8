"""Detection over a project: its files, a change of it, its history."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from lessons_kb.brain.detect_in_change import Detected, find_detected, read_text
from lessons_kb.brain.layers import Layers
from lessons_kb.detect.added_code import Change, parse_diff, place_in
from lessons_kb.detect.ast_patterns import is_available, language_of
from lessons_kb.detect.matcher import Match, Matcher
from lessons_kb.detect.propose import Proposal, count_matches, propose
from lessons_kb.errors import GitError
from lessons_kb.model import Card, Pattern
from lessons_kb.process.git import list_files
from lessons_kb.store.locate import git_top
from lessons_kb.store.scan import SUFFIXES


@dataclass(frozen=True, kw_only=True, slots=True)
class Found:
    """One match with its card."""

    card: Card
    match: Match


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
    return "" if is_binary(text) else text


def find_in_tree(directory: str, matcher: Matcher, *, root: str) -> Iterator[Match]:
    """Yield the matches in the files of a project, the Markdown of the brain at ``root`` left out.

    A card that shows its mistake would find itself.
    """
    for path in list_tree(directory):
        full = os.path.join(directory, path)
        if not (full.startswith(root + os.sep) and path.endswith(SUFFIXES)):
            yield from matcher.find_in_file(path, read_source(full))


def is_binary(text: str) -> bool:
    """Tell whether a file's text is that of a binary file."""
    return "\0" in text[:_HEAD]


def detect_diff(brain: Layers, diff: str) -> list[Found]:
    """Return what a unified diff adds, by file and line; its paths start from the project root."""
    return list(flatten(find_detected(brain, _placed(brain.directory, diff))))


def propose_patterns(directory: str, diff: str, *, again: str = "") -> list[Pattern]:
    """Return how the mistake may look that a unified diff put right, see ``detect.propose``.

    With ``again``, the diff of a second fix, what both show. The project's files are as they are
    after the fixes.
    """

    def are_rare(proposals: Sequence[Proposal], most: int) -> list[bool]:
        languages = {pattern.language for one in proposals for pattern in one}
        files = (
            (path, read_source(os.path.join(directory, path)))
            for path in list_tree(directory)
            if language_of(path) in languages
        )
        return [count <= most for count in count_matches(proposals, files, most=most)]

    second = _placed(directory, again) if again else None
    return propose(_placed(directory, diff), are_rare, again=second)


def _placed(directory: str, diff: str) -> list[Change]:
    """Return the pieces of a diff with what stands around them, where that is known."""
    return [
        place_in(change, read_text(os.path.join(directory, change.path)))
        for change in parse_diff(diff)
    ]


def list_tree(
    directory: str, paths: Sequence[str] = (), *, tell: Callable[[str], object] = bool
) -> list[str]:
    """Return the project's files, or those within ``paths``, from its root; ignored ones left out.

    Without git every file counts that is not hidden. No link is followed: a repository may hold
    one that leads to a private file. A file that is named counts, whatever it is. ``tell`` is told
    of a repository that git refuses: there, too, every file counts.
    """
    named = [path for path in paths if os.path.isfile(os.path.join(directory, path))]
    folders = [path for path in paths if path not in named]
    if paths and not folders:
        return sorted(set(named))
    try:
        found = list_files(directory, [path for path in folders if path != "."])
    except GitError as error:
        if git_top(directory) is not None:
            tell(f"{error}. Ignored files are looked at as well")
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
    kinds = [rule.pattern.kind for _count, matcher in matchers for rule in matcher.rules]
    syntax = kinds.count("ast")
    return beyond, 0 if not syntax or is_available() else syntax

"""Find the mistakes that match patterns in a project's files, in diffs and in its history."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from lessons_kb.brain.brains import Brains
from lessons_kb.detect.change import Change
from lessons_kb.detect.matcher import EXTRA, Match, Matcher, is_available, parse_diff, place_in
from lessons_kb.errors import GitError, StorageError
from lessons_kb.find.detection import Detected, find_detected, has_detectors, read_text
from lessons_kb.model import Card, as_data
from lessons_kb.process.git import Commit, Repository, decode, list_files, read_history
from lessons_kb.process.installation import install_command
from lessons_kb.store.files import read_regular
from lessons_kb.store.private_files import write_private
from lessons_kb.store.repositories import git_top
from lessons_kb.store.scan import SUFFIXES
from lessons_kb.store.state_folder import state_dir
from lessons_kb.text.sanitize import counted

_HEAD = 8_000
"""The number of characters that are searched for a NUL, which marks a binary file as in git."""


def detect_files(brains: Brains, paths: Iterable[str]) -> Iterator[tuple[Card, Match]]:
    """Yield every match in some files, sorted by file and line. ``paths`` are relative to the
    project root.

    Binary files and files of more than MAX_CHARS bytes are skipped.
    """
    for path in paths:
        text = read_source(os.path.join(brains.directory, path))
        if text:
            yield from flatten(find_detected(brains, [Change(path=path, after=text)]))


def read_source(path: str) -> str:
    """Return the text of a file, or "" if the file is binary, too large or missing."""
    text = read_text(path)
    return "" if is_binary(text) else text


def find_in_tree(directory: str, matcher: Matcher, *, root: str) -> Iterator[Match]:
    """Yield the matches in the files of a project.

    The Markdown files of the brain at ``root`` are skipped, because a card that quotes its mistake
    would match itself.
    """
    for path in list_tree(directory):
        full = os.path.join(directory, path)
        if not (full.startswith(root + os.sep) and path.endswith(SUFFIXES)):
            yield from matcher.find_in_file(path, read_source(full))


def is_binary(text: str) -> bool:
    """Return whether the text of a file looks binary."""
    return "\0" in text[:_HEAD]


def detect_diff(brains: Brains, diff: str) -> list[tuple[Card, Match]]:
    """Return the mistakes in the lines that a unified diff adds, sorted by file and line.

    The paths of the diff are relative to the project root.
    """
    return flatten(find_detected(brains, _place_diff(brains.directory, diff)))


def _place_diff(directory: str, diff: str) -> list[Change]:
    """Return the changes of a diff with the text around them, if the files contain that text."""
    return [
        place_in(change, read_text(os.path.join(directory, change.path)))
        for change in parse_diff(diff)
    ]


def list_tree(
    directory: str, paths: Sequence[str] = (), *, warn: Callable[[str], object] = bool
) -> list[str]:
    """Return the project's files, or the files within ``paths``, relative to the project root.

    Files that git ignores are left out. Without git, hidden files are left out instead. Links are
    not followed, because a repository may have a link to a private file. A file named in ``paths``
    is always returned. ``warn`` is called if git refuses the repository. The repository is then
    treated as one without git.
    """
    named = [path for path in paths if os.path.isfile(os.path.join(directory, path))]
    folders = [path for path in paths if path not in named]
    if paths and not folders:
        return sorted(set(named))
    try:
        listed = list_files(directory, [path for path in folders if path != "."])
    except GitError as error:
        if git_top(directory) is not None:
            warn(f"{error}. Ignored files are looked at as well")
        listed = list(_walk_visible(directory, folders or ["."]))
    root = os.path.realpath(directory)
    files = set(named)
    for path in listed:
        full = os.path.join(root, *path.split("/"))
        if os.path.realpath(full) == full:
            files.add(path)
    return sorted(files)


def _walk_visible(directory: str, folders: Iterable[str]) -> Iterator[str]:
    """Yield the files below some folders, relative to the directory, without hidden ones."""
    for start in folders:
        for place, inner, files in os.walk(os.path.join(directory, start)):
            inner[:] = [name for name in inner if not name.startswith(".")]
            for name in files:
                if not name.startswith("."):
                    full = os.path.join(place, name)
                    yield os.path.relpath(full, directory).replace(os.sep, "/")


def flatten(detected: Iterable[Detected]) -> list[tuple[Card, Match]]:
    """Return each match with its card, sorted by file and line."""
    pairs = [(detection.card, match) for detection in detected for match in detection.matches]
    return sorted(pairs, key=lambda pair: (pair[1].path, pair[1].line, pair[0].id))


def describe_unused(brains: Brains) -> Iterator[str]:
    """Yield a line about each kind of pattern that is not in use."""
    searched = [brain for brain in brains.members if brain.state and brain.state.detectors]
    beyond, syntax = 0, 0
    for brain in searched:
        rules = brain.read(lambda brain: brain.matcher()).rules
        beyond += (brain.state.detectors if brain.state else 0) - len(rules)
        syntax += sum(rule.pattern.kind == "ast" for rule in rules)
    if beyond:
        yield f"{counted(beyond, 'pattern')} beyond the limit were not looked for; remove some"
    if syntax and not is_available():
        yield f"{counted(syntax, 'ast pattern')} not looked for; run `{install_command(EXTRA)}`"
    bad = 0
    for brain in brains.members:
        findings = brain.read(lambda brain: brain.catalogue.findings())
        bad += sum(finding.rule == "bad-pattern" for finding in findings)
    if bad:
        yield f"{counted(bad, 'pattern')} cannot be used; `lessons lint` says why"
    elif not searched:
        yield "no card has patterns; add `detect:` to a card"


GLANCE_SECONDS = 3.0
"""The maximum time, in seconds, that `glance` spends on the history. The next call continues
there.
"""
_MAX_COMMITS = 20_000
"""The maximum number of commits that are counted."""
_MAX_CACHE_BYTES = 4_000_000
_CACHE_NAME = "detected-history.json"


class _Added(NamedTuple):
    """The key under which mistakes that commits added are counted."""

    alias: str
    """The alias of the brain."""
    card: str
    """The id of the card."""
    month: str
    """The month of the commit, such as ``2026-01``."""
    is_since: bool
    """Whether the commit was made after the card was created."""


Months = tuple[tuple[str, int, int], ...]
"""Tuples (month such as ``2026-01``, mistakes before the card was created, mistakes since then),
oldest first.

If a card has no date, all mistakes count as before its creation.
"""


class History(NamedTuple):
    """The mistakes that commits added."""

    months: dict[tuple[str, str], Months]
    """Mapping from (alias, card id) to how often the card's mistake was added in each month, sorted
    by alias and id. Cards whose mistake was never added are left out."""
    is_partial: bool = False
    """Whether newer commits were not counted, because the time was over."""


def detect_history(brains: Brains, *, seconds: float | None = None) -> History:
    """Count the mistakes that the commits up to HEAD added.

    With ``seconds``, counting stops after that time, and the next call continues there. Raises
    GitError.
    """
    if not has_detectors(brains):
        return History({})
    counts, is_partial = _count_history(brains, seconds)
    added_months = {(added.alias, added.card, added.month) for added in counts}
    months: dict[tuple[str, str], list[tuple[str, int, int]]] = defaultdict(list)
    for alias, card, month in sorted(added_months):
        before = counts[_Added(alias, card, month, is_since=False)]
        since = counts[_Added(alias, card, month, is_since=True)]
        months[alias, card].append((month, before, since))
    return History({key: tuple(values) for key, values in months.items()}, is_partial)


def _count_history(brains: Brains, seconds: float | None) -> tuple[Counter[_Added], bool]:
    """Continue the cached count, unless the patterns or the project have changed since then.

    Return the count, and whether commits are left, because the time was over.
    """
    directory = brains.directory
    repository = Repository(brains.directory)
    head = repository.head()
    digest = _digest_patterns(brains)
    path = os.path.join(state_dir(brains.members[0].root), _CACHE_NAME)
    reached = ""
    counts = Counter[_Added]()
    with contextlib.suppress(OSError, StorageError, ValueError, KeyError, TypeError):
        cached = json.loads(read_regular(path, limit=_MAX_CACHE_BYTES, name=path))
        rows: dict[_Added, int] = {}
        for alias, card, month, is_since, count in cached["counts"]:
            rows[_Added(str(alias), str(card), str(month), bool(is_since))] = int(count)
        if cached["digest"] == digest and repository.leads(cached["commit"]):
            reached = str(cached["commit"])
            counts = Counter(rows)
    if reached == head:
        return counts, False
    began = time.monotonic()
    try:
        for commit in read_history(directory, since=reached, most=_MAX_COMMITS):
            counts.update(_count_commit(brains, commit))
            reached = commit.id
            if seconds is not None and time.monotonic() - began > seconds:
                break
        else:
            reached = head  # HEAD is a merge, or every commit was counted
    finally:  # an interrupt loses one commit
        rows_to_store = [[*key, count] for key, count in sorted(counts.items())]
        data = json.dumps({"digest": digest, "commit": reached, "counts": rows_to_store})
        with contextlib.suppress(StorageError):  # the next call then counts from the start
            write_private(path, data.encode())
    return counts, reached != head


def _digest_patterns(brains: Brains) -> str:
    """Return a digest of the project and of everything that affects the matches of its patterns."""
    cards: list[list[object]] = []
    for brain in brains.members:
        for card in brain.read(lambda brain: brain.catalogue.all_cards()):
            if card.detect and card.status == "active":
                patterns = [as_data(pattern) for pattern in card.detect]
                cards.append([brain.alias, card.id, card.created, card.project, patterns])
    directory = os.path.realpath(brains.directory)
    text = json.dumps([directory, is_available(), cards], sort_keys=True)
    return hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=16).hexdigest()


def _count_commit(brains: Brains, commit: Commit) -> Counter[_Added]:
    """Count the mistakes that a commit added."""
    added: Counter[_Added] = Counter()
    for detection in find_detected(brains, parse_diff(decode(commit.patch))):
        card = detection.card
        is_since = card.created is not None and commit.date >= card.created
        key = _Added(detection.brain.alias, card.id, commit.date[:7], is_since)
        added[key] += len(detection.matches)
    return added


def glance(brains: Brains) -> History:
    """Return the history as far as it can be counted in a few seconds. It is empty without git."""
    try:
        return detect_history(brains, seconds=GLANCE_SECONDS)
    except (GitError, StorageError):
        return History({})

"""The mistakes that patterns find in files, diffs, and the history of a project."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence

from lessons_kb.brain.brains import Brains
from lessons_kb.detect.matcher import (
    EXTRA,
    Change,
    Match,
    Matcher,
    is_available,
    parse_diff,
    place_in,
)
from lessons_kb.detect.propose import Proposal, propose
from lessons_kb.errors import GitError, StorageError
from lessons_kb.find.detection import Detected, find_detected, has_detectors, read_text
from lessons_kb.model import Card, as_data
from lessons_kb.process.git import Repository, decode, list_files, read_history
from lessons_kb.process.installation import install_command
from lessons_kb.store.files import read_regular
from lessons_kb.store.private_files import write_private
from lessons_kb.store.repositories import git_top
from lessons_kb.store.scan import SUFFIXES
from lessons_kb.store.state_folder import state_dir
from lessons_kb.text.sanitize import counted

_HEAD = 8_000
"""Characters in which a NUL tells a binary file, as git does."""


def detect_files(brains: Brains, paths: Iterable[str]) -> Iterator[tuple[Card, Match]]:
    """Yield every match in some files, by file and line; ``paths`` start from the project root.

    Files that hold no text, or more than MAX_CHARS bytes of it, are passed over.
    """
    for path in paths:
        if text := read_source(os.path.join(brains.directory, path)):
            yield from flatten(find_detected(brains, [Change(path=path, after=text)]))


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


def detect_diff(brains: Brains, diff: str) -> list[tuple[Card, Match]]:
    """Return what a unified diff adds, by file and line; its paths start from the project root."""
    return flatten(find_detected(brains, _placed(brains.directory, diff)))


def propose_pattern(directory: str, diff: str, *, again: str = "") -> Proposal:
    """Return how the mistake may look that a unified diff put right, see ``detect.propose``.

    With ``again``, the diff of a second fix, what both show. The project's files are as they are
    after the fixes; without git nothing is known of its history.
    """

    def read_changes() -> Iterator[Iterator[Change]]:
        with contextlib.suppress(GitError):
            for commit in read_history(directory, most=_LEARNT_COMMITS):
                yield parse_diff(decode(commit.patch))

    files = ((path, read_source(os.path.join(directory, path))) for path in list_tree(directory))
    fixes = [_placed(directory, one) for one in (diff, again) if one.strip()]
    return propose(fixes, files, read_changes())


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
        found = []
        for start in folders or ["."]:
            for place, inner, files in os.walk(os.path.join(directory, start)):
                inner[:] = [name for name in inner if not name.startswith(".")]
                full = [os.path.join(place, name) for name in files if name[0] != "."]
                found += [os.path.relpath(one, directory).replace(os.sep, "/") for one in full]
    root = os.path.realpath(directory)
    places = ((path, os.path.join(root, *path.split("/"))) for path in found)
    return sorted({*named, *(path for path, at in places if os.path.realpath(at) == at)})


def flatten(detected: Iterable[Detected]) -> list[tuple[Card, Match]]:
    """Return each match with its card, by file and line."""
    found = [(one.card, match) for one in detected for match in one.matches]
    return sorted(found, key=lambda one: (one[1].path, one[1].line, one[0].id))


def tell_unused(brains: Brains) -> Iterator[str]:
    """Yield a line on each kind of pattern that is not looked for."""
    matchers = [
        (brain.state.detectors, brain.read(lambda one: one.matcher()))
        for brain in brains.members
        if brain.state is not None and brain.state.detectors
    ]
    if beyond := sum(count - len(matcher.rules) for count, matcher in matchers):
        yield f"{counted(beyond, 'pattern')} beyond the limit were not looked for; remove some"
    kinds = [rule.pattern.kind for _count, matcher in matchers for rule in matcher.rules]
    if (syntax := kinds.count("ast")) and not is_available():
        yield f"{counted(syntax, 'ast pattern')} not looked for; run `{install_command(EXTRA)}`"
    known = [brain.read(lambda at: at.catalogue.findings()) for brain in brains.members]
    if bad := sum(finding.rule == "bad-pattern" for some in known for finding in some):
        yield f"{counted(bad, 'pattern')} cannot be used; `lessons lint` says why"
    elif not matchers:
        yield "no card has patterns; add `detect:` to a card, see docs/detect.md"


GLANCE_SECONDS = 3.0
"""After which figures that show the history beside others do without the rest, until next time."""
_MAX_COMMITS, _LEARNT_COMMITS = 20_000, 500
"""Of a history that are counted, and those that a proposal is held against."""
_MAX_KEPT = 4_000_000
"""Bytes of the file of counts."""
_KEPT = "detected-history.json"

_Added = tuple[str, str, str, bool]
"""Brain, card, month, and whether a mistake was added since the card was created."""
Months = tuple[tuple[str, int, int], ...]
"""(``2026-01``, times before the card was created, times since), oldest first.

A card without a date has all of them before.
"""


def detect_history(
    brains: Brains, *, seconds: float | None = None
) -> dict[tuple[str, str], Months]:
    """Return (alias, card id) → how often its mistake was added, over the commits up to HEAD.

    Cards whose mistake was never added are left out; the others come by id. With ``seconds`` the
    oldest commits that fit are counted, and the next call goes on from there. Raises GitError.
    """
    months: dict[tuple[str, str], Months] = {}
    counts = _count_history(brains, seconds) if has_detectors(brains) else Counter[_Added]()
    for alias, card, month in sorted({key[:3] for key in counts}):
        before, since = (counts[alias, card, month, is_since] for is_since in (False, True))
        months[alias, card] = (*months.get((alias, card), ()), (month, before, since))
    return months


def _count_history(brains: Brains, seconds: float | None) -> Counter[_Added]:
    """Count on from the commit that was reached last, unless other places would be found now."""
    directory, repository = brains.directory, Repository(brains.directory)
    head = repository.head()
    cards = [
        [brain.alias, card.id, card.created, card.project, [as_data(one) for one in card.detect]]
        for brain in brains.members
        for card in brain.read(lambda one: one.catalogue.all_cards())
        if card.detect and card.status == "active"
    ]
    text = json.dumps([os.path.realpath(directory), is_available(), cards], sort_keys=True)
    digest = hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=16).hexdigest()
    path = os.path.join(state_dir(brains.members[0].root), _KEPT)
    reached, counts = "", Counter[_Added]()
    with contextlib.suppress(OSError, StorageError, ValueError, KeyError, TypeError):
        cached = json.loads(read_regular(path, limit=_MAX_KEPT, name=path))
        rows = {(str(a), str(c), str(m), bool(s)): int(n) for a, c, m, s, n in cached["counts"]}
        if cached["digest"] == digest and repository.leads(cached["commit"]):
            reached, counts = str(cached["commit"]), Counter(rows)
    if reached == head:
        return counts
    began = time.monotonic()
    try:
        for commit in read_history(directory, since=reached, most=_MAX_COMMITS):
            added: Counter[_Added] = Counter()
            for one in find_detected(brains, parse_diff(decode(commit.patch))):
                since = one.card.created is not None and commit.date >= one.card.created
                added[one.brain.alias, one.card.id, commit.date[:7], since] += len(one.matches)
            counts.update(added)
            reached = commit.id
            if seconds is not None and time.monotonic() - began > seconds:
                break
        else:
            reached = head  # a merge, or all of it was looked at
    finally:  # an interrupt loses one commit
        kept = [[*key, n] for key, n in sorted(counts.items())]
        data = json.dumps({"digest": digest, "commit": reached, "counts": kept})
        with contextlib.suppress(StorageError):  # counted anew next time
            write_private(path, data.encode())
    return counts


def glance(brains: Brains) -> dict[tuple[str, str], Months]:
    """Return the history as far as a few seconds suffice; none without git."""
    try:
        return detect_history(brains, seconds=GLANCE_SECONDS)
    except (GitError, StorageError):
        return {}

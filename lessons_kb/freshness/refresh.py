"""Update the standings of a brain's cards from the history of its project.

This starts git, so no hook calls it. Hooks read the result from the catalogue.
"""

from __future__ import annotations

import contextlib
import os
import re
import tempfile
import zlib
from collections.abc import Callable, Container, Hashable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from functools import cached_property
from typing import NamedTuple, TypeVar

from lessons_kb.brain.brain import Brain
from lessons_kb.brain.gate_file import update_gate_file
from lessons_kb.cards.anchors import Claims, format_claims, parse_claims
from lessons_kb.cards.card_names import find_linked
from lessons_kb.cards.conflicts import choose, find_conflicts
from lessons_kb.cards.keys import split_header
from lessons_kb.errors import GitError, InputError, StorageError
from lessons_kb.freshness.fates import GONE, NEVER, PRESENT, Fate, ProjectFiles
from lessons_kb.freshness.judge import describe_gone, judge, replace_silence
from lessons_kb.freshness.mentions import find_edits_with
from lessons_kb.freshness.rewritten import RewrittenCode
from lessons_kb.freshness.symbols import Symbols
from lessons_kb.model import CURRENT, GLOB, SYMBOL, Anchor, Document, Standing
from lessons_kb.on_demand import FRESHNESS_CONDITIONS, load
from lessons_kb.process.git import Repository, find_ignored, list_files
from lessons_kb.process.git_history import (
    has_whole_history,
    is_ancestor,
    list_head,
    read_merge_removals,
    read_name_changes,
    read_objects,
    read_renames,
    stream_name_changes,
)
from lessons_kb.store.catalogue import PROJECT_MARK
from lessons_kb.store.file_history import HISTORY_NAME, FileHistory, FileVersion
from lessons_kb.store.files import read_inside
from lessons_kb.store.locks import hold_writer
from lessons_kb.store.repositories import find_below, git_top, read_manifest, sign_project
from lessons_kb.store.scan import SUFFIXES
from lessons_kb.text.patterns import compile_globs, get_hints, match_globs
from lessons_kb.values import replace

_RIVALS_MARK = "rivals"
_PAIR = 2
"""The minimum number of cards for a comparison."""
_LOCK_NAME = "history.lock"
_PATIENCE = 120.0
"""Seconds to wait for another process that reads the history."""
_WILDCARDS = re.compile(r"[*?\[\]{}\\!]+")

K = TypeVar("K", bound=Hashable)
"""The key of a card, which is its number in the catalogue or its id."""


class HistoryFault(NamedTuple):
    """What git cannot read of a history."""

    reason: str
    commits: int = 0
    """The number of commits that git cannot read; 0 if it can read none."""


class _Card(NamedTuple):
    """A card to be judged."""

    claims: Claims
    path: str
    """The path of the card, relative to the top of the project."""
    since: str
    """The day from which its anchors must exist, or "" if it is unknown."""


def refresh_standings(brain: Brain) -> None:
    """Judge the cards of a brain again if its project or their claims have changed.

    If the history is unknown (no git, a shallow clone), all cards count as current.
    """
    if not brain.has_new_project():
        return
    top = git_top(brain.root)
    signature = sign_project(top or brain.root)
    rows = brain.read(lambda opened: opened.catalogue.claims())
    claims = {number: parse_claims(text) for number, (text, _standing) in rows.items()}
    known = {number: standing for number, (_text, standing) in rows.items()}
    standings: Mapping[int, Standing] = {}
    if top is not None:
        with contextlib.suppress(GitError):
            standings = _judge_all(brain, top, claims, known, lambda card: _read_body(brain, card))
    standings = add_conditions(standings, claims, top or brain.root)
    standings = _add_rivals(brain, standings, rows)
    judged = {
        number: (text, standings.get(number, CURRENT)) for number, (text, _old) in rows.items()
    }
    brain.read(lambda one: _store(one, judged, signature))


def _store(brain: Brain, judged: Mapping[int, tuple[str, Standing]], mark: str) -> None:
    state = brain.state
    if state is not None and brain.catalogue.set_standings(judged, mark=mark):
        # The gates are counted again, and other processes see a new commit.
        state = brain.catalogue.commit(state)
        brain.accept(state)
        update_gate_file(brain.root, brain.catalogue, state)


def add_conditions(
    standings: Mapping[K, Standing], claims: Mapping[K, Claims], top: str
) -> dict[K, Standing]:
    """Return standings with the truth of the conditions of the cards, in a project at ``top``."""
    judged = {key: standings.get(key, CURRENT) for key in claims}
    conditional = {key: claim for key, claim in claims.items() if claim.when}
    if conditional:
        conditions = load(FRESHNESS_CONDITIONS)
        uses = conditions.read_uses(lambda name: read_manifest(top, name))
        for key, claim in conditional.items():
            judged[key] = conditions.judge_condition(judged[key], claim.when, uses)
    return judged


def _add_rivals(
    brain: Brain, standings: Mapping[int, Standing], rows: Mapping[int, tuple[str, Standing]]
) -> dict[int, Standing]:
    """Return standings to which the cards that contradict each card and replace it are added.

    The cards are compared again only if their patterns, or the set of cards that are given, have
    changed.
    """
    silences = {number: standing.silence for number, standing in standings.items()}
    signature = sorted((text, silences[number]) for number, (text, _standing) in rows.items())
    mark = str(zlib.crc32(repr(signature).encode("utf-8", "replace")))
    if mark == brain.read(lambda opened: opened.catalogue.read_mark(_RIVALS_MARK)):
        rivals = {number: standing.yields_to for number, (_text, standing) in rows.items()}
    else:
        rivals = _find_rivals(brain, standings)
        brain.read(lambda opened: opened.catalogue.write_mark(_RIVALS_MARK, mark))
    return {
        number: replace(standing, yields_to=rivals.get(number, ()))
        for number, standing in standings.items()
    }


def _find_rivals(brain: Brain, standings: Mapping[int, Standing]) -> dict[int, tuple[str, ...]]:
    """Return a mapping from the number of each card to the ids of the cards to which it yields."""
    if len(standings) < _PAIR:
        return {}
    cards = brain.read(lambda opened: opened.catalogue.cards(standings))
    numbers = {card.id: number for number, card in cards.items()}
    judged = [replace(card, standing=standings[number]) for number, card in cards.items()]
    rivals: dict[int, list[str]] = {}
    pairs = list(find_linked([card for card in judged if card.is_injectable]))
    pairs += [(conflict.first, conflict.second) for conflict in find_conflicts(judged)]
    for first, second in pairs:
        stronger, weaker = choose(first, second)
        yields_to = rivals.setdefault(numbers[weaker.id], [])
        if stronger.id not in yields_to:
            yields_to.append(stronger.id)
    return {number: tuple(ids) for number, ids in rivals.items()}


def judge_documents(brain: Brain, documents: Iterable[Document]) -> dict[str, Standing]:
    """Return a mapping from the id of each card in ``documents`` to its standing.

    If the history is unknown, only the conditions of a card count.
    """
    top = git_top(brain.root)
    claims, bodies = {}, {}
    for document in documents:
        if text := format_claims(document):
            claim = parse_claims(text)
            claims[claim.path], bodies[claim.path] = claim, document.body
    standings: Mapping[str, Standing] = {}
    if top is not None and claims:
        with contextlib.suppress(GitError, StorageError):
            standings = _judge_all(brain, top, claims, {}, bodies.__getitem__)
    return add_conditions(standings, claims, top or brain.root)


def find_history_fault(brain: Brain) -> HistoryFault | None:
    """Return why git cannot read the history of a brain's project, or None if it can.

    If it could not read the history before, it tries again.
    """
    top = git_top(brain.root)
    path = os.path.join(brain.cache, HISTORY_NAME)
    try:
        if top is None or not has_whole_history(top):
            return None
        head = Repository(top).head()
    except GitError as error:
        return HistoryFault(str(error))
    if not os.path.isfile(path):
        return None
    with hold_writer(os.path.join(brain.cache, _LOCK_NAME), patience=_PATIENCE) as refused:
        if refused:  # another process still reads the history
            return HistoryFault(refused)
        is_forgotten = _forget_fault(top, path, head)
    if is_forgotten:
        brain.read(lambda opened: opened.catalogue.write_mark(PROJECT_MARK, ""))
        refresh_standings(brain)
    with contextlib.closing(FileHistory(path)) as history:
        fault = history.read_fault(head)
        gaps = history.list_gaps()
    if fault:
        return HistoryFault(fault)
    reasons = list(gaps.values())
    return HistoryFault(reasons[0], commits=len(gaps)) if gaps else None


def _forget_fault(top: str, path: str, head: str) -> bool:
    """Return whether a history has to be read again, and prepare it for that."""
    with contextlib.closing(FileHistory(path)) as history:
        if history.read_fault(head):
            history.forget_fault()
            return True
        if _has_closed_gap(top, history):
            history.forget_head()
            return True
    return False


def _has_closed_gap(top: str, history: FileHistory) -> bool:
    """Return whether git can now read a commit that it could not read before."""
    gap = next(iter(history.list_gaps()), "")
    return bool(gap) and not read_renames(top, [gap]).unreadable


def _read_body(brain: Brain, card_id: str) -> str:
    """Return the body of a card; "" if it cannot be read."""
    try:
        data = read_inside(brain.root, card_id, limit=brain.settings.index.max_file_bytes)
    except (OSError, InputError, StorageError):  # the next index removes or reports it
        return ""
    return split_header(data.decode("utf-8", "replace")).body


def _judge_all(
    brain: Brain,
    top: str,
    claims: Mapping[K, Claims],
    known: Mapping[K, Standing],
    read_body: Callable[[str], str],
) -> dict[K, Standing]:
    """Return the standing of each card. Raises GitError if git fails.

    ``read_body`` returns the body of a card, given its id.
    """
    if not has_whole_history(top):
        return {}
    with _open_history(brain, top) as (history, head):
        project = _Project(brain, top, history)
        _read_new_commits(
            top, history, head, meanwhile=lambda: project.read_ahead(claims.values(), read_body)
        )
        prefix = os.path.relpath(brain.root, top).replace(os.sep, "/")
        cards = {}
        for number, claim in claims.items():
            path = claim.path if prefix == "." else f"{prefix}/{claim.path}"
            day = claim.confirmed or claim.created or history.find_first_day(path)
            cards[number] = _Card(claims=claim, path=path, since=day)

        project.look_up(list(cards.values()))
        standings = {}
        for number, card in cards.items():
            fates = {anchor: project.find_fate(anchor, card) for anchor in card.claims.anchors}
            changed = _count_changes(card.claims, fates, project.files)
            standings[number] = judge(card.claims, fates, changed)
        silenced = {number: standing for number, standing in standings.items() if standing.silenced}
        bodies = {number: read_body(cards[number].claims.path) for number in silenced}
        rewritten = project.find_rewritten({number: cards[number] for number in silenced}, bodies)
        for number, standing in silenced.items():
            if number in rewritten:
                standings[number] = replace_silence(standing)
            else:
                earlier = known.get(number, CURRENT)
                standings[number] = project.name_commits(standing, cards[number], earlier)
        return standings


class _Project:
    """The files and symbols of a project, today and when its cards began to name them."""

    def __init__(self, brain: Brain, top: str, history: FileHistory) -> None:
        self._top = top
        self._history = history
        brains = {brain.root, *find_below(top)} - {top}
        folders = [os.path.relpath(root, top).replace(os.sep, "/") for root in brains]
        self._symbols = Symbols(top, history, folders)
        self._rewritten = RewrittenCode(top, history, folders)
        self._edits: Mapping[tuple[str, str], FileVersion] = {}

    @cached_property
    def files(self) -> ProjectFiles:
        """The files in HEAD and in the history. Raises GitError."""
        return _open_files(self._top, list_head(self._top), self._history)

    def read_ahead(self, claims: Iterable[Claims], read_body: Callable[[str], str]) -> None:
        """Compare the files of HEAD with the cards that may be about none of them.

        This needs no history. If git fails, the files are compared later.
        """
        lost = []
        with contextlib.suppress(GitError):
            for claim in claims:
                named = [a for a in claim.anchors if a.is_core and a.kind != SYMBOL]
                if named and not any(map(self.files.is_in_head, named)):
                    lost.append(claim.path)
            self._rewritten.read_ahead(map(read_body, lost))

    def look_up(self, cards: Sequence[_Card]) -> None:
        """Look up the anchors of all cards, in few runs of git."""
        anchors = {anchor for card in cards for anchor in card.claims.anchors}
        self.files.look_up(anchors)
        symbols = {anchor.name for anchor in anchors if anchor.kind == SYMBOL}
        self._symbols.look_up_today(symbols)
        absent: dict[str, list[str]] = {}
        for card in cards:
            for anchor in card.claims.anchors:
                if self._is_absent(anchor):
                    absent.setdefault(card.path, []).append(anchor.name)
        self._edits = find_edits_with(absent, self._history, self._read_files)
        earlier: dict[str, set[str]] = {}
        for card in cards:
            for anchor in card.claims.anchors:
                if anchor.kind == SYMBOL and self._is_absent(anchor):
                    base = self._find_start(card, anchor.name).commit
                    earlier.setdefault(base, set()).add(anchor.name)
        earlier.pop("", None)
        self._symbols.look_up_earlier(earlier)

    def _read_files(self, files: Sequence[tuple[str, str]]) -> Iterator[bytes]:
        names = (f"{commit}:{path}" for commit, path in files)
        return read_objects(self._top, [name.encode("utf-8", "surrogateescape") for name in names])

    def _is_absent(self, anchor: Anchor) -> bool:
        """Return whether HEAD lacks a symbol, or a file that was not moved."""
        if anchor.kind == SYMBOL:
            return not self._symbols.is_present(anchor.name)
        return self._find_file(anchor).state == GONE

    def _find_file(self, anchor: Anchor) -> Fate:
        if anchor.kind == GLOB:
            return self.files.find_glob(anchor.name)
        return self.files.find_file(anchor.name)

    def _find_start(self, card: _Card, name: str) -> FileVersion:
        """Return the commit and the day since which a card has claimed that a name exists.

        Both are "" if they are unknown. A card claims all its names on the day of its date, and
        those that a later edit added on the day of the edit.
        """
        edit = self._edits.get((card.path, name))
        if edit is not None and edit.day >= card.since:
            return edit
        commit = self._history.find_commit(card.since) if card.since else ""
        return FileVersion(commit=commit, day=card.since)

    def find_fate(self, anchor: Anchor, card: _Card) -> Fate:
        """Return the fate of an anchor, which is NEVER if it did not exist when it was named."""
        if anchor.kind == SYMBOL:
            if self._symbols.is_present(anchor.name):
                return Fate(state=PRESENT)
            return self._symbols.find_fate(anchor.name, self._find_start(card, anchor.name).commit)
        fate = self._find_file(anchor)
        if fate.state != GONE:
            return fate
        day = self._find_start(card, anchor.name).day
        existed = not day or any(
            self.files.existed(anchor, on=on)
            for on in (day, self._history.find_first_day(card.path))
        )
        return fate if existed and fate.day > day else Fate(state=NEVER)

    def find_rewritten(self, cards: Mapping[K, _Card], bodies: Mapping[K, str]) -> AbstractSet[K]:
        """Return the cards of which HEAD has a file about the same thing. Their files are gone."""
        removed: dict[K, list[str]] = {}
        for key, card in cards.items():
            files = [anchor for anchor in card.claims.anchors if anchor.kind != SYMBOL]
            fates = [fate for anchor in files for fate in self.files.list_removed(anchor)]
            removed[key] = [f"{fate.commit}^:{fate.last_path}" for fate in fates]
        return self._rewritten.find(bodies, removed)

    def name_commits(self, standing: Standing, card: _Card, known: Standing) -> Standing:
        """Return a silenced standing to which the commits that removed its symbols are added."""
        earlier = dict(known.gone)
        gone = []
        for name, commit in standing.gone:
            removal = commit or earlier.get(name, "")
            if not removal:
                base = self._find_start(card, name).commit
                removal = self._symbols.search_removal(name, base)
            gone.append((name, removal))
        return replace(standing, gone=tuple(gone), silenced=describe_gone(gone))


def _open_files(top: str, head: frozenset[str], history: FileHistory) -> ProjectFiles:
    """Return the files of a project, given those of HEAD."""

    def store_renames(commits: Iterable[str]) -> None:
        renames = read_renames(top, commits)
        history.add_renames(renames.targets)
        history.add_gaps(renames.unreadable)

    def store_merge_removals(paths: Iterable[str]) -> None:
        merges = read_merge_removals(top, history.list_merges())
        history.add_removals(merges, paths)

    return ProjectFiles(
        top,
        head,
        history,
        store_renames=store_renames,
        store_merge_removals=store_merge_removals,
    )


def find_unmatched_paths(brain: Brain, claims: Iterable[Claims]) -> dict[str, list[str]]:
    """Return the entries of ``paths`` that match no file of the project, now or in its history.

    They are grouped by the id of their card. A file that git ignores may be generated, so an entry
    that may match such a file is left out. An entry that begins with a wildcard, such as
    ``*.tfvars``, is left out because it is about a kind of file. The result is empty if the history
    is unknown, and for a repository that contains only cards, which are about other projects.
    """
    top = git_top(brain.root)
    try:
        if top is None or not has_whole_history(top):
            return {}
        head = list_head(top)
        if not any(map(_is_subject, head)):
            return {}
        with _open_history(brain, top) as (history, commit):
            _read_new_commits(top, history, commit)
            files = _open_files(top, head, history)
            absent = _find_absent_globs(files, claims)
        return _drop_present(top, absent)
    except (GitError, StorageError):  # `doctor` reports it
        return {}


def _is_subject(path: str) -> bool:
    """Return whether a card may be about a file: it is no Markdown, and not settings of tools."""
    ending = os.path.splitext(path)[1].casefold()
    return not path.startswith(".") and ending not in ("", *SUFFIXES, ".toml", ".txt")


def _find_absent_globs(files: ProjectFiles, claims: Iterable[Claims]) -> dict[str, list[str]]:
    absent: dict[str, list[str]] = {}
    for claim in claims:
        for anchor in claim.anchors:
            is_named = anchor.kind == GLOB and not anchor.name.startswith("*")
            if is_named and not files.has_matched(anchor.name):
                absent.setdefault(claim.path, []).append(anchor.name)
    return absent


def _drop_present(top: str, absent: Mapping[str, Sequence[str]]) -> dict[str, list[str]]:
    """Return the globs that match no file of the work tree, and none that git does not list.

    git does not list the files that it ignores, and those in a submodule or a linked folder.
    """
    if not absent:
        return {}
    work_tree = frozenset(list_files(top))
    listing = "\n".join(work_tree)
    names = [name for globs in absent.values() for name in globs]
    ignored = find_ignored(top, [path for name in names for path in _list_examples(name)])
    unmatched: dict[str, list[str]] = {}
    for card_id, globs in absent.items():
        for name in globs:
            examples = _list_examples(name)
            is_unlisted = not ignored.isdisjoint(examples) or _is_below_any(examples[0], work_tree)
            if not is_unlisted and not _matches_any(name, work_tree, listing):
                unmatched.setdefault(card_id, []).append(name)
    return unmatched


def _list_examples(glob: str) -> tuple[str, str]:
    """Return a file that a glob may match, and a file in a folder that it may match."""
    plain = glob.removeprefix("./").strip("/")
    path = _WILDCARDS.sub("x", plain)
    return path, f"{path}/x"


def _is_below_any(path: str, entries: Container[str]) -> bool:
    """Return whether an entry is a folder of a path, so that it is a submodule or a link."""
    parts = path.split("/")
    return any("/".join(parts[:end]) in entries for end in range(1, len(parts)))


def _matches_any(glob: str, files: Iterable[str], listing: str) -> bool:
    """Return whether a glob matches any of the files, which are the lines of ``listing``."""
    try:
        compiled = compile_globs([glob])
    except InputError:  # `lint` reports it
        return True
    # Most globs that match nothing name a folder or file that is in no path.
    if not any(hint in listing for hint in get_hints(compiled)):
        return False
    return any(match_globs(compiled, file) for file in files)


def _count_changes(
    claims: Claims, fates: Mapping[Anchor, Fate], files: ProjectFiles
) -> list[tuple[str, int]]:
    """Return the files that were changed since the card was confirmed, and how often."""
    if not claims.confirmed:
        return []
    counts = {}
    for anchor, fate in fates.items():
        if anchor.kind != SYMBOL and fate.state == PRESENT:
            counts[anchor.name] = files.count_changes(anchor.name, claims.confirmed)
    return [(name, count) for name, count in counts.items() if count]


def _read_new_commits(
    top: str, history: FileHistory, head: str, *, meanwhile: Callable[[], None] | None = None
) -> None:
    """Store the commits up to HEAD that the history lacks. Raises GitError.

    ``meanwhile`` is called while git sorts a whole history, before it prints the first commit.
    """
    if history.head == head:
        return
    goes_on = is_ancestor(top, history.head) and not _has_closed_gap(top, history)
    after = history.head if goes_on else ""
    try:
        commits = stream_name_changes(top, after=after, meanwhile=None if after else meanwhile)
        history.add(commits, head=head, afresh=not after)
    except GitError:  # perhaps it cannot read one of the commits
        log = read_name_changes(top, after=after)
        history.add(log.commits, head=head, afresh=not after)
        history.add_gaps(log.unreadable)


@contextlib.contextmanager
def _open_history(brain: Brain, top: str) -> Iterator[tuple[FileHistory, str]]:
    """Open the history of names, as it was stored last. Yield it, and the commit that is HEAD.

    A GitError of the caller is stored, and the same HEAD is not read again until
    ``find_history_fault`` is called, because git may need seconds to fail. Raises GitError.
    """
    with contextlib.ExitStack() as resources:
        cache = brain.cache
        if not os.path.isdir(cache):  # a brain that is only read must not be written
            cache = resources.enter_context(tempfile.TemporaryDirectory())
        lock = os.path.join(cache, _LOCK_NAME)
        refused = resources.enter_context(hold_writer(lock, patience=_PATIENCE))
        if refused:
            raise GitError(f"{cache}: {refused}")
        history = FileHistory(os.path.join(cache, HISTORY_NAME))
        resources.callback(history.close)
        head = Repository(top).head()
        fault = history.read_fault(head)
        if fault:
            raise GitError(fault)
        try:
            yield history, head
        except GitError as error:
            history.write_fault(head, str(error))
            raise

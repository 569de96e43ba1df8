"""Find out what became of the files that a card names: present, moved, gone, or never there.

A name counts only if it once existed in the project. Most names that are absent today never existed
there, because they are examples, generated files, or files of other projects.
"""

from __future__ import annotations

import os
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import islice

from lessons_kb.errors import InputError
from lessons_kb.model import FILE, GLOB, Anchor
from lessons_kb.store.file_history import FileHistory, Removal
from lessons_kb.text.name_changes import UNREADABLE
from lessons_kb.text.patterns import Globs, compile_globs, get_hints, match_globs
from lessons_kb.values import frozen, replace

PRESENT, MOVED, GONE, NEVER = ("present", "moved", "gone", "never")
UNCLEAR = "unclear"
"""The fate of a file that the history does not show."""
_WILDCARD = re.compile(r"[*?\[\]{}\\!]")
_ESCAPED = re.compile(r"\\(.)")
_SPECIAL = re.compile(r"[*?\[\]{}\\]")
"""Matches the characters of a path that a glob has to escape, as in the folder ``[id]``."""
_BELOW = "/**"
"""The end of a target that means everything in a folder."""
_PACKAGE_FILES = ("__init__.py", "index.ts", "index.tsx", "index.js", "mod.rs")
"""The main file of a folder that replaces a module."""
_MOST_HOPS = 50
_MOST_CANDIDATES = 300
"""The maximum number of former files that are looked up for one name."""
_MOST_REMOVED = 3
"""The maximum number of removed files of one name that are compared with the files of today."""
_MOST_TARGETS = 5
"""The maximum number of files that replace a glob, because nobody would write a longer list."""


@frozen
class Fate:
    """The fate of a file, or of the files that a glob matches."""

    state: str
    """PRESENT, MOVED, GONE, NEVER or UNCLEAR."""
    targets: tuple[str, ...] = ()
    """The present location, as paths or as one glob."""
    commit: str = ""
    """The last commit that moved or removed it."""
    last_path: str = ""
    """The path of the file that this commit removed, if it is known."""
    day: str = ""
    """The ISO date of that commit."""


_PRESENT, _NEVER, _UNCLEAR = Fate(state=PRESENT), Fate(state=NEVER), Fate(state=UNCLEAR)


class ProjectFiles:
    """The files in a project's last commit and in its history."""

    def __init__(
        self,
        top: str,
        head: frozenset[str],
        history: FileHistory,
        *,
        store_renames: Callable[[Iterable[str]], None],
        store_merge_removals: Callable[[Iterable[str]], None],
    ) -> None:
        """``store_renames`` adds the renames of commits to the history. ``store_merge_removals``
        adds the merges of the main line that removed files.
        """
        self._top = top
        self._store_renames = store_renames
        self._store_merge_removals = store_merge_removals
        self._head = head
        self._history = history
        self._fates: dict[str, Fate] = {}
        self._globs: dict[str, Fate] = {}
        self._former: dict[str, Sequence[str] | None] = {}
        self._in_head: dict[str, bool] = {}
        """Whether each glob that was asked for matches a file of HEAD."""

    @cached_property
    def _folders(self) -> frozenset[str]:
        folders: set[str] = set()
        for path in self._head:
            folder = path.rpartition("/")[0]
            while folder and folder not in folders:
                folders.add(folder)
                folder = folder.rpartition("/")[0]
        return frozenset(folders)

    @cached_property
    def _head_names(self) -> Mapping[str, Sequence[str]]:
        return _by_name(self._head)

    @cached_property
    def _past(self) -> tuple[str, ...]:
        """The paths in the history that no longer exist."""
        return tuple(path for path in self._history.list_paths() if path not in self._head)

    @cached_property
    def _past_set(self) -> frozenset[str]:
        return frozenset(self._past)

    @cached_property
    def _past_names(self) -> Mapping[str, Sequence[str]]:
        return _by_name(self._past)

    def find_file(self, name: str) -> Fate:
        """Return the fate of a file that a text names by its path or by the end of its path."""
        if self._is_present(name):
            return _PRESENT
        fates = [self._find_path(path) for path in self._list_former_files(name)]
        return _join(fates) if fates else _NEVER

    def is_in_head(self, anchor: Anchor) -> bool:
        """Return whether HEAD has a file that an anchor names."""
        if anchor.kind == GLOB:
            return self._matches_head(anchor.name)
        return self._is_present(anchor.name)

    def find_glob(self, glob: str) -> Fate:
        """Return the fate of the files that an entry of ``paths`` names."""
        if glob not in self._globs:
            self._globs[glob] = self._find_glob(glob)
        return self._globs[glob]

    def look_up(self, anchors: Iterable[Anchor]) -> None:
        """Add the renames of the files that anchors name, in few runs of git.

        This is only faster than to let ``find_file`` and ``find_glob`` do it for each commit.
        """
        paths: set[str] = set()
        for anchor in anchors:
            if anchor.kind == GLOB:
                paths.update(self._match_former(anchor.name) or ())
            elif anchor.kind == FILE and not self._is_present(anchor.name):
                paths.update(self._list_former_files(anchor.name))
        places = {(path, 0) for path in paths}
        for _ in range(_MOST_HOPS):
            if not places:
                return
            places = self._follow_renames(places)

    def _follow_renames(self, places: Iterable[tuple[str, int]]) -> set[tuple[str, int]]:
        """Return the former paths to which files were renamed, with the numbers of these commits.

        A place is a path, and the number of the commit after which it ceased to exist.
        """
        removals = self._find_removals(places)
        commits = {removal.commit for removal in removals.values()}
        unread = [commit for commit in commits if not self._history.has_renames(commit)]
        if unread:
            self._store_renames(unread)
        following = set()
        for (path, _number), removal in removals.items():
            target = self._history.read_target(removal.commit, path)
            if target and target not in self._head:
                following.add((target, removal.number))
        return following

    def _find_removals(self, places: Iterable[tuple[str, int]]) -> dict[tuple[str, int], Removal]:
        """Return the removal of each place, if there is one."""
        removals = {}
        unknown = []
        for path, number in places:
            removal = self._history.find_removal(path, after=number)
            if removal is None:
                unknown.append((path, number))
            else:
                removals[path, number] = removal
        if unknown:
            self._store_merge_removals(path for path, _number in unknown)
        for path, number in unknown:
            removal = self._history.find_removal(path, after=number)
            if removal is not None:
                removals[path, number] = removal
        return removals

    def _is_present(self, name: str) -> bool:
        return name in self._head or bool(_ending(self._head_names, name))

    def _list_former_files(self, name: str) -> Sequence[str]:
        return _ending(self._past_names, name)[:_MOST_CANDIDATES]

    def existed(self, anchor: Anchor, *, on: str) -> bool:
        """Return whether a file that an anchor names existed at the end of a day."""
        if anchor.kind == GLOB:
            paths = self._match_former(anchor.name) or ()
        else:
            paths = self._list_former_files(anchor.name)
        return any(self._history.has_file(path, on=on) for path in paths)

    def list_removed(self, anchor: Anchor) -> list[Fate]:
        """Return the fates of the files of an anchor that were removed, the last ones first.

        There are at most ``_MOST_REMOVED``.
        """
        if anchor.kind == GLOB:
            paths = self._match_former(anchor.name) or ()
        else:
            paths = self._list_former_files(anchor.name)
        removed = {fate for fate in map(self._find_path, paths) if fate.last_path}
        fates = sorted(removed, key=lambda fate: (fate.day, fate.last_path), reverse=True)
        return fates[:_MOST_REMOVED]

    def has_matched(self, glob: str) -> bool:
        """Return whether a glob matches a file of HEAD or of the history."""
        former = self._match_former(glob)
        return former is None or bool(former)

    def count_changes(self, name: str, since: str) -> int:
        """Return the number of commits after a day that changed a file."""
        paths = (name,) if name in self._head else tuple(_ending(self._head_names, name))
        return self._history.count_changes(paths[0], since=since) if len(paths) == 1 else 0

    def _find_path(self, path: str) -> Fate:
        """Return the fate of a path that is not in HEAD."""
        if path not in self._fates:
            self._fates[path] = self._follow(path)
        return self._fates[path]

    def _follow(self, path: str) -> Fate:
        folders = path.split("/")
        above = ("/".join(folders[:end]) for end in range(1, len(folders)))
        if any(folder in self._head for folder in above):
            return _UNCLEAR  # a folder is a submodule today, and its history is elsewhere
        if os.path.lexists(os.path.join(self._top, path)):
            return _PRESENT  # git ignores it today, but it still exists
        last: Removal | None = None
        current, number = path, 0
        for _ in range(_MOST_HOPS):
            removal = self._history.find_removal(current, after=number)
            if removal is None:
                if last is None or self._history.list_gaps():
                    return _UNCLEAR
                return _describe(GONE, last)
            last, number = removal, removal.number
            target = self._find_target(removal, current)
            package = self._find_package(current)
            if package and not target:
                return _describe(MOVED, removal, package + _BELOW)
            last_path = current
            current = target or self._find_copy(removal, current)
            if not current and self._history.has_gap(removal.commit):
                return _UNCLEAR
            if not current:
                return replace(_describe(GONE, removal), last_path=last_path)
            if UNREADABLE in current:  # no card can name this path
                return _UNCLEAR
            if current in self._head:
                return _describe(MOVED, removal, current)
        return _UNCLEAR

    def _find_target(self, removal: Removal, path: str) -> str:
        """Return the path to which a file was renamed; "" if it was deleted."""
        if not self._history.has_renames(removal.commit):
            self._store_renames([removal.commit])
        return self._history.read_target(removal.commit, path) or ""

    def _find_package(self, path: str) -> str:
        """Return the existing folder into which a module was split, or "" if there is none."""
        stem = path.rpartition(".")[0]
        if stem in self._folders:
            return stem
        for name in _PACKAGE_FILES:
            first = f"{stem}/{name}"
            if first in self._past_set:
                fate = self._find_path(first)
                if fate.state == MOVED and not _WILDCARD.search(fate.targets[0]):
                    return fate.targets[0].rpartition("/")[0]
        return ""

    def _find_copy(self, removal: Removal, path: str) -> str:
        """Return a file with the content of a removed file, or "" if there is none."""
        copies = self._history.find_copies(path, removal.number)
        name = path.rpartition("/")[2]
        same_name = [copy for copy in copies if copy.rpartition("/")[2] == name]
        if not same_name and len(copies) > 1:
            return ""
        return next(iter([*same_name, *copies]), "")

    def _find_glob(self, glob: str) -> Fate:
        former = self._match_former(glob)
        if former is None:
            return _PRESENT
        if not former:
            return _NEVER
        fates = {path: self._find_path(path) for path in former}
        joined = _join(list(fates.values()))
        if joined.state != MOVED:
            return joined
        pairs = [(path, fate.targets[0]) for path, fate in fates.items() if fate.state == MOVED]
        targets = self._rewrite(glob, pairs)
        return Fate(state=MOVED, targets=targets, commit=joined.commit, day=joined.day)

    def _match_former(self, glob: str) -> Sequence[str] | None:
        """Return the former files that a glob matches; None if it matches a present file."""
        if glob not in self._former:
            self._former[glob] = self._search_former(glob)
        return self._former[glob]

    def _matches_head(self, glob: str) -> bool:
        if glob not in self._in_head:
            self._in_head[glob] = self._search_head(glob)
        return self._in_head[glob]

    def _search_head(self, glob: str) -> bool:
        path = _read_literal(glob)
        if path in self._head or path in self._folders:
            return True
        if "/" in path:
            return False
        try:
            return bool(next(_matching(compile_globs([glob]), self._head), ""))
        except InputError:  # `lint` reports it
            return False

    def _search_former(self, glob: str) -> Sequence[str] | None:
        if self._matches_head(glob):
            return None
        path = _read_literal(glob)
        if "/" in path:  # it matches nothing else; thousands of cards name files
            if path in self._past_set:
                return [path]
            below = (former for former in self._past if former.startswith(f"{path}/"))
            return list(islice(below, _MOST_CANDIDATES))
        try:
            return list(islice(_matching(compile_globs([glob]), self._past), _MOST_CANDIDATES))
        except InputError:
            return []

    def _rewrite(self, glob: str, pairs: Sequence[tuple[str, str]]) -> tuple[str, ...]:
        """Return the globs that replace ``glob`` after its files were moved."""
        targets = dict.fromkeys(target for _path, target in pairs)
        plain = glob.removeprefix("./").removeprefix("/")
        fixed = _WILDCARD.split(plain)[0]
        folder = fixed[: fixed.rfind("/") + 1]
        if folder and (fixed != plain or plain.endswith("/")):
            moves: Counter[str] = Counter()
            for path, target in pairs:
                rest = path.removeprefix(folder)
                if path.startswith(folder) and target.endswith(f"/{rest}"):
                    moves[target.removesuffix(rest)] += 1
            if moves:
                new_folder, count = moves.most_common(1)[0]
                if 2 * count > len(pairs):
                    return (_escape(new_folder) + plain[len(folder) :],)
        return tuple(map(_escape, targets))[:_MOST_TARGETS]


def _read_literal(glob: str) -> str:
    """Return the only path that a glob matches, or "" if it has wildcards."""
    plain = glob.removeprefix("./").removeprefix("/").removesuffix("/")
    return "" if _WILDCARD.search(_ESCAPED.sub("", plain)) else _ESCAPED.sub(r"\1", plain)


def _describe(state: str, removal: Removal, *targets: str) -> Fate:
    return Fate(state=state, targets=targets, commit=removal.commit, day=removal.day)


def _escape(target: str) -> str:
    """Return a glob that matches only a target: a path, or everything in a folder."""
    path = target.removesuffix(_BELOW)
    return _SPECIAL.sub(r"\\\g<0>", path) + target[len(path) :]


def _join(fates: Sequence[Fate]) -> Fate:
    """Return the fate of a name that may denote several files."""
    for state in (PRESENT, MOVED, UNCLEAR):
        same = [fate for fate in fates if fate.state == state]
        if same:
            return max(same, key=lambda fate: fate.day)
    return max(fates, key=lambda fate: fate.day)


def _by_name(paths: Iterable[str]) -> Mapping[str, Sequence[str]]:
    names: dict[str, list[str]] = defaultdict(list)
    for path in paths:
        names[path.rpartition("/")[2]].append(path)
    return names


def _ending(names: Mapping[str, Sequence[str]], name: str) -> list[str]:
    """Return the paths that equal a name, or end with a slash and the name."""
    candidates = names.get(name.rpartition("/")[2], ())
    return [path for path in candidates if path == name or path.endswith(f"/{name}")]


def _matching(compiled: Globs, paths: Iterable[str]) -> Iterator[str]:
    may_match = re.compile("|".join(map(re.escape, get_hints(compiled)))).search
    return (path for path in paths if may_match(path) and match_globs(compiled, path))

"""Real fixes of public repositories: what was proposed at the time, and what it finds later on.

``DATA/real`` holds bare clones (``git clone --bare URL DATA/real/NAME``), among them BugsInPy, whose
fixes are looked up in the others, and FixJS. A proposal sees the tree after its fix and the 500
commits before it. Places that it did not see: lines that later commits added, other repositories,
and, of FixJS, functions of other commits.
"""

from __future__ import annotations

import random
import re
import subprocess
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property, lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING

from lessons_kb.detect.matcher import Change, Matcher, Rule, language_of, parse_diff, place_in
from lessons_kb.detect.propose import Proposal, propose

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from lessons_kb.model import Pattern

COMMITS = 500
"""Of history that a proposal is held against."""
LATER = 2_000
"""Commits after a fix whose added lines are looked at."""
_MAX_CHARS = 200_000
_FIXED = re.compile(r"(?i)\bfix(?:e[sd]|ing)?\b|\bbug|\bregression")
_TEST = re.compile(r"(?:^|/)(?:tests?|__tests__|specs?)/|(?:^|/)test_|[._](?:test|spec)\.")
_LOG = ("log", "--no-merges", "--format=%x01%H%n%s%x00", "--patch", "--unified=3", "--no-color")


@dataclass(frozen=True, kw_only=True, slots=True)
class Fix:
    """A change that put a mistake right."""

    data: str
    """The set that it is of."""
    name: str
    subject: str
    changes: tuple[Change, ...]
    propose: Callable[[], Proposal]
    repository: Repository | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Place:
    """A place that a proposal finds and was not made from."""

    where: str
    line: int
    text: str
    """The lines around it, the found one marked with ``>``."""
    again: bool | None = None
    """Of FixJS: whether the fix of this function took it out."""


class Repository:
    """A bare clone."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.name = path.name.partition("+")[2] or path.name
        self._texts: dict[str, str] = {}

    def ask(self, *arguments: str, stdin: bytes = b"") -> bytes:
        """Return what git prints, b"" where it fails."""
        done = subprocess.run(
            ["git", "--no-pager", *arguments],
            cwd=self.path, input=stdin, capture_output=True, check=False,
        )  # fmt: skip
        return done.stdout

    def files(self, commit: str) -> Iterator[tuple[str, str]]:
        """Yield the source files of a commit that are no tests."""
        rows = self.ask("ls-tree", "-r", "-z", commit).decode("utf-8", "replace").split("\0")
        pairs = [(row.partition("\t")[2], row.split()[2]) for row in rows if " blob " in row]
        pairs = [(path, name) for path, name in pairs if language_of(path) and is_ours(path)]
        missing = [name for _path, name in pairs if name not in self._texts]
        data = self.ask("cat-file", "--batch", stdin="\n".join(missing).encode())
        at = 0
        for name in missing:
            head, _, _rest = data[at : at + 200].partition(b"\n")
            size = int(head.rpartition(b" ")[2]) if b" blob " in head else 0
            begin = at + len(head) + 1
            text = data[begin : begin + size].decode("utf-8", "replace")
            self._texts[name] = text if size <= _MAX_CHARS else ""
            at = begin + size + 1
        for path, name in pairs:
            yield path, self._texts[name]

    def history(self, *revisions: str, most: int) -> Iterator[tuple[str, str, str]]:
        """Yield id, subject and patch of the newest commits of a range, newest first."""
        data = self.ask(*_LOG, f"--max-count={most}", *revisions).decode("utf-8", "replace")
        for part in data.split("\x01")[1:]:
            head, _, patch = part.partition("\0")
            name, _, subject = head.partition("\n")
            yield name, subject, patch

    def read_fix(self, commit: str) -> tuple[Change, ...]:
        """Return what a commit changed in code that is no test."""
        patch = self.ask("show", "--format=", "--unified=3", "--no-color", commit)
        changes = [c for c in parse_diff(patch.decode("utf-8", "replace")) if is_ours(c.path)]
        texts = {
            path: self.ask("show", f"{commit}:{path}").decode("utf-8", "replace")
            for path in {one.path for one in changes if language_of(one.path)}
        }
        return tuple(place_in(c, texts[c.path]) for c in changes if c.path in texts)

    @cached_property
    def head(self) -> str:
        """The newest commit."""
        return self.ask("rev-parse", "HEAD").decode().strip()

    @cached_property
    def lines(self) -> int:
        """Lines of source at HEAD."""
        return sum(text.count("\n") for _path, text in self.files(self.head))


def is_ours(path: str) -> bool:
    """Tell whether a file is source of the project itself."""
    generated = re.search(r"(?:^|/)(?:vendor|vendored|dist|build|docs?|examples?)/|\.min\.", path)
    return not (generated or _TEST.search(path))


def propose_at(repository: Repository, commit: str, changes: Sequence[Change]) -> Proposal:
    """Return what is proposed of a fix on the day it was made."""
    history = (
        (subject, partial(parse_diff, patch))
        for _name, subject, patch in repository.history(f"{commit}^", most=COMMITS)
    )
    return propose([changes], repository.files(commit), history)


def read_fixes(folder: Path, *, most: int, seed: int) -> Iterator[Fix]:
    """Yield at most so many fixes of each data set, at random."""
    repositories = {
        path.name: Repository(path)
        for path in sorted(folder.iterdir())
        if path.name.rpartition("+")[2] not in ("BugsInPy", "FixJS")
    }
    by_name = {one.name: one for one in repositories.values()} | {"httpie": repositories.get("httpie+cli")}
    rng = random.Random(seed)
    listed = _read_bugs(folder)
    rng.shuffle(listed)
    picked: dict[str, list[tuple[Repository, str]]] = {"BugsInPy": [], "fix commits": []}
    for project, commit in listed:
        if repository := by_name.get(project):
            picked["BugsInPy"].append((repository, commit))
    known = {commit for _project, commit in listed}
    for repository in repositories.values():
        found = [
            name
            for name, subject, patch in repository.history("HEAD~100", most=2_500)
            if _FIXED.search(subject) and name not in known and _is_small(patch)
        ]
        picked["fix commits"] += [(repository, name) for name in rng.sample(found, min(len(found), most // 6))]
    rng.shuffle(picked["fix commits"])
    for data, pairs in picked.items():
        for repository, commit in pairs[:most]:
            if changes := repository.read_fix(commit):
                subject = repository.ask("log", "-1", "--format=%s", commit).decode().strip()
                yield Fix(
                    data=data,
                    name=f"{repository.name} {commit[:10]}",
                    subject=subject,
                    changes=changes,
                    propose=partial(propose_at, repository, commit, changes),
                    repository=repository,
                )


def _is_small(patch: str) -> bool:
    changes = [one for one in parse_diff(patch) if language_of(one.path) and is_ours(one.path)]
    rows = sum(line[:1] in "+-" for line in patch.splitlines())
    return 0 < len(changes) <= 6 and rows <= 120


def _read_bugs(folder: Path) -> list[tuple[str, str]]:
    """Return (project, fixing commit) of BugsInPy."""
    found = []
    for path in folder.glob("*BugsInPy"):
        bugs = Repository(path)
        rows = bugs.ask("grep", "-h", "-e", "", "HEAD", "--", "projects/*/bugs/*/bug.info")
        names = bugs.ask("grep", "fixed_commit_id", "HEAD", "--", "projects/*/bugs/*/bug.info")
        del rows
        for row in names.decode().splitlines():
            if match := re.match(r'HEAD:projects/([^/]+)/.*?="([0-9a-f]{40})', row):
                found.append((match[1], match[2]))
    return found


def find_unseen(fix: Fix, pattern: Pattern, others: Iterable[Repository]) -> list[Place]:
    """Return the places that a pattern finds in later commits and in other repositories."""
    matcher = Matcher([Rule(card="", pattern=pattern)])
    found: list[Place] = []
    repository, commit = fix.repository, fix.name.rpartition(" ")[2]
    if repository is not None:
        for name, _subject, patch in repository.history(f"{commit}..HEAD", most=LATER):
            for change in parse_diff(patch) if _may_hold(patch, pattern) else ():
                if language_of(change.path) == pattern.language and is_ours(change.path):
                    for match in matcher.find_added(change):
                        where = f"{repository.name} {name[:10]} {change.path}"
                        text = _around(change.after, match.line - change.line + 1)
                        found.append(Place(where=where, line=match.line, text=text))
    for other in others:
        if other is not repository:
            for path, text in other.files(other.head):
                if language_of(path) == pattern.language:
                    found += [
                        Place(
                            where=f"{other.name} {path}", line=match.line,
                            text=_around(text, match.line),
                        )
                        for match in matcher.find_in_file(path, text)
                    ]  # fmt: skip
    return found


@lru_cache(maxsize=512)
def _words(text: str) -> tuple[str, ...]:
    return tuple(re.findall(r"(?<![\w$])[^\W\d]\w{2,}", text))


def _may_hold(text: str, pattern: Pattern) -> bool:
    return all(word in text for word in _words(pattern.text))


def _around(text: str, line: int, *, reach: int = 6) -> str:
    rows = text.splitlines()
    begin, end = max(line - 1 - reach, 0), min(line + reach, len(rows))
    return "\n".join(f"{'>' if n == line - 1 else ' '} {rows[n][:160]}" for n in range(begin, end))


@dataclass(kw_only=True, slots=True)
class Functions:
    """FixJS: pairs of functions, before and after a fix."""

    pairs: list[tuple[str, str, str]] = field(default_factory=list)
    """Commit, before, after."""


def read_functions(folder: Path, *, most: int, seed: int) -> list[tuple[str, str, str]]:
    """Return (commit, before, after) of some commits of FixJS."""
    for path in folder.glob("*FixJS"):
        repository = Repository(path)
        rows = repository.ask("ls-tree", "-r", "HEAD").decode().splitlines()
        blobs = {row.partition("\t")[2]: row.split()[2] for row in rows if row.endswith(".js")}
        before = sorted(name for name in blobs if "/before/" in name)
        commits = sorted({_commit_of(name) for name in before})
        chosen = {*random.Random(seed).sample(commits, min(most, len(commits)))}
        names = [name for name in before if _commit_of(name) in chosen]
        names = [name for name in names if name.replace("/before/", "/after/") in blobs]
        wanted = [blobs[n] for name in names for n in (name, name.replace("/before/", "/after/"))]
        texts = _read_blobs(repository, wanted)
        return [
            (_commit_of(name), texts[2 * n], texts[2 * n + 1]) for n, name in enumerate(names)
        ]
    return []


def _commit_of(name: str) -> str:
    return name.rpartition("/")[2].partition("_")[0]


def _read_blobs(repository: Repository, names: Sequence[str]) -> list[str]:
    data = repository.ask("cat-file", "--batch", stdin="\n".join(names).encode())
    texts, at = [], 0
    for _name in names:
        head, _, _rest = data[at : at + 200].partition(b"\n")
        size = int(head.rpartition(b" ")[2])
        begin = at + len(head) + 1
        texts.append(data[begin : begin + size].decode("utf-8", "replace"))
        at = begin + size + 1
    return texts


def read_js_fixes(
    pairs: Sequence[tuple[str, str, str]], background: Sequence[tuple[str, str]]
) -> list[Fix]:
    """Return a fix for each commit; what it is held against are other functions after their fix."""
    groups: dict[str, list[Change]] = defaultdict(list)
    for commit, before, after in pairs:
        groups[commit].append(Change(path="a.js", before=before, after=after))
    return [
        Fix(
            data="FixJS",
            name=commit[:10],
            subject="",
            changes=tuple(changes),
            propose=partial(propose, [changes], background, ()),
        )
        for commit, changes in groups.items()
    ]


def find_in_functions(pattern: Pattern, pairs: Iterable[tuple[str, str, str]]) -> list[Place]:
    """Return the places that a pattern finds in functions before their fix."""
    matcher = Matcher([Rule(card="", pattern=pattern)])
    found = []
    for commit, before, after in pairs:
        if _may_hold(before, pattern):
            gone = {m.text for m in matcher.find_added(Change(path="a.js", before=after, after=before))}
            found += [
                Place(
                    where=f"FixJS {commit[:10]}", line=match.line, again=match.text in gone,
                    text=_around(before, match.line),
                )
                for match in matcher.find_in_file("a.js", before)
            ]  # fmt: skip
    return found

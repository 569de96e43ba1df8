"""Real fixes of public repositories: what was proposed at the time, and what it finds later on.

``DATA/real`` holds bare clones (``git clone --bare URL DATA/real/NAME``), among them BugsInPy, whose
fixes are looked up in the others, and FixJS. A proposal sees the tree after its fix and the 500
commits before it. Places that it did not see: lines that later commits added, other repositories,
and, of FixJS, functions of other commits.
"""

from __future__ import annotations

import contextlib
import difflib
import hashlib
import itertools
import json
import random
import re
import subprocess
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks import metrics, report
from benchmarks.data import HERE, read_rows, write_rows
from lessons_kb.detect.change import Change
from lessons_kb.detect.matcher import Matcher, Rule, language_of, parse_diff, place_in
from lessons_kb.detect.propose import Proposal, propose

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Iterable, Sequence
    from typing import Any

    from lessons_kb.model import Pattern

JUDGED = HERE / "judged" / "detect.jsonl"
COMMITS = 500
"""Of history that a proposal is held against."""
LATER = 2_000
"""Commits after a fix whose added lines are looked at."""
RARE, SHARED = 3, 2
"""Fixes of a repository in which a word is rare, and how many such words make a pair."""
SCANNED, MOST_CHANGES = 900, 6
"""Commits of each repository among which fixes are looked for, and pieces of code of a fix."""
HALF = 0.5
"""Of the readers that call a fix patternable."""
PLACES, ITEMS = 4, 40
"""Of one proposal that readers are asked about, and of one file for them."""
_MAX_CHARS = 200_000
_RENAMED = {"httpie": "cli"}
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
    commit: str = ""


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
    """Return whether a file is source of the project itself."""
    generated = re.search(r"(?:^|/)(?:vendor|vendored|dist|build|docs?|examples?)/|\.min\.", path)
    return not (generated or _TEST.search(path))


def propose_at(repository: Repository, commit: str, *fixes: Sequence[Change]) -> Proposal:
    """Return what is proposed of one or more fixes on the day the last was made."""
    history = (
        parse_diff(patch)
        for _name, _subject, patch in repository.history(f"{commit}^", most=COMMITS)
    )
    return propose(fixes, repository.files(commit), history)


def find_repositories(folder: Path) -> list[Repository]:
    """Return the clones of projects, without those that are data sets."""
    names = sorted(path for path in folder.iterdir() if path.is_dir())
    return [Repository(path) for path in names if not path.name.endswith(("BugsInPy", "FixJS"))]


def read_fixes(folder: Path, *, most: int, seed: int) -> Iterator[Fix]:
    """Yield at most so many fixes of each data set, at random."""
    repositories = find_repositories(folder)
    by_name = {one.name: one for one in repositories}
    listed = [(by_name[_RENAMED.get(p, p)], commit) for p, commit in _read_bugs(folder)
              if _RENAMED.get(p, p) in by_name]  # fmt: skip
    known = {commit for _repository, commit in listed}
    found = [
        (repository, commit)
        for repository in repositories
        for commit, subject, patch in repository.history("HEAD~100", most=SCANNED)
        if _FIXED.search(subject) and commit not in known and _is_small(patch)
    ]
    for data, pairs in (("BugsInPy", listed), ("fix commits", found)):
        random.Random(seed).shuffle(pairs)
        for repository, commit in pairs[:most]:
            if changes := repository.read_fix(commit):
                yield Fix(
                    data=data,
                    name=f"{repository.name} {commit[:10]}",
                    subject=repository.ask("log", "-1", "--format=%s", commit).decode().strip(),
                    changes=changes,
                    propose=partial(propose_at, repository, commit, changes),
                    repository=repository,
                    commit=commit,
                )


def pair_fixes(fixes: Iterable[Fix]) -> Iterator[Fix]:
    """Yield pairs of fixes of one repository that took out, or put in, the same rare words."""
    alike: dict[tuple[str, bool, str], list[Fix]] = defaultdict(list)
    for fix in fixes:
        if fix.repository is not None:
            old, new = (
                {word for c in fix.changes for word in _words(getattr(c, side))}
                for side in ("before", "after")
            )
            for word in old ^ new:
                alike[fix.repository.name, word in new, word].append(fix)
    shared = Counter(
        (one, other) for some in alike.values() if len(some) <= RARE
        for one, other in itertools.combinations(some, 2)
    )  # fmt: skip
    for (one, other), count in shared.items():
        if count >= SHARED and one.repository is not None:
            note_first = one.repository.ask("merge-base", one.commit, other.commit).decode().strip()
            first, last = (one, other) if note_first == one.commit else (other, one)
            yield Fix(
                data=f"two {one.data}",
                name=f"{first.name} + {last.name}",
                subject=f"{first.subject}, and: {last.subject}",
                changes=(*first.changes, *last.changes),
                propose=partial(
                    propose_at, one.repository, last.commit, first.changes, last.changes
                ),
                repository=one.repository,
                commit=last.commit,
            )


def _is_small(patch: str) -> bool:
    changes = [one for one in parse_diff(patch) if language_of(one.path) and is_ours(one.path)]
    return 0 < len(changes) <= MOST_CHANGES


def _read_bugs(folder: Path) -> list[tuple[str, str]]:
    """Return (project, fixing commit) of BugsInPy."""
    rows = (
        row
        for path in folder.glob("*BugsInPy")
        for row in Repository(path)
        .ask("grep", "fixed_commit_id", "HEAD", "--", "projects/*/bugs/*/bug.info")
        .decode()
        .splitlines()
    )
    matches = (re.match(r'HEAD:projects/([^/]+)/.*?="([0-9a-f]{40})', row) for row in rows)
    return [(match[1], match[2]) for match in matches if match]


def find_unseen(
    fix: Fix, pattern: Pattern, others: Iterable[Repository]
) -> tuple[list[Place], int]:
    """Return the places that a pattern finds in later commits and in other repositories.

    The second value counts the lines that were looked at.
    """
    matcher = Matcher([Rule(card="", pattern=pattern)])
    found: list[Place] = []
    lines = 0
    repository = fix.repository
    if repository is not None:
        for name, _subject, patch in repository.history(f"{fix.commit}..HEAD", most=LATER):
            for change in parse_diff(patch):
                if language_of(change.path) == pattern.language and is_ours(change.path):
                    lines += max(change.after.count("\n") - change.before.count("\n"), 0)
                    if _may_hold(change.after, pattern) and matcher.find_added(change):
                        text = repository.ask("show", f"{name}:{change.path}")
                        placed = place_in(change, text.decode("utf-8", "replace"))
                        found += [
                            Place(
                                where=f"{repository.name} {name[:10]} {change.path}",
                                line=match.line,
                                text=_around(change.after, match.line - change.line + 1),
                            )
                            for match in matcher.find_added(placed)
                        ]
    for other in others:
        if other is not repository:
            for path, text in other.files(other.head):
                if language_of(path) == pattern.language:
                    lines += text.count("\n")
                    found += [
                        Place(
                            where=f"{other.name} {path}", line=match.line,
                            text=_around(text, match.line),
                        )
                        for match in matcher.find_in_file(path, text)
                    ]  # fmt: skip
    return found, lines


@lru_cache(maxsize=512)
def _words(text: str) -> tuple[str, ...]:
    return tuple(re.findall(r"(?<![\w$])[^\W\d]\w{2,}", text))


def _may_hold(text: str, pattern: Pattern) -> bool:
    return all(word in text for word in _words(pattern.text))


def _around(text: str, line: int, *, reach: int = 6) -> str:
    rows = text.splitlines()
    begin, end = max(line - 1 - reach, 0), min(line + reach, len(rows))
    return "\n".join(f"{'>' if n == line - 1 else ' '} {rows[n][:160]}" for n in range(begin, end))


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
        return [(_commit_of(name), texts[2 * n], texts[2 * n + 1]) for n, name in enumerate(names)]
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


def find_in_functions(
    pattern: Pattern, pairs: Iterable[tuple[str, str, str]]
) -> tuple[list[Place], int]:
    """Return the places that a pattern finds in functions before their fix, and their lines."""
    matcher = Matcher([Rule(card="", pattern=pattern)])
    found, lines = [], 0
    for commit, before, after in pairs:
        lines += before.count("\n")
        if _may_hold(before, pattern):
            gone = {
                m.text for m in matcher.find_added(Change(path="a.js", before=after, after=before))
            }
            found += [
                Place(
                    where=f"FixJS {commit[:10]}", line=match.line, again=match.text in gone,
                    text=_around(before, match.line),
                )
                for match in matcher.find_in_file("a.js", before)
            ]  # fmt: skip
    return found, lines


@dataclass(frozen=True, kw_only=True, slots=True)
class Result:
    """A fix, what was proposed of it, and the places that this finds and was not made from."""

    fix: Fix
    proposal: Proposal
    places: tuple[Place, ...] = ()
    lines: int = 0
    """Those in which the places were looked for."""


def show_fix(fix: Fix) -> str:
    """Return a fix as a reader sees it: its subject, and a diff."""
    rows = [
        row
        for change in fix.changes[:MOST_CHANGES]
        for row in [
            f"# {change.path}",
            *[*difflib.unified_diff(
                change.before.splitlines(), change.after.splitlines(), n=2, lineterm=""
            )][3:],
        ]
    ]  # fmt: skip
    text = "\n".join(row[:160] for row in rows)[:2_500]
    return f"The fix: {fix.subject or '(no message)'}\n\n~~~diff\n{text}\n~~~\n"


_ASKED = """\
You are a careful reviewer. Each item below shows a fix, and a marked place (`>`) elsewhere. Say of
each whether the marked place makes the same mistake that the fix put right: would a reviewer who
knows the fix want this place changed in the same way? Where the code around shows that it is right
as it is, say no. Use no tools. Answer with one line of JSON for each item and nothing else:

{"item": 1, "answer": "yes"}
{"item": 2, "answer": "no"}
"""
_PATTERNABLE = """\
You are a careful reviewer. Each item below is a fix. Say of each whether a syntax pattern (a rule of
a linter such as ast-grep or Semgrep, without types or data flow) could find further places of the
same mistake in code that is not seen yet, and be right in most of them. Domain logic, wrong values
and algorithms that only this program has: no. Use no tools. Answer with one line of JSON for each
item and nothing else:

{"item": 1, "answer": "yes"}
{"item": 2, "answer": "no"}
"""


def write_prompts(folder: Path, results: Sequence[Result], *, seed: int) -> int:
    """Write what readers are asked; return how many files. The key beside them names the items."""
    rng = random.Random(seed)
    asked: list[tuple[str, str, str]] = []  # question, text, key
    for one in results:
        for place in rng.sample(one.places, min(PLACES, len(one.places))):
            text = f"{show_fix(one.fix)}\nThe place, in {place.where}:\n\n~~~\n{place.text}\n~~~\n"
            data = one.fix.data + ("" if _is_own(one.fix, place) else ", other repositories")
            asked.append((_ASKED, text, f"place {data} {key_of(one, place)}"))
    rng.shuffle(asked)
    fixes = rng.sample(results, min(2 * ITEMS, len(results)))
    asked += [(_PATTERNABLE, show_fix(o.fix), f"fix {o.fix.data} {key_of(o)}") for o in fixes]
    keys, number = [], 0
    for question in (_ASKED, _PATTERNABLE):
        own = [one for one in asked if one[0] == question]
        for begin in range(0, len(own), ITEMS):
            number += 1
            rows = [question]
            for item, (_question, text, key) in enumerate(own[begin : begin + ITEMS], 1):
                rows.append(f"\n## Item {item}\n\n{text}")
                keys.append({"file": number, "item": item, "key": key})
            (folder / f"prompt-{number}.md").write_text("".join(rows), encoding="utf-8")
    text = "".join(f"{json.dumps(one)}\n" for one in keys)
    (folder / "key.jsonl").write_text(text, encoding="utf-8")
    return number


def key_of(result: Result, place: Place | None = None) -> str:
    """Return the hash of an item: of a fix, or of a place that its pattern finds."""
    pattern = result.proposal.pattern
    parts = [result.fix.name]
    parts += [pattern.text, place.where, place.text] if place and pattern else []
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]


def collect_answers(folder: Path) -> list[dict[str, Any]]:
    """Return the items that readers judged, with each reader's answer."""
    key = read_rows(folder / "key.jsonl")
    answers: dict[tuple[int, int], dict[str, bool]] = defaultdict(dict)
    for path in sorted(folder.glob("answers-*-*.jsonl")):
        _name, reader, number = path.stem.split("-")
        for line in path.read_text(encoding="utf-8").splitlines():
            with contextlib.suppress(ValueError, KeyError, TypeError):
                one = json.loads(line)
                answers[int(number), int(one["item"])][reader] = one["answer"] == "yes"
    return [
        {"key": one["key"], "answers": answers[one["file"], one["item"]]}
        for one in key
        if answers.get((one["file"], one["item"]))
    ]


def summarise(
    results: Sequence[Result], judged: Sequence[dict[str, Any]]
) -> dict[str, dict[str, Any]]:
    """Return the figures of each data set, and those of its patterns in other repositories.

    The unit of *precision* is a pattern: the mean share of its judged places that are the mistake.
    *False* are the places of all patterns, less that share, in 100,000 lines.
    """
    answers = {
        one["key"].rpartition(" ")[2]: metrics.mean([float(v) for v in one["answers"].values()])
        for one in judged
    }
    figures: dict[str, dict[str, Any]] = {}
    for data in dict.fromkeys(one.fix.data for one in results):
        some = [one for one in results if one.fix.data == data]
        proposed = [one for one in some if one.proposal.pattern]
        asked = [one for one in some if key_of(one) in answers]
        due = [one for one in asked if answers[key_of(one)] >= HALF]
        figures[data] = row = {
            "fixes": len(some),
            "proposed": len(proposed),
            "judged": len(asked),
            "patternable": len(due),
            "of these proposed": sum(one.proposal.pattern is not None for one in due),
            "lines": sum(one.lines for one in proposed),
        }
        wrong = 0.0
        for name, is_own in (("", True), (" elsewhere", False)):
            places = [
                [place for place in one.places if _is_own(one.fix, place) == is_own]
                for one in proposed
            ]
            shares = [
                metrics.mean(found)
                for one, own in zip(proposed, places, strict=True)
                if (found := [answers[k] for p in own if (k := key_of(one, p)) in answers])
            ]
            row[f"places{name}"] = sum(map(len, places))
            row[f"patterns judged{name}"] = len(shares)
            row[f"precision{name}"] = share = metrics.mean(shares) if shares else None
            wrong += sum(map(len, places)) * (1 - (share or 0.0))
        row["false in 100,000 lines"] = 100_000 * wrong / row["lines"] if row["lines"] else None
        why = Counter(one.proposal.said for one in some if one.proposal.pattern is None)
        row["refused"] = dict(why.most_common())
    return figures


def _is_own(fix: Fix, place: Place) -> bool:
    return fix.repository is None or place.where.startswith(f"{fix.repository.name} ")


def measure_real(folder: Path, options: argparse.Namespace) -> dict[str, Any]:
    """Propose patterns of real fixes; print and return how many, why not, and what readers say."""
    most = 40 if options.quick else 3_000
    results = []
    repositories = find_repositories(folder)
    pairs = read_functions(folder, most=500 if options.quick else 8_000, seed=options.seed)
    own = {commit for commit, _before, _after in pairs[: len(pairs) // 10]}
    rest = [one for one in pairs if one[0] not in own]
    half = len(rest) // 3
    background = [(f"{n}.js", after) for n, (_c, _b, after) in enumerate(rest[:half])]
    js = read_js_fixes([one for one in pairs if one[0] in own], background)
    found = [*read_fixes(folder, most=most, seed=options.seed)]
    commits = [one for one in found if one.data == "fix commits"]
    for fix in itertools.chain(found, js, pair_fixes(commits)):
        proposal, places, lines = fix.propose(), list[Place](), 0
        if (pattern := proposal.pattern) is not None:
            places, lines = (
                find_unseen(fix, pattern, repositories)
                if fix.repository
                else find_in_functions(pattern, rest[half:])
            )
            if options.verbose:
                report.tell(
                    f"{fix.name} {fix.subject}: {pattern.text} {pattern.relations}; {proposal.said}"
                )
        results.append(Result(fix=fix, proposal=proposal, places=tuple(places), lines=lines))
    if options.write:
        count = write_prompts(Path(options.write), results, seed=options.seed)
        report.tell(f"{count} files for readers in {options.write}")
    judged = read_rows(JUDGED)
    if options.collect:
        judged += collect_answers(Path(options.collect))
        write_rows(JUDGED, judged)
    figures = summarise(results, judged)
    shown = [name for name in next(iter(figures.values()), {}) if name != "refused"]
    rows = [[data, *(_shown(row[name]) for name in shown)] for data, row in figures.items()]
    report.print_table("Real fixes", ("data", *shown), rows)
    for data, row in figures.items():
        report.tell(f"{data}: " + "; ".join(f"{n} {why}" for why, n in row["refused"].items()))
    return figures


def _shown(value: float | None) -> str:
    if value is None:
        return "–"
    return str(value) if isinstance(value, int) else f"{value:.2f}"

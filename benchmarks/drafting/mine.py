"""What `lessons mine` finds in histories whose authors wrote lessons beside them.

Each folder is a clone with lessons in ``docs/solutions``. A lesson is linked to its fix: the commit
that added it if that changes code the text names, else the commit from ten days before to three
after that shares most pull requests, files and identifiers with the text, rare ones first. The fix
is put at ten random places among 200 commits with code, other lessons' fixes are taken out, and the
commits are ranked; messages lose the lines that speak of lessons. ``candidates r@20`` is the share of
the fixes among the commits of the first twenty candidates, which may have several fixes of one
subject. Precision counts, in windows where nothing is taken out, the commits among the first ten that
led to a lesson.

A clone without ``docs/solutions`` is measured by what its maintainers wrote into the changelog: a
commit is a fix if its subject names, last, a pull request that stands below a heading such as
*Fixed* or *Bug fixes*.

``judged/mine_lessons.jsonl`` has the lessons of four repositories on which the ranking was developed,
each read beside the history: ``fix`` names the commit that corrects the mistake, ``design`` the commit
with which the lesson came as a feature or a restructuring, and ``none`` means that no commit of this
history tells the mistake (a rule, a method, another repository, or a fault that was never committed).
For these repositories, recall is that of the lessons with a fix. It also has the lessons of two
unseen repositories, XIC_Extractor and nuxt-edge-agentic-rag, which a reader labelled without the
ranks, and those of five further unseen ones, which two readers labelled; ``second`` is what the other
of them says. ``judged/mine.jsonl`` holds what a reader who saw neither ranks nor scores
said of the first ten commits of such histories, by the commits' hashes.
"""

from __future__ import annotations

import json
import math
import os
import re
import subprocess
from collections import Counter, defaultdict
from dataclasses import dataclass
from pathlib import Path
from random import Random
from statistics import fmean
from typing import TYPE_CHECKING

from benchmarks import report
from benchmarks.data import HERE, DataError
from benchmarks.drafting import mine_cost
from benchmarks.drafting.mine_readers import collect, write_packets
from lessons_kb.mining.candidates import find_candidates, group_commits
from lessons_kb.mining.commit_facts import CommitFacts, choose, read_facts
from lessons_kb.mining.mine_project import SPECSTORY, Source, extract, restore
from lessons_kb.mining.rank_commits import RankedCommit, rank_commits, score
from lessons_kb.mining.triggers import Sighting
from lessons_kb.process.git import list_commits, read_patches

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Sequence
    from typing import Any

WINDOW = 200
PLACES = 10
"""Windows for each fix in which recall is measured."""
WINDOWS = 20
"""Windows a repository in which precision is measured; a tenth of them with --quick."""
BEFORE, AFTER = 10 * 86_400, 3 * 86_400
LEAST = 6.0
"""Of shared evidence, below which a lesson is linked to no commit; a rare identifier gives 3 to 7."""
TOGETHER = 3
"""Lessons that one commit adds; more of them were collected, and their fixes lie elsewhere."""
SOLUTIONS = "docs/solutions"
JUDGED = HERE / "judged" / "mine.jsonl"
LESSONS = HERE / "judged" / "mine_lessons.jsonl"
FIRST = 10
_CHANGELOG = re.compile(
    r"(?i)(?:^|/)(?:changelog|changes|history|release-notes)[\w.-]*\.(?:md|rst)$"
)
_FIXED = re.compile(r"(?im)^#+ .*\b(?:bug ?)?fix(?:e[sd])?\b.*\n((?:(?!#).*\n)*)")
_LAST_REQUEST = re.compile(r"\(#(\d+)\)\s*$")
_TOLD = re.compile(r"(?i)solutions?\b|lessons?\b|learnings?\b|compound")
_IDENTIFIER = re.compile(r"[A-Za-z_$][\w$]*(?:[._-]\w+)*")
_FENCED = re.compile(r"```.*?```", re.DOTALL)
_TICKED = re.compile(r"`([^`\n]{3,80})`")
_PATH = re.compile(r"[\w@.-]+(?:/[\w@.\[\]-]+)+\.\w{1,5}")
_REQUEST = re.compile(r"#(\d{1,6})\b")
_SHA = re.compile(r"\b[0-9a-f]{7,40}\b")


@dataclass(frozen=True, kw_only=True, slots=True)
class Lesson:
    """One lesson file as it was added."""

    path: str
    commit: str
    at: float
    text: str


def run(options: argparse.Namespace) -> dict[str, Any]:
    """Print one line a repository."""
    if options.fit:
        from benchmarks.drafting.fit_mine import fit

        return fit(options.folders)
    if options.collect:
        return collect(options.collect)
    if options.cost:
        builds = [str(HERE.parent), *([options.against] if options.against else [])]
        return mine_cost.run(options.folders, builds)
    if options.write:
        count = write_packets(
            options.folders, options.write, against=options.against, seed=options.seed
        )
        report.tell(f"{count} commits for each reader in {options.write}")
        return {"commits": count}
    if not options.folders and not options.sessions:
        raise DataError("name clones that hold docs/solutions, one folder each, or --sessions")
    rows = []
    for folder in options.folders:
        history, terms = read_history(folder)
        lessons = read_lessons(folder)
        name = _name(folder)
        told = read_told(name)
        if told:
            linked = {commit: [] for commit in told.get("fix", ())}
            counts = ", ".join(f"{len(commits)} {kind}" for kind, commits in told.items())
            report.tell(f"{name}: lessons of the authors, as a reader labelled them: {counts}")
        else:
            linked = link(lessons, history, terms) if lessons else read_fixed(folder, history)
        rows.append(_measure(name, history, linked, options))
    if options.against:
        _measure_other(options)
    if rows:
        columns = list(rows[0])
        report.tell(" | ".join(columns))
        for row in rows:
            report.tell(" | ".join(str(row[name]) for name in columns))
    sessions = _judge_sessions(options) if options.sessions else {}
    return {"repositories": rows, "sessions": sessions}


def _name(folder: str) -> str:
    """Return ``owner/name`` of a clone in a folder ``owner+name``."""
    return Path(folder).resolve().name.replace("+", "/", 1)


def read_told(repository: str) -> dict[str, list[str]]:
    """Return the commits of a repository's labelled lessons by the kind of the lesson.

    The mapping is empty for a repository without labels.
    """
    told: dict[str, list[str]] = {}
    for line in LESSONS.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        if row["repository"] == repository:
            told.setdefault(row["kind"], []).append(row["commit"])
    return told


def _measure_other(options: argparse.Namespace) -> None:
    """Print what another build measures on the same clones, with its own benchmark."""
    python = str(Path(options.against) / ".venv" / "bin" / "python")
    folders = [os.path.abspath(folder) for folder in options.folders]
    arguments = ["-m", "benchmarks", "mine", *folders, "--seed", str(options.seed)]
    report.tell(f"{options.against}:")
    subprocess.run([python, *arguments], cwd=options.against, check=True)
    report.tell("this build:")


def _judge_sessions(options: argparse.Namespace) -> dict[str, Any]:
    """Print the first ten candidates of some sessions, and how many of them are right.

    The judgements are written before the ranking is known: a line is ``yes`` or ``no`` and a
    regular expression over title and excerpt; the first that fits decides, none is a no.
    """
    judged = []
    if options.judged:
        lines = Path(options.judged).read_text(encoding="utf-8").splitlines()
        judged = [line.split(maxsplit=1) for line in lines if line.startswith(("yes ", "no "))]
    sightings = []
    files = sorted(Path(options.sessions).glob("*.md"))
    for path in files:
        source = Source(agent=SPECSTORY, path=str(path), size=0, stamp="", at=0.0)
        rows, _trouble = extract(source, "", ())
        sightings += [restore(Sighting, row) for row in rows]
    now = max((one.at for one in sightings), default=0.0)
    found = find_candidates(sightings, [], now=now)[:10]
    right = 0
    for one in found:
        verdict = next((said for said, regex in judged if re.search(regex, one.title)), "no")
        right += verdict == "yes"
        report.tell(f"{verdict:3} {one.occurrences:>3}× {one.title[:90]}")
    report.tell(f"{len(files)} sessions: {right} of the first {len(found)} are right")
    return {"sessions": len(files), "first": len(found), "right": right}


def read_history(folder: str) -> tuple[list[CommitFacts], dict[str, frozenset[str]]]:
    """Return what a history tells, oldest first, and the identifiers that each commit adds."""
    history, terms = [], {}
    for patch in read_patches(folder, list_commits(folder)):
        kept = "\n".join(line for line in patch.message.splitlines() if not _TOLD.search(line))
        message = (
            kept
            if patch.message and not _TOLD.search(patch.message.splitlines()[0])
            else (f"change\n{kept}")
        )
        facts = read_facts(patch.id, patch.at, message, patch.patch)
        history.append(facts)
        terms[facts.id] = _identifiers(patch.patch) if facts.paths else frozenset()
    return history[::-1], terms


def _identifiers(patch: bytes) -> frozenset[str]:
    changed = "\n".join(
        line[1:]
        for line in patch.decode("utf-8", "replace").splitlines()
        if line[:1] in "+-" and len(line) < 500
    )
    return frozenset(word for word in _IDENTIFIER.findall(changed) if len(word) > 5)


def read_lessons(folder: str) -> list[Lesson]:
    """Return the lessons of a clone as they were first committed."""
    log = _git(
        folder,
        "log",
        "--diff-filter=A",
        "--no-renames",
        "--name-only",
        "--format=%x00%H %ct",
        "HEAD",
        "--",
        SOLUTIONS,
    )
    found: dict[str, Lesson] = {}
    for part in log.split("\0")[1:]:
        head, *names = part.splitlines()
        commit, _, at = head.partition(" ")
        for name in filter(None, names):
            stem = Path(name).stem.lower()
            if name.endswith(".md") and stem not in ("readme", "index", "critical-patterns"):
                text = _git(folder, "show", f"{commit}:{name}")
                found[name] = Lesson(path=name, commit=commit, at=float(at), text=text)
    return sorted(found.values(), key=lambda lesson: (lesson.at, lesson.path))


def link(
    lessons: Sequence[Lesson],
    history: Sequence[CommitFacts],
    terms: dict[str, frozenset[str]],
) -> dict[str, list[Lesson]]:
    """Return commit → the lessons that it led to."""
    known = {facts.id: facts for facts in history}
    common = Counter(term for found in terms.values() for term in found)
    total = len(history)
    together = Counter(lesson.commit for lesson in lessons)
    linked: dict[str, list[Lesson]] = defaultdict(list)
    for lesson in lessons:
        spans = " ".join([*_TICKED.findall(lesson.text), *_FENCED.findall(lesson.text)])
        names = {word for word in _IDENTIFIER.findall(spans) if len(word) > 5}
        paths = {Path(path).name for path in _PATH.findall(lesson.text)}

        def evidence(
            facts: CommitFacts,
            names: set[str] = names,
            paths: set[str] = paths,
            lesson: Lesson = lesson,
        ) -> float:
            shared = names & terms[facts.id]
            words = sum(sorted((math.log(total / common[w]) for w in shared), reverse=True)[:6])
            files = 3.0 * len(paths & {Path(path).name for path in (*facts.paths, *facts.tests)})
            asked = set(_REQUEST.findall(lesson.text)) & set(_REQUEST.findall(facts.subject))
            named = any(facts.id.startswith(sha) for sha in _SHA.findall(lesson.text))
            return words / 2 + min(files, 6.0) + 8.0 * len(asked) + 15.0 * named

        own = known.get(lesson.commit)
        few = together[lesson.commit] <= TOGETHER
        if few and own is not None and own.paths and evidence(own) >= LEAST:
            linked[own.id].append(lesson)
            continue
        near = [
            facts
            for facts in choose(history)
            if lesson.at - BEFORE <= facts.at <= lesson.at + AFTER
        ]
        best = max(near, key=evidence, default=None)
        if best is not None and evidence(best) >= LEAST:
            linked[best.id].append(lesson)
    return dict(linked)


def read_fixed(folder: str, history: Sequence[CommitFacts]) -> dict[str, list[Lesson]]:
    """Return the commits whose pull request the changelog lists among the fixes."""
    names = _git(folder, "ls-tree", "-r", "--name-only", "HEAD").splitlines()
    texts = [_git(folder, "show", f"HEAD:{name}") for name in filter(_CHANGELOG.search, names)]
    parts = [part for text in texts for part in _FIXED.findall(text)]
    fixed = {number for part in parts for number in re.findall(r"(?:#|/pull/)(\d+)", part)}
    return {
        facts.id: []
        for facts in choose(history)
        if (asked := _LAST_REQUEST.search(facts.subject)) and asked[1] in fixed
    }


def _test_lines(history: Sequence[CommitFacts]) -> list[float]:
    return [float(facts.test_lines) for facts in history]


def _latest_fix(history: Sequence[CommitFacts]) -> list[float]:
    is_fix = re.compile(r"\bfix", re.IGNORECASE)
    return [n + len(history) * bool(is_fix.search(f.subject)) for n, f in enumerate(history)]


def _churn(history: Sequence[CommitFacts]) -> list[float]:
    seen: Counter[str] = Counter()
    found = []
    for facts in history:
        found.append(sum(seen[path] for path in facts.paths) / (len(facts.paths) or 1))
        seen.update(facts.paths)
    return found


def _measure(
    name: str,
    history: Sequence[CommitFacts],
    linked: dict[str, list[Lesson]],
    options: argparse.Namespace,
) -> dict[str, Any]:
    code = choose(history)
    scorers: dict[str, Callable[[Sequence[CommitFacts]], list[float]]] = {
        "mine": score,
        "tests": _test_lines,
        "fix": _latest_fix,
        "churn": _churn,
    }
    scores = {
        label: dict(zip([f.id for f in code], scorer(code), strict=True))
        for label, scorer in scorers.items()
    }
    figures = measure(
        code, set(linked), scores, seed=options.seed, quick=options.quick, ranked=rank_commits(code)
    )
    rows = map(json.loads, JUDGED.read_text(encoding="utf-8").splitlines())
    judged = {row["commit"]: row["mistake"] for row in rows}
    for label in ("mine", "tests"):
        first = sorted(scores[label], key=lambda one, known=scores[label]: -known[one])[:FIRST]
        said = [judged[one] for one in first if one in judged]
        figures[f"{label} by a reader"] = f"{sum(said)} of {len(said)}"
    return {
        "repository": name,
        "commits": len(history),
        "with code": len(code),
        "linked": len(linked),
        "lessons": sum(map(len, linked.values())),
        **figures,
    }


def measure(
    code: Sequence[CommitFacts],
    fixes: set[str],
    scores: dict[str, dict[str, float]],
    *,
    seed: int,
    quick: bool = False,
    ranked: Sequence[RankedCommit] = (),
) -> dict[str, Any]:
    """Return recall and precision of each ranking, with random beside them.

    With the ranked commits, recall is also that of the candidates which they give.
    """
    dice = Random(seed)
    places = [n for n, facts in enumerate(code) if facts.id in fixes]
    figures: dict[str, Any] = {}
    recalls: dict[str, list[tuple[bool, bool]]] = {label: [] for label in scores}
    by_score = sorted(ranked, key=lambda commit: -commit.score)
    of_candidates: list[bool] = []
    sizes = []
    for place in sorted(places * PLACES):
        size = min(WINDOW, len(code))
        offset = dice.randrange(size)
        start = min(max(place - offset, 0), len(code) - size)
        own = code[place].id
        window = [f.id for f in code[start : start + size] if f.id == own or f.id not in fixes]
        sizes.append(len(window))
        for label, known in scores.items():
            above = sum(known[one] > known[own] for one in window)
            above += sum(known[one] == known[own] for one in window) // 2  # in any order
            recalls[label].append((above < 5, above < 20))
        if by_score:
            inside = set(window)
            groups = group_commits([commit for commit in by_score if commit.facts.id in inside])
            first = {commit.facts.id for group in groups[:20] for commit in group.commits}
            of_candidates.append(own in first)
    if ranked:
        figures["candidates r@20"] = round(fmean(of_candidates), 2) if of_candidates else 0.0
    for label, found in recalls.items():
        figures[f"{label} r@5"] = round(fmean(hit[0] for hit in found), 2) if found else 0.0
        figures[f"{label} r@20"] = round(fmean(hit[1] for hit in found), 2) if found else 0.0
    figures["random r@20"] = round(fmean(min(1.0, 20 / n) for n in sizes), 2) if sizes else 0.0
    oldest, newest = (places[0], places[-1]) if places else (0, 0)
    precision: dict[str, list[float]] = {label: [] for label in scores}
    bases = []
    for _ in range(max(2, WINDOWS // 10) if quick else WINDOWS):
        size = min(WINDOW, newest - oldest + 1)
        start = dice.randrange(oldest, newest - size + 2)
        window = [f.id for f in code[start : start + size]]
        bases.append(fmean(one in fixes for one in window))
        for label, known in scores.items():
            mixed = dice.sample(window, len(window))
            best = sorted(mixed, key=lambda one: -known[one])[:10]
            precision[label].append(fmean(one in fixes for one in best))
    figures["base"] = round(fmean(bases), 2)
    for label, rates in precision.items():
        figures[f"{label} p@10"] = round(fmean(rates), 2)
    return figures


def _git(folder: str, *arguments: str) -> str:
    done = subprocess.run(
        ["git", *arguments],
        cwd=folder,
        capture_output=True,
        check=False,
    )
    return done.stdout.decode("utf-8", "replace")

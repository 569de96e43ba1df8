"""Compares patterns learnt from one fix, or from two equal ones, with a linter on other code."""

from __future__ import annotations

import os
import time
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from statistics import mean, median
from typing import TYPE_CHECKING

from benchmarks import report
from benchmarks.judgement.documented_pairs import read_documented
from benchmarks.judgement.linter_fixes import (
    PARTS,
    find_data,
    find_rules,
    part_of,
    pick_sites,
    read_projects,
)
from benchmarks.judgement.real_fixes import measure_real
from lessons_kb.detect.change import Change
from lessons_kb.detect.matcher import Matcher, Rule, find_words
from lessons_kb.detect.propose import find_candidates
from lessons_kb.model import Pattern

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from typing import Any

    from benchmarks.judgement.linter_fixes import File, Project

SITES = 2
"""Fixes of a rule that are learnt from, in each project."""
QUICK_FILES = 120
"""Of each project."""
LEAST_PLACES = 10
"""Of a rule, in all projects of a part together."""
LIMITS = (5, 10, 20)
"""Places in 100,000 lines of the project that a proposal may find after the fix."""
TWICE = (2, 10, 20)
DOCUMENTED = 10
PATTERNS, LINES, FILES, ROUNDS = 50, 350, 40, 7


@dataclass(frozen=True, kw_only=True, slots=True)
class Lesson:
    """What is learnt: one fix of a rule, or two that agree, and the candidates."""

    rule: str
    project: str
    candidates: tuple[Pattern, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Outcome:
    """What one proposal finds in projects that it was not learnt from."""

    lesson: Lesson
    proposal: Pattern | None
    right: int = 0
    wrong: int = 0
    due: int = 0
    lines: int = 0


def run(options: argparse.Namespace) -> dict[str, Any]:
    """Print what patterns learnt from fixes are worth."""
    real = Path(options.data or os.environ.get("LESSONS_BENCH_DATA", "")) / "real"
    figures: dict[str, Any] = {}
    if real.is_dir():
        figures["real"] = measure_real(real, options)
        if not (real.parent / "code").is_dir():
            return figures
    folder = find_data(options.data)
    for part in PARTS if options.part is None else (options.part,):
        figures[part] = measure_part(folder, part, options)
    return figures


def measure_part(folder: Path, part: str, options: argparse.Namespace) -> dict[str, Any]:
    """Learn from fixes of the rules of a part in its projects; print and return the figures."""
    projects = read_projects(folder, part, most=QUICK_FILES if options.quick else None)
    rules = [rule for rule in find_rules(projects, least=LEAST_PLACES) if part_of(rule) == part]
    once, twice = learn(projects, rules, most=SITES, seed=options.seed)
    counts = count_places(projects, (*once, *twice), limit=max(*LIMITS, *TWICE))
    lines = {project.name: project.lines for project in projects}
    kinds = [("one", once, limit, False) for limit in LIMITS]
    kinds += [("one, others left", once, limit, True) for limit in LIMITS]
    kinds += [("two that agree", twice, limit, False) for limit in TWICE]
    kinds += [("two, others left", twice, limit, True) for limit in TWICE]
    picks = {
        (name, limit): [
            (lesson, pick(lesson, counts, limit * lines[lesson.project] / 100_000, alone=alone))
            for lesson in lessons
        ]
        for name, lessons, limit, alone in kinds
    }
    patterns = dict.fromkeys(one for picked in picks.values() for _lesson, one in picked if one)
    places = find_places(projects, list(patterns))
    rows, figures = [], {}
    for (name, limit), picked in picks.items():
        found = judge(projects, picked, places)
        figures[f"{name} {limit}"] = one = summarise(found)
        rows.append([name, str(limit), *(_shown(value) for value in one.values())])
        if options.verbose:
            report.tell(f"{name}, N = {limit}")
            _print_all(found)
    total = sum(lines.values())
    title = f"{part}: {len(rules)} rules, {len(projects)} projects, {total:,} lines"
    report.print_table(title, ("fixes", "N", *one), rows)
    figures["milliseconds"] = measure_speed(projects, patterns)
    figures["documented"] = measure_documented(folder, projects, part)
    return figures


def measure_speed(
    projects: Sequence[Project], proposals: Iterable[Pattern]
) -> dict[str, dict[str, float]]:
    """Time 50 of the learnt patterns, and 50 regular expressions of their words, in milliseconds.

    Files have about 350 lines; an edit changes one line of such a file. Medians over files.
    """
    patterns = list(dict.fromkeys(proposals))[:PATTERNS]
    words = list(dict.fromkeys(word for one in patterns for word in find_words(one)))
    regexes = [
        Pattern(kind="regex", text=rf"\b{word}\s*\(") for word in (words * PATTERNS)[:PATTERNS]
    ]
    files = [
        file
        for project in projects
        for file in project.files.values()
        if LINES - 10 <= len(file.lines) <= LINES + 10
    ][:FILES]
    figures = {}
    for name, some in (("syntax", patterns), ("regular expressions", regexes)):
        matcher = make_matcher(some)
        figures[name] = {
            "patterns": len(some),
            "a file": median(_time(matcher, Change(path=f.path, after=f.text)) for f in files),
            "an edit": median(_time(matcher, _edit(file)) for file in files),
        }
    rows = [[name, *map(_shown, one.values())] for name, one in figures.items()]
    title = f"Milliseconds, median of {len(files)} files of {LINES} lines"
    report.print_table(title, ("looked for", "patterns", "a file", "an edit"), rows)
    return figures


def _edit(file: File) -> Change:
    """Return a change of the line in the middle of a file."""
    middle = len(file.lines) // 2
    line = file.lines[middle]
    return Change(
        path=file.path,
        before=line,
        after=line.replace("\n", "  # edited\n"),
        line=middle + 1,
        prefix="".join(file.lines[:middle]),
        suffix="".join(file.lines[middle + 1 :]),
    )


def _time(matcher: Matcher, change: Change) -> float:
    """Return the milliseconds of the fastest of a few rounds: others use this machine, too."""
    times = []
    for _round in range(ROUNDS):
        start = time.perf_counter()
        matcher.find_added(change)
        times.append(1000 * (time.perf_counter() - start))
    return min(times)


def measure_documented(
    folder: Path, projects: Sequence[Project], part: str
) -> dict[str, dict[str, float | None]]:
    """Learn from the examples of linters' documentation; print and return the figures.

    Python patterns are held against ruff's verdict where it has a rule of that name, and are rare
    in the first project; every pattern against the rule's other examples.
    """
    home = projects[0]
    codes = {name: code for project in projects for name, code in project.names.items()}
    pairs = [one for one in read_documented(folder / "docs") if part_of(one.rule) == part]
    lessons = [
        Lesson(
            rule=codes.get(one.rule, ""),
            project=home.name,
            candidates=tuple(found.pattern for found in find_candidates([[*one.changes()]])),
        )
        for one in pairs
    ]
    counts = count_places([home], lessons, limit=DOCUMENTED)
    limit = DOCUMENTED * home.lines / 100_000
    picked = [(lesson, pick(lesson, counts, limit, alone=False)) for lesson in lessons]
    python = [
        p for (_lesson, p), one in zip(picked, pairs, strict=True) if p and one.path == "a.py"
    ]
    found = judge(projects, picked, find_places(projects, list(dict.fromkeys(python))))
    figures: dict[str, dict[str, float | None]] = {}
    for source in dict.fromkeys(one.source for one in pairs):
        own = [(o, p) for o, p in zip(found, pairs, strict=True) if p.source == source]
        judged = summarise([outcome for outcome, _pair in own if outcome.due])
        others = [
            tuple(
                _share_found(outcome.proposal, pair.path, side)
                for side in (pair.bad[1:], pair.good)
            )
            for outcome, pair in own
            if outcome.proposal
        ]
        figures[source] = {
            "pairs": len(own),
            "proposed": _mean(bool(outcome.proposal) for outcome, _pair in own),
            "other bad examples": _mean(bad for bad, _good in others if bad is not None),
            "good examples": _mean(good for _bad, good in others if good is not None),
            "rules with a verdict": judged["fixes"],
            **{name: judged[name] for name in ("find something", "precision", "recall, all")},
            "false in 100,000 lines": judged["false in 100,000 lines"],
        }
    if figures:
        rows = [[name, *map(_shown, one.values())] for name, one in figures.items()]
        columns = ("documented", *next(iter(figures.values())))
        report.print_table(f"{part}: one documented pair, N = {DOCUMENTED}", columns, rows)
    return figures


def _share_found(proposal: Pattern, path: str, texts: Sequence[str]) -> float | None:
    """Return the part of some examples that a proposal finds, None of none."""
    matcher = make_matcher([proposal])
    return _mean(bool(matcher.find_in_file(path, text)) for text in texts)


def _mean(values: Iterable[float]) -> float | None:
    found = list(values)
    return mean(found) if found else None


def learn(
    projects: Sequence[Project], rules: Sequence[str], *, most: int, seed: int
) -> tuple[list[Lesson], list[Lesson]]:
    """Return what single fixes teach, and what pairs of fixes in one project do."""
    once, twice = [], []
    for project in projects:
        for rule in rules:
            sites = pick_sites(project, rule, most=most, seed=seed)
            fixes = [site.changes for site in sites]
            once += [_learn(rule, project.name, [fix]) for fix in fixes]
            if len(fixes) > 1:
                twice.append(_learn(rule, project.name, fixes[:2]))
    return once, twice


def _learn(rule: str, project: str, fixes: Sequence[Sequence[Change]]) -> Lesson:
    found = tuple(one.pattern for one in find_candidates(fixes))
    return Lesson(rule=rule, project=project, candidates=found)


def count_places(
    projects: Sequence[Project], lessons: Sequence[Lesson], *, limit: int
) -> Mapping[tuple[str, str, Pattern], tuple[int, int]]:
    """Return how many statements each candidate finds in the project that it was learnt from.

    Keys are (project, rule, candidate), values (places of the rule, others). Counting ends above
    ``limit`` other places in 100,000 lines.
    """
    counts: dict[tuple[str, str, Pattern], tuple[int, int]] = {}
    for project in projects:
        most = 1 + limit * project.lines // 100_000
        own = [lesson for lesson in lessons if lesson.project == project.name]
        pairs = {(one.rule, p): [0, 0] for one in own for p in one.candidates}
        rules = {proposal: [r for r, p in pairs if p == proposal] for _r, proposal in pairs}
        left = list(rules)
        matcher = make_matcher(left)
        for path, file in project.files.items():
            for proposal, line in set(_statements(matcher, left, file)):
                for rule in rules[proposal]:
                    is_right = (path, line) in project.verdicts.get(rule, ())
                    pairs[rule, proposal][not is_right] += 1
            kept = [p for p in left if any(pairs[rule, p][1] <= most for rule in rules[p])]
            if len(kept) < len(left):
                left, matcher = kept, make_matcher(kept)
        counts.update({(project.name, *key): (n[0], n[1]) for key, n in pairs.items()})
    return counts


def pick(
    lesson: Lesson,
    counts: Mapping[tuple[str, str, Pattern], tuple[int, int]],
    limit: float,
    *,
    alone: bool,
) -> Pattern | None:
    """Return the proposal that a human would be shown first, if any.

    ``alone`` says that the fix put right one place only, and left all others of its rule.
    """

    def left(proposal: Pattern) -> int:
        right, wrong = counts[lesson.project, lesson.rule, proposal]
        return wrong + (max(right - 1, 0) if alone else 0)

    return next((one for one in lesson.candidates if left(one) <= limit), None)


def make_matcher(proposals: Sequence[Pattern]) -> Matcher:
    """Return what finds proposals, each as a card that is named by its place."""
    return Matcher(
        Rule(card=str(place), pattern=pattern) for place, pattern in enumerate(proposals)
    )


def _statements(
    matcher: Matcher, proposals: Sequence[Pattern], file: File
) -> Iterator[tuple[Pattern, int]]:
    for match in matcher.find_in_file(file.path, file.text):
        yield proposals[int(match.rule.card)], file.statement(match.line)


def find_places(
    projects: Iterable[Project], proposals: Sequence[Pattern]
) -> Mapping[Pattern | None, set[tuple[str, str, int]]]:
    """Return the statements (project, path, first line) that each proposal finds."""
    matcher = make_matcher(proposals)
    found: dict[Pattern | None, set[tuple[str, str, int]]] = {one: set() for one in proposals}
    for project in projects:
        for path, file in project.files.items():
            for proposal, line in _statements(matcher, proposals, file):
                found[proposal].add((project.name, path, line))
    return found


def judge(
    projects: Sequence[Project],
    picked: Sequence[tuple[Lesson, Pattern | None]],
    places: Mapping[Pattern | None, set[tuple[str, str, int]]],
) -> list[Outcome]:
    """Hold what proposals find in the other projects against the linter's verdict."""
    outcomes = []
    for lesson, proposal in picked:
        others = [project for project in projects if project.name != lesson.project]
        due = {
            (project.name, *place)
            for project in others
            for place in project.verdicts.get(lesson.rule, ())
        }
        found = {place for place in places.get(proposal, ()) if place[0] != lesson.project}
        outcomes.append(
            Outcome(
                lesson=lesson,
                proposal=proposal,
                right=len(found & due),
                wrong=len(found - due),
                due=len(due),
                lines=sum(project.lines for project in others),
            )
        )
    return outcomes


def summarise(outcomes: Sequence[Outcome]) -> dict[str, float | None]:
    """Return the figures of a table's row; each mean counts every proposal once."""
    proposed = [one for one in outcomes if one.proposal]
    finding = [one for one in proposed if one.right + one.wrong]
    return {
        "fixes": len(outcomes),
        "proposed": _mean(bool(one.proposal) for one in outcomes),
        "find something": len(finding),
        "precision": _mean(one.right / (one.right + one.wrong) for one in finding),
        "recall, proposed": _mean(one.right / one.due for one in proposed if one.due),
        "recall, all": _mean(one.right / one.due for one in outcomes if one.due),
        "false in 100,000 lines": _mean(100_000 * one.wrong / one.lines for one in proposed),
    }


def _shown(value: float | None) -> str:
    if value is None:
        return "–"
    return str(value) if isinstance(value, int) else f"{value:.2f}"


def _print_all(outcomes: Sequence[Outcome]) -> None:
    by_rule: dict[str, list[Outcome]] = defaultdict(list)
    for one in outcomes:
        by_rule[one.lesson.rule].append(one)
    for rule, own in sorted(by_rule.items()):
        for one in own:
            text = f"{one.proposal.text!r} {one.proposal.relations}" if one.proposal else "–"
            report.tell(
                f"{rule} {one.lesson.project} +{one.right} -{one.wrong} of {one.due}: {text}"
            )

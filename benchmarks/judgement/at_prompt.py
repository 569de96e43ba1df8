"""What a prompt brings: lessons given and titles offered, of one build or of two beside each other.

Own prompts were written for single cards by authors who had not seen the code. Unrelated prompts
were typed by people in other projects. Every build is asked in a process of its own, with the same
prompts, in turn. A folder of Markdown files that is named on the command line is asked unrelated
prompts alone; ``--asked FILE`` names own prompts for such folders, a line of JSON each:
``{"brain": NAME, "prompt": TEXT, "cards": [PATH, …]}``, none or several cards.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from benchmarks import metrics, report
from benchmarks.brains import write_settings
from benchmarks.data import EXAMPLE, HERE, DataError, data_folder, read_rows
from benchmarks.retrieval.real_prompts import BRAINS, read_real
from benchmarks.retrieval.sixcards import CASES, write_six

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable, Sequence
    from typing import Any

_ASK = HERE / "judgement" / "ask_brain.py"
_SECONDS = 1_200
_FIRST = 4
"""The right card counts as ranked if it is among so many."""
_OTHERS = 1_000
"""Generated cards beside the six."""
_STATE = (
    "LESSONS_STATE_HOME",
    "XDG_STATE_HOME",
    "XDG_DATA_HOME",
    "XDG_CONFIG_HOME",
    "XDG_CACHE_HOME",
)
_PAIRS = 14
"""Prompts with two tasks for each brain."""
_JOINTS = ("\n\n", "\n\nAlso: ", " ", "\nAnd then: ")
_QUICK = 10
"""Every so many prompts are asked of a sample."""


class Own(NamedTuple):
    """A prompt and the cards that are right for it."""

    text: str
    cards: tuple[str, ...]


class Case(NamedTuple):
    """A brain, the prompts that its cards are about, and prompts about other things."""

    name: str
    source: Path
    own: list[Own]
    unrelated: list[str]


class Answer(NamedTuple):
    """What a build answered to one prompt: ids of cards."""

    given: list[str]
    offered: list[str]
    ranked: list[str]


_HEADERS = (
    "brain", "build", "cards", "own", "ranked first four", "given", "given or offered",
    "first given right", "second given right", "both given", "unrelated", "draw a lesson", "draw a title",
)  # fmt: skip


def run(options: argparse.Namespace) -> dict[str, Any]:
    """Ask every brain of every build, print the table and return the figures."""
    builds = {"this build": HERE.parent}
    if options.against:
        builds = {"before": Path(options.against).resolve(), **builds}
    figures: dict[str, Any] = {}
    rows = []
    with tempfile.TemporaryDirectory(prefix="lessons-bench-") as place:
        for case in _read_cases(options, Path(place)):
            for build, checkout in builds.items():
                answers, count = _ask(case, build, checkout, Path(place))
                row = summarise(case, answers)
                figures.setdefault(build, {})[case.name] = row | {"cards": count}
                rows.append([case.name, build, str(count), *format_row(row)])
                report.tell("  ".join(rows[-1]))
    report.print_table("What a prompt brings", _HEADERS, rows)
    return figures


def summarise(case: Case, answers: Sequence[Answer]) -> dict[str, Any]:
    """Return the figures of one brain; ``answers`` are to its own prompts, then to the others."""
    own = list(zip(case.own, answers[: len(case.own)], strict=True))
    others = answers[len(case.own) :]
    meant = [(one, answer) for one, answer in own if one.cards]
    silent = [answer for one, answer in own if not one.cards]
    first = [answer.given[0] in one.cards for one, answer in own if answer.given]
    second = [answer.given[1] in one.cards for one, answer in own if len(answer.given) > 1]
    several = [answer for one, answer in own if len(one.cards) > 1]
    both = [
        len(set(one.cards) & set(answer.given)) > 1 for one, answer in own if len(one.cards) > 1
    ]
    return {
        "own": len(meant),
        "ranked": _share(set(one.cards) & set(answer.ranked[:_FIRST]) for one, answer in meant),
        "given": _share(set(one.cards) & set(answer.given) for one, answer in meant),
        "reached": _share(
            set(one.cards) & set(answer.given + answer.offered) for one, answer in meant
        ),
        "first_right": _share(first),
        "firsts": len(first),
        "second_right": _share(second),
        "seconds": len(second),
        "two_meant": len(several),
        "both_given": _share(both),
        "hard_negatives": len(silent),
        "hard_given": _share(answer.given for answer in silent),
        "unrelated": len(others),
        "false_lesson": _share(answer.given for answer in others),
        "false_title": _share(answer.given or answer.offered for answer in others),
    }


def format_row(row: dict[str, Any]) -> list[str]:
    """Return the cells of a brain's figures."""
    own, unrelated = row["own"], row["unrelated"] or row["hard_negatives"]
    cells = [str(own)]
    cells += [f"{row[name]:.0%}" if own else "" for name in ("ranked", "given", "reached")]
    for share, count in (("first_right", "firsts"), ("second_right", "seconds")):
        cells.append(f"{row[share]:.0%} of {row[count]}" if row[count] else "")
    two = row["two_meant"]
    cells.append(f"{row['both_given']:.0%} of {two}" if two else "")
    cells.append(str(unrelated))
    lesson = row["false_lesson"] if row["unrelated"] else row["hard_given"]
    cells.append(f"{lesson:.1%}" if unrelated else "")
    cells.append(f"{row['false_title']:.1%}" if row["unrelated"] else "")
    return cells


def _share(values: Iterable[object]) -> float:
    return metrics.mean([float(bool(value)) for value in values])


def _read_cases(options: argparse.Namespace, place: Path) -> list[Case]:
    """Return the brains of the evaluation data, of the project, and of the command line."""
    step = _QUICK if options.quick else 1
    unrelated = read_real()[::step]
    if options.prompts:
        unrelated = [row["text"] for row in read_rows(Path(options.prompts))][::step]
    own: dict[str, list[Own]] = defaultdict(list)
    for name in ("real_manner", "replay_prompts"):
        for row in read_rows(HERE / "labelled" / f"{name}.jsonl"):
            own[row["brain"]].append(Own(row["prompt"], (row["card"],)))
    for row in read_rows(Path(options.asked)) if options.asked else ():
        own[row["brain"]].append(Own(row["prompt"], tuple(row["cards"])))
    cases = []
    if not options.only_named:
        for name in BRAINS:
            source = EXAMPLE if name == "brain-example" else data_folder() / "brains" / name
            cases.append(Case(name, source, own[name], unrelated))
        cases += [_join_pairs(case, options.seed) for case in cases]
        cases.append(_read_skills(options.seed, step))
        cases.append(_make_six(place, options.seed, unrelated))
    for named in options.folders:
        name, _, folder = named.partition("=")
        if not Path(folder).is_dir():
            raise DataError(f"{named}: no such folder; name NAME=FOLDER")
        cases.append(Case(name, Path(folder), own[name], unrelated))
    return cases


def _join_pairs(case: Case, seed: int) -> Case:
    """Return a brain with prompts for which two cards are meant: two own prompts joined."""
    rng = random.Random(f"{case.name} {seed}")
    joined = []
    while len(joined) < _PAIRS:
        first, second = rng.sample(case.own, 2)
        if set(first.cards).isdisjoint(second.cards):
            text = f"{first.text}{rng.choice(_JOINTS)}{second.text}"
            joined.append(Own(text, (*first.cards, *second.cards)))
    return Case(f"{case.name}, two tasks", case.source, joined, [])


def _read_skills(seed: int, step: int) -> Case:
    folder = data_folder() / "skills"
    rows = read_rows(folder / "prompts.jsonl")
    meant = [row for row in rows if row["expected"]]
    hard = [row for row in rows if not row["expected"]]
    chosen = [*random.Random(seed).sample(meant, len(meant) // step), *hard]
    own = [
        Own(row["query"], tuple(f"lessons/{card}.md" for card in row["expected"])) for row in chosen
    ]
    return Case("skills", folder / "brain", own, [])


def _make_six(place: Path, seed: int, unrelated: list[str]) -> Case:
    folder = place / "six"
    write_six(folder, _OTHERS, seed)
    own = [Own(case.plain, (f"lessons/{case.name}.md",)) for case in CASES]
    own += [Own(case.hard, (f"lessons/{case.name}.md",)) for case in CASES]
    return Case("six among 1,000", folder, own, unrelated)


def _ask(case: Case, build: str, checkout: Path, place: Path) -> tuple[list[Answer], int]:
    """Return a build's answers to the prompts of a brain, and how many files the brain has."""
    home = place / f"{case.name}-{build}"
    folder = home / "brain"
    shutil.copytree(case.source, folder, ignore=shutil.ignore_patterns(".lessons"))
    if not (folder / "lessons.toml").exists():
        write_settings(folder)
    environment = {**os.environ, **{name: str(home / name.lower()) for name in _STATE}}
    prompts = [*(one.text for one in case.own), *case.unrelated]
    done = subprocess.run(
        [_find_python(checkout), str(_ASK)],
        input=json.dumps({"folder": str(folder), "prompts": prompts}),
        cwd=checkout,
        env=environment,
        capture_output=True,
        check=False,
        text=True,
        timeout=_SECONDS,
    )
    if done.returncode:
        raise DataError(f"{checkout}: {done.stderr.strip().splitlines()[-1:]}")
    answers = []
    for line in done.stdout.splitlines():
        row = json.loads(line)
        answers.append(Answer(row["given"], row["offered"], row["ranked"]))
    count = sum(1 for _ in folder.rglob("*.md"))
    shutil.rmtree(home, ignore_errors=True)
    return answers, count


def _find_python(checkout: Path) -> str:
    own = checkout / ".venv" / "bin" / "python"
    return str(own) if own.exists() else sys.executable

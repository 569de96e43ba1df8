"""Measures freshness on real histories: the changes of files that a card names, and its time.

For each clone, cards are made about files that existed at three moments of its past, and the
truth about each file is found without git's rename detection: the trees of the main line are
compared commit by commit, and a file that vanishes was moved if a file that appears in the same
commit shares at least 60 % of its lines, or if an equal file of its name is there. Some files are
unclear and counted apart: a file whose best rival shares between 40 and 60 % of its lines; a file
whose rival is at least as much like another file that vanished, as when many copies of a template
are removed and one is written; and a module in whose place a folder of its name appears. The brain
is refreshed at several later commits, as its user's would be.
The cards that the clone itself keeps show how many are silenced or get a note, and how many
``lint`` names because they mention something that is gone.

The first look at the history is measured in turn with git's own log, in a brain of 60 cards and in
one with a card for each sampled file. The brain then gets ten new commits.
"""

from __future__ import annotations

import contextlib
import gc
import random
import re
import shutil
import subprocess
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from statistics import mean, median
from typing import TYPE_CHECKING, NamedTuple

from benchmarks import ours, report
from benchmarks.data import HERE, DataError, git, read_rows
from lessons_kb.brain.brain import Brain
from lessons_kb.freshness.refresh import refresh_standings
from lessons_kb.model import NOTE
from lessons_kb.process.git_history import read_objects

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator, Mapping, Sequence
    from typing import Any

    from lessons_kb.model import Card

_JUDGED = HERE / "judged" / "gone_cards.jsonl"
_MOMENTS = (0.25, 0.5, 0.75)
"""Parts of the main line after which files are sampled."""
_STEPS = (0.8, 0.9, 0.97)
"""Parts of the main line after which the brain is refreshed on the way to the end."""
_SAMPLE, _QUICK_SAMPLE = 120, 30
_FEW_CARDS = 60
"""The cards of a brain of usual size."""
_RUNS, _LARGE_RUNS = 15, 3
"""How often the looks of a brain of usual size, and of a large one, are timed."""
_LEAST_BYTES = 200
"""A smaller file is like too many others."""
_ALIKE, _UNLIKE = 0.6, 0.4
_CODE = (
    *(".py", ".ts", ".tsx", ".js", ".mjs", ".go", ".rs", ".rb", ".java", ".sh", ".toml"),
    *(".yml", ".yaml", ".json", ".css", ".html", ".sql"),
)
GONE, MOVED, PRESENT, UNCLEAR = "gone", "moved", "present", "unclear"


@dataclass(frozen=True, kw_only=True, slots=True)
class Case:
    """A file of the past, and what became of it."""

    day: str
    path: str
    truth: str
    target: str = ""


@dataclass(kw_only=True, slots=True)
class Figures:
    """What was counted in one clone."""

    clone: str
    truths: Counter[str] = field(default_factory=Counter)
    verdicts: Counter[tuple[str, str]] = field(default_factory=Counter)
    """(truth, verdict) → cases; a move to a wrong place is ``wrong``."""
    wrong: list[str] = field(default_factory=list)
    alive: int = 0
    guards: int = 0
    """Guards of files that are still there, and those of them that match the file today."""
    alive_before: int = 0
    real: int = 0
    warned: int = 0
    """Own cards that are silenced or get a note."""
    named: int = 0
    """Own cards that ``lint`` names: all that mention something that is gone."""
    silenced: list[tuple[str, str]] = field(default_factory=list)
    commits: int = 0
    bare_seconds: float = 0.0
    few_seconds: float = 0.0
    """The first look of a brain of 60 cards."""
    first_seconds: float = 0.0
    """The first look of a brain with a card for each sampled file."""
    next_seconds: float = 0.0
    own_seconds: float = 0.0
    """The first look with the cards of the clone, whose symbols are searched in the code."""


def run(options: argparse.Namespace) -> dict[str, Any]:
    """Print the tables; return all figures."""
    if not options.folders:
        raise DataError("name clones with their folders of cards: NAME=CLONE:FOLDER, one each")
    judged = _count_judged()
    rows = []
    for folder in options.folders:
        name, _, place = folder.partition("=")
        clone, _, cards = place.partition(":")
        report.tell(f"{name}: …")
        with tempfile.TemporaryDirectory() as scratch, ours.private_state(Path(scratch)):
            figures = _measure(name, Path(clone), cards, Path(scratch), options)
        rows.append(figures)
    _print(rows)
    _print_judged(judged)
    return {
        "clones": [_describe(figures) for figures in rows],
        "judged": {" ".join(key): dict(counts) for key, counts in judged.items()},
    }


def _count_judged() -> dict[tuple[str, str], Counter[int]]:
    """Return how many of two blind readers call cards about removed files no longer applicable.

    The cards are drafts of fixes of the first half of a history, and rules for files, of which all
    files are gone at its end. The keys are the set and what became of the card.
    """
    judged: dict[tuple[str, str], Counter[int]] = {}
    for row in read_rows(_JUDGED):
        if row["before"] == "silenced":
            key = (f"set {row['set']}", row["now"])
            count = row["verdicts"].count("no longer applicable")
            judged.setdefault(key, Counter())[count] += 1
    return dict(sorted(judged.items()))


def _print_judged(judged: Mapping[tuple[str, str], Counter[int]]) -> None:
    heads = ["cards whose files are gone", "now", "both: no longer applicable", "one", "none"]
    rows = [
        [name, now, *(str(counts[n]) for n in (2, 1, 0))] for (name, now), counts in judged.items()
    ]
    report.print_table("What two blind readers say", heads, rows)


def _measure(
    name: str, clone: Path, cards: str, scratch: Path, options: argparse.Namespace
) -> Figures:
    figures = Figures(clone=name)
    work = scratch / "work"
    _git(scratch, "clone", "-q", "--shared", "--no-checkout", str(clone), "work")
    line = git(work, "rev-list", "--first-parent", "--reverse", "HEAD").split()
    size = _QUICK_SAMPLE if options.quick else _SAMPLE
    cases = _sample(work, line, size, random.Random(options.seed))
    _replay(work, line, cases, figures)
    shutil.rmtree(work)
    _git(scratch, "clone", "-q", "--shared", "--no-checkout", str(clone), "work")
    # Files in large-file storage are not there, so that git reports a failure.
    command = ["git", "-C", str(work), "checkout", "-q", "-f", "HEAD"]
    subprocess.run(command, check=False, capture_output=True)
    _look_at_real_cards(work, cards, figures)
    shutil.rmtree(work)
    _git(scratch, "clone", "-q", "--shared", "--no-checkout", str(clone), "work")
    with contextlib.suppress(_UnreadableError):
        _time(work, cases, figures, runs=1 if options.quick else _RUNS)
    return figures


def _sample(work: Path, line: Sequence[str], size: int, dice: random.Random) -> list[Case]:
    """Return files of the past with their truth; half of them are no longer there, if so many."""
    head = set(git(work, "ls-tree", "-r", "-z", "--name-only", "HEAD").split("\0"))
    steps = list(_read_steps(work))
    places = {step.commit: place for place, step in enumerate(steps)}
    cases = []
    for part in _MOMENTS:
        commit = line[int(part * (len(line) - 1))]
        day = git(work, "log", "-1", "--format=%cs", commit).strip()
        entries = git(work, "ls-tree", "-r", "-z", "-l", commit).split("\0")
        files = dict(_read_entry(entry) for entry in entries if entry)
        names = [name for name, bytes_ in files.items() if _is_code(name, bytes_)]
        absent = [name for name in names if name not in head]
        there = [name for name in names if name in head]
        chosen = dice.sample(absent, min(len(absent), size))
        chosen += dice.sample(there, min(len(there), size))
        for name in chosen:
            truth, target = _find_truth(work, steps, places.get(commit, 0), name, head)
            cases.append(Case(day=day, path=name, truth=truth, target=target))
    return cases


def _read_entry(entry: str) -> tuple[str, int]:
    facts, _, name = entry.partition("\t")
    size = facts.split()[-1]
    return name, int(size) if size.isdigit() else 0


def _is_code(name: str, size: int) -> bool:
    return size >= _LEAST_BYTES and name.endswith(_CODE) and name.isascii() and " " not in name


@dataclass(frozen=True, kw_only=True, slots=True)
class Step:
    """A commit of the main line: path → blob of the files that it adds and removes."""

    commit: str
    added: Mapping[str, str]
    removed: Mapping[str, str]


def _read_steps(work: Path) -> Iterator[Step]:
    form = ("--raw", "--no-renames", "--diff-merges=first-parent", "--no-abbrev", "-z")
    out = git(work, "log", "--first-parent", "--reverse", *form, "--format=%x01%H")
    for part in out.split("\1")[1:]:
        commit, _, rest = part.partition("\0")
        tokens = iter(rest.replace("\n", "").split("\0"))
        added, removed = {}, {}
        for token in tokens:
            if token.startswith(":"):
                _mode, _to, before, after, status = token[1:].split(" ")
                path = next(tokens, "")
                if status == "A":
                    added[path] = after
                elif status == "D":
                    removed[path] = before
        yield Step(commit=commit.strip(), added=added, removed=removed)


def _find_truth(
    work: Path, steps: Sequence[Step], start: int, path: str, head: set[str]
) -> tuple[str, str]:
    """Return what became of a file, by the trees alone, and where it is today."""
    current, is_moved = path, False
    place = start
    while current not in head:
        removals = [n for n in range(place + 1, len(steps)) if current in steps[n].removed]
        if not removals:
            return UNCLEAR, ""
        place = removals[-1] if not is_moved else removals[0]
        step = steps[place]
        rival = _find_rival(work, step, current)
        stem = current.rpartition(".")[0]
        is_split = any(name.startswith(f"{stem}/") for name in step.added)
        if rival is None:
            return UNCLEAR, ""
        if rival.likeness < _UNLIKE:
            return (UNCLEAR if is_split else GONE), ""
        if rival.likeness < _ALIKE or rival.is_contested:
            return UNCLEAR, ""
        current, is_moved = rival.path, True
    return (MOVED, current) if is_moved else (PRESENT, current)


class Rival(NamedTuple):
    """The added file that is most like a removed one."""

    likeness: float
    """From 0 to 1, where 1 means the same content."""
    path: str
    is_contested: bool = False
    """Whether another file that the commit removed is at least as much like it."""


def _find_rival(work: Path, step: Step, path: str) -> Rival | None:
    """Return the added file that is most like a removed one; None if a content is missing."""
    blob = step.removed[path]
    same = [name for name, other in step.added.items() if other == blob]
    if not same:  # a copy was there before
        entries = git(work, "ls-tree", "-r", "-z", step.commit).split("\0")
        pairs = [entry.partition("\t") for entry in entries if blob in entry]
        file_name = path.rpartition("/")[2]
        same = [name for _facts, _, name in pairs if name.rpartition("/")[2] == file_name]
    if same:
        return Rival(1.0, max(sorted(same), key=lambda name: _count_shared_parts(name, path)))
    language = _find_language(path)
    added = {name: b for name, b in step.added.items() if _find_language(name) == language}
    removed = {name: b for name, b in step.removed.items() if _find_language(name) == language}
    texts = _read_texts(work, {*added.values(), *removed.values()})
    if not added:
        return Rival(0.0, "")
    if blob not in texts or any(other not in texts for other in added.values()):
        return None
    likeness = {name: _compare(texts[blob], texts[other]) for name, other in added.items()}
    best = max(likeness, key=lambda name: (likeness[name], name))
    others = [b for name, b in removed.items() if name != path and b in texts]
    target = texts[added[best]]
    is_contested = any(_compare(texts[b], target) >= likeness[best] for b in others)
    return Rival(likeness[best], best, is_contested)


def _count_shared_parts(name: str, path: str) -> tuple[bool, int]:
    """Return whether two paths have the same file name, and how many folders they share."""
    names, parts = name.casefold().split("/"), path.casefold().split("/")
    return names[-1] == parts[-1], len(set(names) & set(parts))


def _find_language(path: str) -> str:
    ending = path.rpartition(".")[2]
    return {"ts": "js", "tsx": "js", "jsx": "js", "mjs": "js", "yaml": "yml"}.get(ending, ending)


def _compare(lines: Counter[str], others: Counter[str]) -> float:
    """Return the share of lines that two files have in common."""
    return 2 * (lines & others).total() / max(lines.total() + others.total(), 1)


_EMPTY_BLOB = "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391"
_LINES: dict[str, Counter[str]] = {}


def _read_texts(work: Path, blobs: set[str]) -> dict[str, Counter[str]]:
    """Return the lines of each blob. Blobs that the clone lacks are left out."""
    unread = sorted(blobs - _LINES.keys())
    contents = read_objects(str(work), [blob.encode() for blob in unread])
    for blob, content in zip(unread, contents, strict=True):
        text = content.decode("utf-8", "replace")
        _LINES[blob] = Counter(line.strip() for line in text.splitlines() if line.strip())
    return {blob: _LINES[blob] for blob in blobs if _LINES[blob] or blob == _EMPTY_BLOB}


def _replay(work: Path, line: Sequence[str], cases: Sequence[Case], figures: Figures) -> None:
    """Write a card for each case, refresh the brain on the way to the end, and count."""
    _write_cards(work, cases)
    for part in (*_STEPS, 1.0):
        _git(work, "update-ref", "--no-deref", "HEAD", line[int(part * (len(line) - 1))])
        with contextlib.closing(Brain(str(work))) as brain:
            brain.refresh()
            refresh_standings(brain)
    with contextlib.closing(Brain(str(work))) as brain:
        cards = {card.id: card for card in brain.read(lambda one: one.catalogue.all_cards())}
        for number, case in enumerate(cases):
            _count(brain, cards[f"lessons/{number:04}.md"], case, figures)


def _write_cards(work: Path, cases: Sequence[Case]) -> None:
    (work / "lessons.toml").write_text("", "utf-8")
    (work / "lessons").mkdir()
    for number, case in enumerate(cases):
        text = (
            f"---\ntype: lesson\ntitle: Case {number}\ncreated: {case.day}\n"
            f"paths: ['{_write_glob(case.path)}']\n---\n## Prevention Checklist\n\n- Look at it\n"
        )
        (work / "lessons" / f"{number:04}.md").write_text(text, "utf-8")


def _write_glob(path: str) -> str:
    """Return a glob that matches a path, in which a folder such as ``[id]`` is escaped."""
    return re.sub(r"([*?{}\[\]])", r"\\\1", path)


def _count(brain: Brain, card: Card, case: Case, figures: Figures) -> None:
    figures.truths[case.truth] += 1
    standing = card.standing
    verdict = GONE if standing.gone else MOVED if standing.moved else PRESENT
    if (
        verdict == MOVED
        and case.truth == MOVED
        and _write_glob(case.target) not in standing.follows
    ):
        verdict = "wrong"
    figures.verdicts[case.truth, verdict] += 1
    if case.truth not in (verdict, UNCLEAR):
        moves = ", ".join(standing.follows)
        figures.wrong.append(f"{case.path}: {case.truth} {case.target}; said {verdict} {moves}")
    if case.truth in (PRESENT, MOVED):
        figures.guards += 1
        figures.alive_before += case.truth == PRESENT
        target = case.target
        guarded = brain.read(lambda one: one.guarding([target]))
        names = {one.id for one in brain.read(lambda one: one.cards(guarded)).values()}
        figures.alive += card.id in names


def _look_at_real_cards(work: Path, cards: str, figures: Figures) -> None:
    """Count the warnings about the cards that the clone keeps."""
    root = work / cards
    (work / "lessons.toml").write_text(f'[folders]\n"{cards}" = "lesson"\n', "utf-8")
    if not root.is_dir():
        raise DataError(f"{root} is no folder of the clone")
    with contextlib.closing(Brain(str(work))) as brain:
        brain.refresh()
        figures.own_seconds = _measure_seconds(lambda: refresh_standings(brain))
        for card in brain.read(lambda one: one.catalogue.all_cards()):
            if card.kind != NOTE and card.id.startswith(f"{cards}/") and card.status == "active":
                figures.real += 1
                figures.named += bool(card.standing.gone)
                figures.warned += bool(card.standing.caveat or card.standing.silenced)
                if card.standing.silenced:
                    figures.silenced.append((card.id, card.standing.silenced))


def _time(work: Path, cases: Sequence[Case], figures: Figures, *, runs: int) -> None:
    """Compare the first look at a history with git's own log, and a look at ten new commits.

    A machine may run single processes at two speeds, so git's log and the look of a small brain
    alternate, and their means are compared.
    """
    line = git(work, "rev-list", "--first-parent", "-n", "11", "HEAD").split()
    figures.commits = int(git(work, "rev-list", "--count", "HEAD"))
    few = random.Random(0).sample(cases, min(len(cases), _FEW_CARDS))
    gc.freeze()  # the objects of this benchmark are none of a real look
    bare, small = [], []
    for _ in range(runs):
        _git(work, "update-ref", "--no-deref", "HEAD", line[0])
        bare.append(_measure_seconds(lambda: _log(work)))
        small.append(_time_looks(work, few, line)[0])
    looks = [_time_looks(work, cases, line) for _ in range(min(runs, _LARGE_RUNS))]
    figures.bare_seconds, figures.few_seconds = mean(bare), mean(small)
    figures.first_seconds = median(first for first, _later in looks)
    figures.next_seconds = median(later for _first, later in looks)


def _time_looks(work: Path, cases: Sequence[Case], line: Sequence[str]) -> tuple[float, float]:
    """Return the seconds of the first look of a new brain, and of a look at ten new commits."""
    _write_cards(work, cases)
    with tempfile.TemporaryDirectory() as cache, ours.private_state(Path(cache)):
        with contextlib.closing(Brain(str(work))) as brain:
            brain.refresh()
            _git(work, "update-ref", "--no-deref", "HEAD", line[-1])
            first = _measure_seconds(lambda: refresh_standings(brain))
            _git(work, "update-ref", "--no-deref", "HEAD", line[0])
            after = _measure_seconds(lambda: refresh_standings(brain))
        shutil.rmtree(work / ".lessons", ignore_errors=True)
    shutil.rmtree(work / "lessons")
    return first, after


def _log(work: Path) -> None:
    """Run git's own log, which fails in a clone whose largest files are left out."""
    command = ["git", "-C", str(work), "log", "--name-status", "-M"]
    done = subprocess.run(
        command, check=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    if done.returncode:
        raise _UnreadableError


class _UnreadableError(Exception):
    """git cannot compare all contents of a history."""


def _measure_seconds(work: Any) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def _git(folder: Path, *words: str) -> None:
    command = ["git", "-C", str(folder), *words]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def _share(part: int, whole: int) -> float:
    return part / whole if whole else 1.0


def _describe(figures: Figures) -> dict[str, Any]:
    values = {
        "clone": figures.clone,
        "truths": dict(figures.truths),
        "real": figures.real,
        "warned": figures.warned,
        "named": figures.named,
        "silenced": figures.silenced,
        "wrong": figures.wrong,
        "guards": figures.guards,
        "alive": figures.alive,
        "alive_before": figures.alive_before,
        "commits": figures.commits,
        "bare_seconds": round(figures.bare_seconds, 3),
        "few_seconds": round(figures.few_seconds, 3),
        "first_seconds": round(figures.first_seconds, 3),
        "next_seconds": round(figures.next_seconds, 3),
        "own_seconds": round(figures.own_seconds, 3),
    }
    for state in (GONE, MOVED):
        right = figures.verdicts[state, state]
        said = sum(
            count for (_truth, verdict), count in figures.verdicts.items() if verdict == state
        )
        unclear = figures.verdicts[UNCLEAR, state]
        said += figures.verdicts["moved", "wrong"] if state == MOVED else 0
        values[f"{state}_precision"] = round(_share(right, said - unclear), 4)
        values[f"{state}_recall"] = round(_share(right, figures.truths[state]), 4)
        values[f"{state}_right"], values[f"{state}_said"] = right, said - unclear
    return values


def _print(rows: Sequence[Figures]) -> None:
    total = Figures(clone="all")
    for row in rows:
        total.truths += row.truths
        total.verdicts += row.verdicts
        for name in ("alive", "guards", "alive_before", "real", "warned", "named", "silenced"):
            setattr(total, name, getattr(total, name) + getattr(row, name))
    table = []
    for row in (*rows, total):
        values = _describe(row)
        counts = [str(row.truths[name]) for name in (PRESENT, MOVED, GONE, UNCLEAR)]
        measures = [
            f"{values[f'{state}_{measure}']:.3f}"
            for state in (GONE, MOVED)
            for measure in ("precision", "recall")
        ]
        table.append([row.clone, *counts, *measures])
    heads = ["clone", "present", "moved", "gone", "unclear"]
    heads += ["gone P", "gone R", "moved P", "moved R"]
    report.print_table("Files that a card names, by what became of them", heads, table)
    table = [
        [
            row.clone,
            str(row.guards),
            f"{_share(row.alive_before, row.guards):.3f}",
            f"{_share(row.alive, row.guards):.3f}",
            str(row.real),
            f"{_share(row.warned, row.real):.3f}" if row.real else "",
            f"{_share(row.named, row.real):.3f}" if row.real else "",
            str(len(row.silenced)),
        ]
        for row in (*rows, total)
    ]
    heads = [
        "clone",
        "guards",
        "alive before",
        "alive",
        "own cards",
        "with a warning",
        "named by lint",
    ]
    heads.append("silenced")
    report.print_table("Guards after the history, and the clone's own cards", heads, table)
    table = [
        [
            row.clone,
            str(row.commits),
            f"{row.bare_seconds:.2f} s",
            f"{row.few_seconds / row.bare_seconds:.2f}",
            f"{row.first_seconds / row.bare_seconds:.2f} ({sum(row.truths.values())})",
            f"{row.next_seconds:.3f} s",
            f"{row.own_seconds:.2f} s",
        ]
        for row in rows
        if row.bare_seconds
    ]
    heads = ["clone", "commits", "git log", f"first look, {_FEW_CARDS} cards"]
    heads += ["first look (cards)", "ten commits later", "own cards"]
    report.print_table("Cost beside a bare `git log --name-status -M`", heads, table)

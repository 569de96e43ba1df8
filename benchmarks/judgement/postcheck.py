"""How often each state of the post-check is right, and how many cases it finds."""

from __future__ import annotations

import json
import time
from collections import Counter
from dataclasses import dataclass, replace
from statistics import median
from typing import TYPE_CHECKING

from benchmarks import report
from benchmarks.data import EXAMPLE, HERE, DataError, read_rows
from lessons_kb.model import CONTRADICTED, DENIED, OPEN, SHOWN, STATES, Card, Edit, Event, Evidence
from lessons_kb.outcome.session_evidence import find_evidence, read_command
from lessons_kb.postcheck.closing_line import read_closings
from lessons_kb.postcheck.item_states import check_items, find_unaddressed_items, read_texts
from lessons_kb.text.paths import find_paths

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable, Sequence
    from typing import Any

CASES = HERE / "labelled" / "postcheck.jsonl"
SPLITS = ("dev", "fresh", "hard", "untouched", "held-out")
BY_STATE = {
    "by state": CASES.with_name("postcheck_cases.jsonl"),
    "by state 2": CASES.with_name("postcheck_cases_2.jsonl"),
    "by state 3": CASES.with_name("postcheck_cases_3.jsonl"),
}
"""Split → its file, of cases whose label is a state; what was done is told in full."""

_WORDS = (300, 1_500, 5_000)
_CARDS = 3
_ITEMS = 4
"""Of one card."""
_ROUNDS, _QUICK_ROUNDS = 30, 5


@dataclass(frozen=True, kw_only=True, slots=True)
class Case:
    """A checklist item, what an agent said and did, and what a reader finds."""

    item: str
    answer: str
    evidence: Evidence
    labels: frozenset[str]
    """The states that are right: where a reader only says whether an item is addressed, SHOWN, or
    every other."""
    split: str
    kind: str = ""
    lang: str = "en"
    reads: tuple[str, ...] = ()
    """Outputs of what was read, if the case has its own."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Counts:
    """How many cases a state is right for, how many are given it, and both."""

    cases: int
    due: int
    given: int
    right: int

    @property
    def precision(self) -> float | None:
        """Return the part of those given the state that are right, None without one."""
        return self.right / self.given if self.given else None

    @property
    def recall(self) -> float | None:
        """Return the part of those the state is right for that are given it, None without one."""
        return self.right / self.due if self.due else None


def run(options: argparse.Namespace) -> dict[str, Any]:
    """Print precision and recall of each state by split, and the time."""
    cases = read_cases()
    reads = read_outputs()
    plain = [judge(case, case.evidence) for case in cases]
    among = [
        judge(case, find_evidence(surround(case, reads), (), complete=case.evidence.complete))
        for case in cases
    ]
    figures: dict[str, Any] = {
        "alone": _count_all(cases, plain),
        "among reads": _count_all(cases, among),
        "different among reads": sum(a != b for a, b in zip(plain, among, strict=True)),
    }
    splits = (*SPLITS, *BY_STATE)
    for what in ("alone", "among reads"):
        rows = [
            [state, *(_shares(figures[what][split][state]) for split in splits)] for state in STATES
        ]
        title = f"Precision / recall (cases given the state), {what}"
        report.print_table(title, ("state", *splits), rows)
    figures["closed"] = closed = _count_closed(cases)
    rows = [[name, *(str(value) for value in row.values())] for name, row in closed.items()]
    report.print_table(
        "Items that the agent closes in a line", ("split", *closed[next(iter(closed))]), rows
    )
    chars = sum(map(len, reads))
    print(f"reads of {chars:,} characters change {figures['different among reads']} verdicts")
    figures = json.loads(json.dumps(figures, default=_plain))
    rounds = _QUICK_ROUNDS if options.quick else _ROUNDS
    times = {words: measure(cases, rounds, words=words) for words in _WORDS}
    figures["milliseconds"] = times
    rows = [[f"{n:,}", *(f"{value:.1f}" for value in times[n].values())] for n in _WORDS]
    title = f"Milliseconds for {_CARDS} cards of {_ITEMS} items"
    report.print_table(title, ("words of the answer", "first", "median"), rows)
    return figures


def _count_closed(cases: Sequence[Case]) -> dict[str, dict[str, Any]]:
    """Count verdicts on the cases by state, were each item closed as its answer has it.

    Done, where a reader finds it shown (with the first file or command of the turn), or finds that
    the answer claims what never happened (with a file that the answer names, if it names one);
    left, where it is denied. Of an open one nobody knows: it is left out.
    """
    table = {}
    for split in BY_STATE:
        found: Counter[tuple[str, bool]] = Counter()
        for case in (one for one in cases if one.split == split and OPEN not in one.labels):
            closing = "done"
            if SHOWN in case.labels:
                places = [edit.path for edit in case.evidence.edits]
                places += [f"`{one.line}`" for one in case.evidence.commands if not one.failed]
                closing = " ".join(["done", *places[:1]])
            elif DENIED in case.labels:
                closing = "left"
            elif CONTRADICTED in case.labels:
                closing = " ".join(["done", *find_paths(case.answer)[:1]])
            answer, card = f"{case.answer}\n\nLessons: L1.1 {closing}", make_card((case.item,))
            closings = read_closings(answer, {1: card.id}, {card.id: card.checklist})
            for item in check_items([card], answer, case.evidence, closings=closings).items:
                found[item.state, item.state in case.labels] += 1
        verdicts = found.total() - found[OPEN, True] - found[OPEN, False]
        table[split] = {"items": found.total(), "with a verdict": verdicts} | {
            f"{state}: right": f"{found[state, True]} of {found[state, True] + found[state, False]}"
            for state in (SHOWN, CONTRADICTED, DENIED)
        }
    return table


def read_cases() -> list[Case]:
    """Read the labelled cases; DataError if they are not there."""
    if not all(file.is_file() for file in (CASES, *BY_STATE.values())):
        raise DataError(f"no labelled cases in {CASES.parent}; run from a checkout of the project")
    cases = list(map(_case, read_rows(CASES)))
    return cases + [_state_case(row, s) for s, path in BY_STATE.items() for row in read_rows(path)]


def _case(row: dict[str, Any]) -> Case:
    labels = {SHOWN} if row["addressed"] else {DENIED, CONTRADICTED, OPEN}
    names = ("item", "answer", "split", "kind", "lang")
    return Case(
        **{name: row[name] for name in names},
        labels=frozenset(labels),
        evidence=read_texts(row["evidence"]),
    )


def _state_case(row: dict[str, Any], split: str) -> Case:
    edits = (Edit(path=e["path"], text=e["text"], before=e["before"]) for e in row["edits"])
    return Case(
        item=row["item"],
        answer=row["answer"],
        evidence=Evidence(
            edits=tuple(edits),
            commands=tuple(map(read_command, row["commands"])),
            complete=True,
        ),
        labels=frozenset({row["label"]}),
        split=split,
        reads=tuple(row["reads"]),
    )


def judge(case: Case, evidence: Evidence) -> str:
    """Return the state that the item is given, alone on a card."""
    items = check_items([make_card((case.item,))], case.answer, evidence).items
    return items[0].state if items else OPEN


def read_outputs() -> list[str]:
    """Return what an agent may have read before it answers: the notes and cards of a brain."""
    return [path.read_text(encoding="utf-8") for path in sorted(EXAMPLE.rglob("*.md"))]


def surround(case: Case, reads: Sequence[str]) -> list[Event]:
    """Return a case's edits and commands as calls, with calls that read around them.

    One of the reads finds the item itself.
    """
    seen = [
        Event(kind="command", id=f"read {number}", text=f"cat {number}", output=output)
        for number, output in enumerate((*reads, *case.reads, f"notes.txt:7: {case.item}\n"))
    ]
    seen += [replace(event, kind="read", id=f"also {event.id}", text="") for event in seen]
    done = [
        Event(kind="edit", id=f"edit {number}", targets=(edit.path,), output=format_patch(edit))
        for number, edit in enumerate(case.evidence.edits)
    ]
    done += [
        Event(kind="command", id=f"run {number}", text=command.line)
        for number, command in enumerate(case.evidence.commands)
    ]
    return [*seen[::2], *done, *seen[1::2]]


def format_patch(edit: Edit) -> str:
    """Return an edit as an agent's hook tells of it."""
    marks = [
        (mark, line)
        for mark, text in (("-", edit.before), ("+", edit.text))
        if text
        for line in text.split("\n")
    ]
    lines = "\n".join(f"{mark}{line}" for mark, line in marks)
    return f"*** Begin Patch\n*** Update File: {edit.path}\n@@\n{lines}\n*** End Patch"


def make_card(items: tuple[str, ...]) -> Card:
    """Return a card with these items."""
    return Card(id="lessons/case.md", kind="lesson", title="case", checklist=items)


def count(pairs: Iterable[tuple[Case, str]], state: str) -> Counts:
    """Count cases, those a state is due to, and those that are given it."""
    found = Counter((state in case.labels, given == state) for case, given in pairs)
    return Counts(
        cases=found.total(),
        due=found[True, True] + found[True, False],
        given=found[True, True] + found[False, True],
        right=found[True, True],
    )


def measure(cases: Sequence[Case], rounds: int, *, words: int) -> dict[str, float]:
    """Return the milliseconds of a first call and the median of later ones."""
    english = [case for case in cases if case.split == "dev" and case.lang == "en"]
    texts = "\n\n".join(dict.fromkeys(case.answer for case in english))
    answer = " ".join((texts.split(" ") * 2)[:words])
    items = list(dict.fromkeys(case.item for case in english))[:: len(english) // 20]
    cards = [make_card(tuple(items[place::_CARDS][:_ITEMS])) for place in range(_CARDS)]
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        find_unaddressed_items(answer, cards)
        times.append(1000 * (time.perf_counter() - start))
    return {"first": times[0], "median": median(times)}


def _count_all(cases: Sequence[Case], given: Sequence[str]) -> dict[str, dict[str, Counts]]:
    """Return the counts by split and state."""
    pairs = list(zip(cases, given, strict=True))
    groups: dict[str, list[tuple[Case, str]]] = {}
    for case, state in pairs:
        groups.setdefault(case.split, []).append((case, state))
    return {split: {state: count(own, state) for state in STATES} for split, own in groups.items()}


def _shares(counts: Counts) -> str:
    precision = "–" if counts.precision is None else f"{counts.precision:.2f}"
    recall = "–" if counts.recall is None else f"{counts.recall:.2f}"
    return f"{precision} / {recall} ({counts.given})"


def _plain(counts: Counts) -> dict[str, Any]:
    return {
        "cases": counts.cases,
        "due": counts.due,
        "given": counts.given,
        "right": counts.right,
        "precision": counts.precision,
        "recall": counts.recall,
    }

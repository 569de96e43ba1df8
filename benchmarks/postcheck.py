"""How often an item that is named was indeed not addressed, and how many of those are found."""

from __future__ import annotations

import json
import time
from collections import Counter
from dataclasses import dataclass, replace
from statistics import median
from typing import TYPE_CHECKING

from benchmarks import report
from benchmarks.data import EXAMPLE, HERE, DataError
from lessons_kb.brain.evidence import find_evidence
from lessons_kb.check.items import find_unaddressed_items
from lessons_kb.model import Card, Event

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable, Sequence
    from typing import Any

CASES = HERE / "labelled" / "postcheck.jsonl"
SPLITS = ("dev", "fresh", "hard", "untouched", "held-out")
ALL = "all"
DENIED, NOT_SHOWN = "denied", "not shown"
NAMED = {DENIED: "the answer denies it: named in agents", NOT_SHOWN: "not shown: `lessons check`"}

_WORDS = (300, 1_500, 5_000)
_CARDS = 3
_ITEMS = 4
"""Of one card."""
_ROUNDS, _QUICK_ROUNDS = 30, 5


@dataclass(frozen=True, kw_only=True, slots=True)
class Case:
    """A checklist item, what an agent said and did, and whether a reader finds it addressed."""

    item: str
    answer: str
    evidence: tuple[str, ...]
    addressed: bool
    lang: str
    kind: str
    split: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Counts:
    """How many cases there are, how many are not addressed, flagged, and both."""

    cases: int
    unaddressed: int
    flagged: int
    right: int

    @property
    def precision(self) -> float | None:
        """Return the part of the flags that are right, None without a flag."""
        return self.right / self.flagged if self.flagged else None

    @property
    def recall(self) -> float | None:
        """Return the part of the unaddressed cases that are flagged, None if there are none."""
        return self.right / self.unaddressed if self.unaddressed else None


def run(options: argparse.Namespace) -> dict[str, Any]:
    """Print precision and recall of what is named, by split, kind and language, and the time."""
    cases = read_cases()
    reads = read_outputs()
    plain = [judge(case, case.evidence) for case in cases]
    among = [judge(case, find_evidence(surround(case, reads), ())) for case in cases]
    figures: dict[str, Any] = {}
    for what, title in NAMED.items():
        figures[what] = _count_all(cases, [what in named for named in plain])
        _print(title, figures[what])
        figures[f"{what}, among reads"] = _count_all(cases, [what in named for named in among])
    chars = sum(map(len, reads))
    rows = [
        [what, *(_shares(groups["split"][split]) for split in (*SPLITS, ALL))]
        for what, groups in figures.items()
    ]
    title = f"Precision / recall, and with reads of {chars:,} characters around each case"
    report.print_table(title, ("named", *SPLITS, ALL), rows)
    figures = json.loads(json.dumps(figures, default=_plain))
    rounds = _QUICK_ROUNDS if options.quick else _ROUNDS
    times = {words: measure(cases, rounds, words=words) for words in _WORDS}
    figures["milliseconds"] = times
    rows = [[f"{n:,}", *(f"{value:.1f}" for value in times[n].values())] for n in _WORDS]
    title = f"Milliseconds for {_CARDS} cards of {_ITEMS} items"
    report.print_table(title, ("words of the answer", "first", "median"), rows)
    return figures


def read_cases() -> list[Case]:
    """Read the labelled cases; DataError if they are not there."""
    if not CASES.is_file():
        raise DataError(f"no labelled cases in {CASES}; run from a checkout of the project")
    with CASES.open(encoding="utf-8") as file:
        rows = [json.loads(line) for line in file]
    return [Case(**row | {"evidence": tuple(row["evidence"])}) for row in rows]


def judge(case: Case, evidence: Sequence[str]) -> set[str]:
    """Return what is said of the item, alone on a card: DENIED, NOT_SHOWN, both or neither."""
    check = find_unaddressed_items(case.answer, [make_card((case.item,))], evidence)
    named = {NOT_SHOWN for _ in check.unaddressed}
    return named | {DENIED for item in check.unaddressed if item.denied}


def read_outputs() -> list[str]:
    """Return what an agent may have read before it answers: the notes and cards of a brain."""
    return [path.read_text(encoding="utf-8") for path in sorted(EXAMPLE.rglob("*.md"))]


def surround(case: Case, reads: Sequence[str]) -> list[Event]:
    """Return a case's edits and commands as calls, with calls that read around them.

    One of the reads finds the item itself.
    """
    seen = [
        Event(kind="command", id=f"read {number}", text=f"cat {number}", output=output)
        for number, output in enumerate((*reads, f"notes.txt:7: {case.item}\n"))
    ]
    seen += [replace(event, kind="read", id=f"also {event.id}", text="") for event in seen]
    done = []
    for number, text in enumerate(case.evidence):
        is_edit = "\n" in text.strip()
        call = Event(kind="edit" if is_edit else "command", id=f"done {number}")
        done.append(replace(call, output=text) if is_edit else replace(call, text=text))
    return [*seen[::2], *done, *seen[1::2]]


def make_card(items: tuple[str, ...]) -> Card:
    """Return a card with these items."""
    return Card(id="lessons/case.md", kind="lesson", title="case", checklist=items)


def count(pairs: Iterable[tuple[Case, bool]]) -> Counts:
    """Count cases and whether they were flagged."""
    found = Counter((not case.addressed, flag) for case, flag in pairs)
    return Counts(
        cases=found.total(),
        unaddressed=found[True, True] + found[True, False],
        flagged=found[True, True] + found[False, True],
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


def _count_all(cases: Sequence[Case], flags: Sequence[bool]) -> dict[str, dict[str, Counts]]:
    """Return the counts by split, kind and language; each with those of all cases."""
    pairs = list(zip(cases, flags, strict=True))
    found: dict[str, dict[str, Counts]] = {}
    for by in ("split", "kind", "lang"):
        groups: dict[str, list[tuple[Case, bool]]] = {}
        for case, flag in pairs:
            groups.setdefault(getattr(case, by), []).append((case, flag))
        found[by] = {name: count(own) for name, own in sorted(groups.items())}
        found[by][ALL] = count(pairs)
    return found


def _print(title: str, groups: dict[str, dict[str, Counts]]) -> None:
    headers = ("cases", "not addressed", "named", "precision", "recall")
    for by, counts in groups.items():
        rows = [_row(name, own) for name, own in counts.items()]
        report.print_table(f"{title}, by {by}", (by, *headers), rows)


def _row(name: str, counts: Counts) -> list[str]:
    numbers = (counts.cases, counts.unaddressed, counts.flagged)
    shares = (counts.precision, counts.recall)
    return [name, *map(str, numbers), *("" if s is None else f"{s:.2f}" for s in shares)]


def _shares(counts: Counts) -> str:
    return f"{counts.precision or 0:.2f} / {counts.recall or 0:.2f}"


def _plain(counts: Counts) -> dict[str, Any]:
    return {
        "cases": counts.cases,
        "unaddressed": counts.unaddressed,
        "flagged": counts.flagged,
        "right": counts.right,
        "precision": counts.precision,
        "recall": counts.recall,
    }

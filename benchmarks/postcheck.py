"""How often a flagged checklist item was indeed not addressed, and how many of those are found."""

from __future__ import annotations

import json
import time
from collections import Counter
from statistics import median
from typing import TYPE_CHECKING

from benchmarks import report
from benchmarks.data import HERE, DataError
from lessons_kb.model import Card
from lessons_kb.recall.postcheck import FLAG_FROM, find_unaddressed_items, rate_items
from lessons_kb.value import Value

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable, Sequence
    from typing import Any

CASES = HERE / "labelled" / "postcheck.jsonl"
SPLITS = ("dev", "fresh", "hard", "untouched", "held-out")
CURVE = (0.5, 0.6, 0.7, 0.75, 0.8, 0.9)
"""Likelihoods from which an item may be flagged."""
ALL = "all"

_WORDS = (300, 1_500, 5_000)
_CARDS = 3
_ITEMS = 4
"""Of one card."""
_ROUNDS, _QUICK_ROUNDS = 30, 5


class Case(Value):
    """A checklist item, what an agent said and did, and whether a reader finds it addressed."""

    item: str
    answer: str
    evidence: tuple[str, ...]
    addressed: bool
    lang: str
    kind: str
    split: str


class Counts(Value):
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
    """Print precision and recall of a flag for each split, kind and language, and its time."""
    cases = read_cases()
    likely = [rate(case) for case in cases]
    flags = [value >= FLAG_FROM for value in likely]
    figures: dict[str, Any] = {"splits": {}, "curve": {}}
    for split in SPLITS:
        own = [(case, flag) for case, flag in zip(cases, flags, strict=True) if case.split == split]
        figures["splits"][split] = {
            by: {name: count(pairs) for name, pairs in _group(own, by).items()}
            for by in ("kind", "lang")
        }
        for by, groups in figures["splits"][split].items():
            rows = [_row(name, counts) for name, counts in groups.items()]
            headers = (by, "cases", "not addressed", "flagged", "precision", "recall")
            report.print_table(f"Flags on the {split} cases by {by}", headers, rows)
    for threshold in CURVE:
        pairs = [(case, value >= threshold) for case, value in zip(cases, likely, strict=True)]
        figures["curve"][threshold] = {
            split: count(pair for pair in pairs if pair[0].split == split) for split in SPLITS
        }
    report.print_table(
        f"Precision and recall by likelihood (flags from {FLAG_FROM})",
        ("from", *SPLITS),
        [[str(at), *map(_shares, own.values())] for at, own in figures["curve"].items()],
    )
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


def rate(case: Case) -> float:
    """Return how likely the item is not addressed, alone on a card; 0 if it cannot be looked for."""
    rated = rate_items(case.answer, [make_card((case.item,))], case.evidence)
    return rated[0][3] if rated else 0.0


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


def _group(pairs: Sequence[tuple[Case, bool]], by: str) -> dict[str, list[tuple[Case, bool]]]:
    groups: dict[str, list[tuple[Case, bool]]] = {}
    for case, flag in pairs:
        groups.setdefault(getattr(case, by), []).append((case, flag))
    return dict(sorted(groups.items())) | {ALL: list(pairs)}


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

"""Near-duplicates: are two texts the same, who is proposed, and what is merged unattended."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING

from benchmarks import report
from benchmarks.data import DataError, data_folder, read_rows
from lessons_kb.collection.near_duplicates import PROPOSED, SAME, Duplicates, compare, similarity
from lessons_kb.model import Card

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Sequence
    from typing import Any

PAIRS = ("ko_question", "klue_sts")
PRECISION = 0.98
"""Required on any set before anything is merged without a user."""

_SERVICES = "billing auth search cart export import mailer report invoice refund session upload"
_FAULTS = (
    "retries without a key",
    "times out under load",
    "drops the last row",
    "logs the password",
    "ignores the locale",
    "caches a stale price",
    "reads past the end",
    "skips the migration",
)
_TIMES = (
    "on Mondays",
    "after a deploy",
    "when the queue is full",
    "with an empty cart",
    "for admin users",
    "in the nightly job",
    "behind the proxy",
    "on Windows",
    "during failover",
    "in parallel",
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Pair:
    """Two texts and whether people say they mean the same."""

    one: str
    other: str
    same: bool


def run(options: argparse.Namespace) -> dict[str, Any]:
    """Print how pairs are told apart and how many of 1,000 templated lessons survive."""
    figures: dict[str, Any] = {"pairs": {name: measure_pairs(read_pairs(name)) for name in PAIRS}}
    rows = [_row(name, figures["pairs"][name]) for name in PAIRS]
    report.print_table(
        f"Near-duplicates (proposed from {PROPOSED}; merged unattended: the same wording)",
        ("pairs", "AUC", "bigrams", "proposed", "precision", "recall", "merged", "precision"),
        rows,
    )
    figures["templated"] = measure_templated(make_templated()[: 200 if options.quick else None])
    levels = figures["templated"]
    names = [name for name in ("cards", "merged", "near", "related") if name in levels]
    report.print_table(
        "Distinct templated lessons, each held against all before it",
        names,
        [[str(levels[name]) for name in names]],
    )
    return figures


def read_pairs(name: str) -> list[Pair]:
    """Read labelled pairs; DataError if they are not there."""
    path = data_folder() / "pairs" / f"{name}.jsonl"
    if not path.is_file():
        raise DataError(f"no pairs in {path}; set LESSONS_BENCH_DATA to a folder that holds pairs/")
    rows = read_rows(path)
    return [Pair(one=row["a"], other=row["b"], same=bool(row["same"])) for row in rows]


def measure_pairs(pairs: Sequence[Pair]) -> dict[str, float]:
    """Return area under ROC, and how many pairs are proposed and merged, how many rightly."""
    found = [compare(pair.one, _card(pair.other)) for pair in pairs]
    proposed = [pair.same for pair, one in zip(pairs, found, strict=True) if one]
    merged = [p.same for p, one in zip(pairs, found, strict=True) if one and one.level == SAME]
    return {
        "auc": compute_auc(pairs, similarity),
        "bigrams_auc": compute_auc(pairs, _bigrams_alike),
        "same": sum(pair.same for pair in pairs),
        "proposed": len(proposed),
        "proposed_rightly": sum(proposed),
        "merged": len(merged),
        "merged_rightly": sum(merged),
    }


def compute_auc(pairs: Sequence[Pair], score: Callable[[str, str], float]) -> float:
    """Return the chance that a same pair scores above a different one, a tie counting half."""
    same = [score(pair.one, pair.other) for pair in pairs if pair.same]
    different = [score(pair.one, pair.other) for pair in pairs if not pair.same]
    won = sum((a > b) + (a == b) / 2 for a in same for b in different)
    return won / (len(same) * len(different))


def make_templated() -> list[str]:
    """Return 1,000 titles that fill a few forms with different things."""
    filled = product(_SERVICES.split(), _FAULTS, _TIMES)
    titles = [f"The {service} service {fault} {when}" for service, fault, when in filled]
    titles += [
        f"Step {n} of the pipeline must check its input before step {n + 1}" for n in range(40)
    ]
    return titles


def measure_templated(titles: Sequence[str]) -> dict[str, int]:
    """Return what would become of each title, written after all those before it."""
    cards = [_card(title, number) for number, title in enumerate(titles)]
    levels: Counter[str] = Counter()
    for number, title in enumerate(titles):
        found = Duplicates(cards[:number]).find(title)
        levels[found[0].level if found else "none"] += 1
    merged = levels.pop(SAME, 0)
    return {"lessons": len(titles), "cards": len(titles) - merged, "merged": merged, **levels}


def _row(name: str, found: dict[str, float]) -> list[str]:
    def share(part: float, whole: float) -> str:
        return f"{part / whole:.3f}" if whole else "–"

    return [
        name,
        f"{found['auc']:.3f}",
        f"{found['bigrams_auc']:.3f}",
        f"{found['proposed']:.0f}",
        share(found["proposed_rightly"], found["proposed"]),
        share(found["proposed_rightly"], found["same"]),
        f"{found['merged']:.0f}",
        share(found["merged_rightly"], found["merged"]),
    ]


def _card(title: str, number: int = 0) -> Card:
    return Card(id=f"lessons/{number}.md", kind="lesson", title=title, checklist=(title,))


def _bigrams_alike(one: str, other: str) -> float:
    first, second = (
        Counter(text[i : i + 2] for i in range(len(text) - 1)) for text in (one, other)
    )
    both = first.total() + second.total()
    return 2 * (first & second).total() / both if both else 0.0

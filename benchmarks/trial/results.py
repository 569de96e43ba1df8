"""Prints the trial's results from ``results.jsonl``, without a model."""

from __future__ import annotations

from typing import TYPE_CHECKING

from benchmarks.data import write_rows
from benchmarks.trial.material import CONVENTION, HERE, PLAIN, TRAP, find_kind
from lessons_kb.ledger.statistics import compare
from lessons_kb.store.journal import WITHOUT, read_rows
from lessons_kb.trial.runs import RIGHT, Result
from lessons_kb.trial.summary import compare_arms, say

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence
    from pathlib import Path
    from typing import Any

_GROUPS = {
    "all tasks": (CONVENTION, PLAIN, TRAP),
    "a card says what cannot be guessed": (CONVENTION,),
    "no card is of use": (PLAIN,),
    "a card looks alike and is wrong": (TRAP,),
}


def read_results(folder: Path) -> list[dict[str, Any]]:
    """Return the rows that are kept in a folder."""
    return [row for _number, row in read_rows(str(folder))]


def write_results(folder: Path, rows: Sequence[dict[str, Any]]) -> None:
    """Keep rows, ordered by task, arm and run."""
    rows = sorted(rows, key=lambda row: (row["task"], row["arm"], row["run"]))
    write_rows(folder / "results.jsonl", rows)


def run(_options: argparse.Namespace) -> dict[str, Any]:
    """Print and return what the kept results say."""
    lines, figures = describe(read_results(HERE))
    print("\n".join(lines))
    return figures


def describe(rows: Sequence[dict[str, Any]]) -> tuple[list[str], dict[str, Any]]:
    """Return a table of tasks and the comparisons with the arm without lessons."""
    results = [
        Result(task=row["task"], arm=row["arm"], run=row["run"], outcome=row["outcome"])
        for row in rows
    ]
    arms = [WITHOUT, *sorted({one.arm for one in results} - {WITHOUT})]
    right: dict[str, dict[str, list[bool]]] = {}
    for one in results:
        right.setdefault(one.task, {}).setdefault(one.arm, []).append(one.outcome == RIGHT)
    lines = ["| task | " + " | ".join(arms) + " |", "|---|" + "---:|" * len(arms)]
    for task in sorted(right, key=lambda name: (find_kind(name), name)):
        shares = (right[task].get(arm, []) for arm in arms)
        cells = (f"{sum(one)}/{len(one)}" if one else "–" for one in shares)
        lines.append(f"| {task} | " + " | ".join(cells) + " |")
    unguessed = {
        task for task, got in right.items() if find_kind(task) == CONVENTION and not any(got.get(WITHOUT, ()))
    }  # fmt: skip
    groups = {
        name: [one for one in results if find_kind(one.task) in kinds]
        for name, kinds in _GROUPS.items()
    }
    groups["of those, never right without"] = [one for one in results if one.task in unguessed]
    figures: dict[str, Any] = {"tasks": len(right), "runs": len(results), "groups": {}}
    for name, of in groups.items():
        lines += ["", f"{name}:"]
        for arm in arms[1:]:
            compared = compare_arms(of, arm)
            lines.append(f"  {arm}: {say(compared, arm)}")
            figures["groups"].setdefault(name, {})[arm] = {
                key: getattr(compared, key)
                for key in ("repaired", "broken", "both_right", "both_wrong", "interval", "p")
            }
    twice = [got[WITHOUT] for got in right.values() if len(got.get(WITHOUT, ())) == 2]
    chance = compare((one[0], one[1]) for one in twice)
    changed = f"{chance.repaired} right and {chance.broken} wrong by chance, of {chance.pairs}"
    lines += ["", f"without lessons, the second run against the first: {changed}"]
    figures["chance"] = {"repaired": chance.repaired, "broken": chance.broken}
    return lines, figures

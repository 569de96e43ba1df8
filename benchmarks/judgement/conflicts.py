"""Measures the detector of contradictions on labelled pairs of cards.

The pairs are from blind authors. A hash parts them into two halves: one may be looked at while the
detector is written, and of the other only the counts are known.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from benchmarks import report
from lessons_kb.cards.conflicts import find_conflict
from lessons_kb.model import Card

if TYPE_CHECKING:
    import argparse
    from typing import Any

_PAIRS = Path(__file__).parents[1] / "labelled" / "conflict_pairs.jsonl"
LOOKED_AT, HELD_OUT = "looked at", "held out"


class Outcome(NamedTuple):
    """Whether two cards contradict each other, and whether the detector says so."""

    is_conflict: bool
    is_reported: bool


def run(options: argparse.Namespace) -> dict[str, Any]:
    """Print a row for each half of the pairs; return the counts."""
    del options
    outcomes: dict[str, Counter[Outcome]] = {LOOKED_AT: Counter(), HELD_OUT: Counter()}
    for line in _PAIRS.read_text("utf-8").splitlines():
        pair = json.loads(line)
        first, second = _make_card(pair["first"], "first"), _make_card(pair["second"], "second")
        is_reported = find_conflict(first, second) is not None
        outcomes[_find_half(pair)][Outcome(pair["contradict"], is_reported)] += 1
    rows = []
    figures: dict[str, Any] = {}
    for half, counts in outcomes.items():
        right, false = counts[Outcome(True, True)], counts[Outcome(False, True)]
        missed = counts[Outcome(True, False)]
        precision, recall = right / max(1, right + false), right / max(1, right + missed)
        rows.append([half, str(counts.total()), f"{precision:.2f}", f"{recall:.2f}", str(false)])
        figures[half] = {"right": right, "missed": missed, "false": false}
    heads = ["half", "pairs", "precision", "recall", "false"]
    report.print_table("Contradictions between two cards", heads, rows)
    return figures


def _make_card(text: dict[str, Any], name: str) -> Card:
    return Card(id=name, kind="lesson", title=text["title"], checklist=tuple(text["checklist"]))


def _find_half(pair: dict[str, Any]) -> str:
    text = json.dumps([pair["first"], pair["second"]], sort_keys=True)
    is_even = hashlib.sha256(text.encode()).digest()[0] % 2 == 0
    return LOOKED_AT if is_even else HELD_OUT

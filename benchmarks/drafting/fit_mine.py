"""Fit the weights of `lessons_kb/mining/rank_commits.py` on labelled commits.

``judged/mine_fit.jsonl`` has commits of five repositories, drawn by chance from those whose subject
names a repair (three of four) and from the others, and labelled before the fit: does the commit
correct a mistake that is worth a card?
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import numpy as np

from benchmarks import report
from benchmarks.data import HERE
from lessons_kb.mining.commit_facts import choose, read_facts
from lessons_kb.mining.rank_commits import BASE, WEIGHTS, Signals, rank_commits
from lessons_kb.process.git import list_commits, read_patches

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

LABELS = HERE / "judged" / "mine_fit.jsonl"
PENALTY = 1.0
"""Of the squared weights, against a fit to chance."""
STEPS = 100


def fit(clones: Sequence[str]) -> dict[str, Any]:
    """Print, and return, the fitted weight of each signal beside the one in use."""
    rows = map(json.loads, LABELS.read_text(encoding="utf-8").splitlines())
    labels = {row["commit"]: float(row["mistake"]) for row in rows}
    signals: list[Signals] = []
    mistakes: list[float] = []
    for clone in clones:
        patches = read_patches(clone, list_commits(clone))
        history = choose(read_facts(p.id, p.at, p.message, p.patch) for p in patches)
        for commit in rank_commits(history):
            label = labels.get(commit.facts.id)
            if label is not None:
                signals.append(commit.signals)
                mistakes.append(label)
    values = np.column_stack([np.array(signals), np.ones(len(signals))])
    fitted = _fit_logistic(values, np.array(mistakes))
    names = [*Signals._fields, "base"]
    in_use = [*(WEIGHTS[name].value for name in Signals._fields), BASE]
    table = [
        [name, f"{weight:+.2f}", f"{used:+.1f}"]
        for name, weight, used in zip(names, fitted, in_use, strict=True)
    ]
    title = f"{len(signals)} labelled commits, {sum(mistakes):.0f} mistakes"
    report.print_table(title, ("signal", "fitted", "in use"), table)
    return dict(zip(names, map(float, fitted), strict=True))


def _fit_logistic(values: np.ndarray, truths: np.ndarray) -> np.ndarray:
    """Return the weights of a logistic regression, by Newton's method. The last is the constant."""
    weights = np.zeros(values.shape[1])
    penalty = np.full(values.shape[1], PENALTY)
    penalty[-1] = 1e-6
    for _ in range(STEPS):
        odds = 1 / (1 + np.exp(-values @ weights))
        slope = values.T @ (truths - odds) - penalty * weights
        curve = (values.T * (odds * (1 - odds))) @ values + np.diag(penalty)
        weights += np.linalg.solve(curve, slope)
    return weights

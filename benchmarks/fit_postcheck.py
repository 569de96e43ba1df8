"""The weights of the post-check's regression, fitted on cases of several authors.

``python -m benchmarks.fit_postcheck`` prints them, and the precision and recall on each split by
weights that were fitted on the others, which have other authors. Dev cases count less: the table
of equivalents was made on them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from benchmarks import report
from benchmarks.postcheck import CURVE, count, make_card, read_cases
from lessons_kb.recall.postcheck import WEIGHTS, describe, is_wide_text, rate_items

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from benchmarks.postcheck import Case

    Floats = NDArray[np.float64]

WEIGHT_OF = {"dev": 0.5, "fresh": 1.0, "hard": 1.0}
PENALTY = 5.0
"""Of the squares of the standardised weights."""
_STEPS = 50


def main() -> None:
    """Fit, and print weights and figures."""
    import numpy as np

    read = [(case, _features(case)) for case in read_cases() if case.split in WEIGHT_OF]
    cases = [case for case, features in read if features]
    rows = np.array([features for _, features in read if features])
    mean, spread = rows.mean(0), rows.std(0)
    scaled = (rows - mean) / spread
    wanted = np.array([not case.addressed for case in cases], dtype=float)
    weights = np.array([WEIGHT_OF[case.split] for case in cases])
    found = _fit(scaled, wanted, weights)
    table = [
        [name, f"{value:.2f}"] for name, value in zip(WEIGHTS, found[1:] / spread, strict=True)
    ]
    intercept = found[0] - (found[1:] * mean / spread).sum()
    report.print_table("Weights", ("", ""), [["intercept", f"{intercept:.2f}"], *table])

    split_of = np.array([case.split for case in cases])
    for split in WEIGHT_OF:
        own = split_of == split
        part = _fit(scaled[~own], wanted[~own], weights[~own])
        likely = 1 / (1 + np.exp(-part[0] - scaled[own] @ part[1:]))
        pairs = list(zip((c for c in cases if c.split == split), likely, strict=True))
        shown = []
        for threshold in CURVE:
            counts = count((case, bool(value >= threshold)) for case, value in pairs)
            shares = (counts.precision or 0.0, counts.recall or 0.0)
            shown.append([f"{threshold:.2f}", *(f"{share:.2f}" for share in shares)])
        title = f"The {split} cases by what was learnt from the others"
        report.print_table(title, ("from", "precision", "recall"), shown)


def _features(case: Case) -> list[float]:
    for _, _, shown, _ in rate_items(case.answer, [make_card((case.item,))], case.evidence):
        said, wide = len(case.answer.split()), is_wide_text(case.answer)
        return list(describe(shown, said=said, wide=wide).values())
    return []


def _fit(rows: Floats, wanted: Floats, weights: Floats) -> Floats:
    """Return intercept and weights of a logistic regression, by Newton's method."""
    import numpy as np

    rows = np.c_[np.ones(len(rows)), rows]
    found = np.zeros(rows.shape[1])
    penalty = np.r_[0.0, np.full(len(found) - 1, PENALTY)]
    for _ in range(_STEPS):
        likely = 1 / (1 + np.exp(-rows @ found))
        slope = rows.T @ (weights * (likely - wanted)) + penalty * found
        bend = (rows.T * (weights * likely * (1 - likely))) @ rows + np.diag(penalty)
        found -= np.linalg.solve(bend, slope)
    return found


if __name__ == "__main__":
    main()

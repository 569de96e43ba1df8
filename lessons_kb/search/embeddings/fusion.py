"""Words and meaning together: one score, one verdict. Pure functions.

The form and the constants were chosen on lint_js, lint_js_code, bugs and bugs_long with MiniLM and
confirmed on cwe, plate_cite and plate_cite_long, which had no say. Rank fusion (RRF) gained half
as much: it forgets by how much the first is ahead.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from math import exp, log, sqrt

from lessons_kb.config import Gate
from lessons_kb.model import Hit
from lessons_kb.search.engine_protocol import K1

NEAREST = 32
"""Cards that are looked at for their meaning alone."""
FARTHEST = 0.3
"""Least cosine for that: a distance of 0.7."""
NEAR_DUPLICATE = 0.7
"""Cosine from which two cards may be one lesson: a distance of 0.3."""

_WEIGHT = 1.0
"""Of one whole unit of cosine, in units of a good BM25 score for this query."""
_LEAST = 0.25
"""A best BM25 score below this part of the possible one is no measure of a good one."""
# Log odds = WORDS logit(confidence by words) + MEANING cosine + BIAS
_WORDS = 0.25
_MEANING = 5.2
_BIAS = -1.9
_FLOOR = 0.02
"""Least confidence by words: that a card shares no word with the prompt tells little."""


def compute_most(terms: Mapping[str, float], frequencies: Mapping[str, int], size: int) -> float:
    """Return the BM25 score of a card that answers the query in full, again and again."""
    return (K1 + 1) * sum(
        weight * log(1 + (max(size - n, 0) + 0.5) / (n + 0.5))
        for term, weight in terms.items()
        for n in (frequencies.get(term, 0),)
    )


def widen(
    scores: Mapping[int, float], above: Mapping[int, float], *, most: float
) -> dict[int, float]:
    """Return number → what likeness in meaning adds to its BM25 score, where that is anything.

    ``scores`` are the candidates by words, ``above`` is by how much cosines lie above the mean of
    the brain, ``most`` is `compute_most`.
    """
    top = max(scores.values(), default=0.0)
    unit = sqrt(max(top, _LEAST * most) * most) or 1.0
    return {n: _WEIGHT * unit * near for n, near in above.items() if near > 0}


def judge_meaning(
    hits: Iterable[Hit], cosines: Mapping[str, float | None], gate: Gate
) -> list[Hit]:
    """Return the hits with the verdict of the gate on words and meaning together.

    ``cosines`` is card id → cosine to the query; a card without one keeps the verdict on words,
    and so does one that guards a file at hand.
    """
    judged = []
    for hit in hits:
        cosine = cosines.get(hit.card.id)
        if cosine is None or any(name == "path" for name, _ in hit.factors):
            judged.append(hit)
            continue
        words = min(max(hit.confidence, _FLOOR), 1 - _FLOOR)
        odds = _WORDS * log(words / (1 - words)) + _MEANING * cosine + _BIAS
        confidence = round(1 / (1 + exp(-odds)), 4)
        passed = confidence >= gate.min_confidence
        judged.append(
            replace(
                hit,
                confidence=confidence,
                passed=passed,
                reason=_reason(hit, cosine, passed=passed),
            )
        )
    return judged


def _reason(hit: Hit, cosine: float, *, passed: bool) -> str:
    words = hit.reason.removeprefix("suppressed: ")
    meaning = f"{'near' if passed else 'not near enough'} in meaning ({cosine:.2f})"
    return f"{'' if passed else 'suppressed: '}{meaning}; {words}"

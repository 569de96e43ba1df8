"""The thresholds of one brain, derived from unrelated prompts to coding agents.

The gate's confidence ranks cards, but the rate at which unrelated prompts reach a given confidence
differs up to tenfold between brains. It depends on their size, on their subject, and on the engine
(lexical, or lexical and semantic).
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import lru_cache

from lessons_kb.config import DEFAULTS, Gate
from lessons_kb.model import as_data
from lessons_kb.relevance.gate_weights import THRESHOLDS
from lessons_kb.values import frozen


@frozen
class Thresholds:
    """The lowest confidences at which a lesson is given and a title is offered."""

    lesson: float = DEFAULTS.gate.min_confidence
    title: float = DEFAULTS.gate.offer_confidence
    basis: str = ""
    """The basis of the figures, which is the build, the engine and the rough number of cards, or ""
    for the defaults.
    """


@frozen
class BrainThresholds:
    """The thresholds of a brain for its two engines, whose confidences have different scales."""

    words: Thresholds = Thresholds()
    meaning: Thresholds = Thresholds(title=THRESHOLDS.title_by_meaning)
    """The thresholds that apply if similarity in meaning is used in addition to the words."""


def find_thresholds(best: Sequence[float], basis: str) -> Thresholds:
    """Return the thresholds of a brain. ``best`` contains the best confidence for each prompt."""
    ordered = sorted(best)
    lesson = _get_quantile(ordered, 1 - THRESHOLDS.lessons)
    title = _get_quantile(ordered, 1 - THRESHOLDS.titles)
    lesson = min(max(lesson, THRESHOLDS.least_lesson), THRESHOLDS.most_lesson)
    title = min(max(title, THRESHOLDS.least_title), lesson)
    return Thresholds(lesson=round(lesson, 4), title=round(title, 4), basis=basis)


def format_thresholds(thresholds: BrainThresholds) -> str:
    """Return thresholds as a text, which `parse_thresholds` reads."""
    return json.dumps(as_data(thresholds))


@lru_cache(maxsize=64)
def parse_thresholds(text: str) -> BrainThresholds:
    """Return the thresholds in a text, or the defaults if the text is empty or invalid."""
    try:
        data = json.loads(text) if text else {}
        return BrainThresholds(**{engine: Thresholds(**row) for engine, row in data.items()})
    except (AttributeError, TypeError, ValueError):
        return BrainThresholds()


def apply_thresholds(gate: Gate, thresholds: Thresholds) -> Gate:
    """Return the gate's settings, with a brain's thresholds in place of thresholds that the user
    did not set.
    """
    lesson, title = gate.min_confidence, gate.offer_confidence
    if lesson == DEFAULTS.gate.min_confidence:
        lesson = thresholds.lesson
    if title == DEFAULTS.gate.offer_confidence:
        title = thresholds.title
    return Gate(min_confidence=lesson, offer_confidence=title)


def _get_quantile(ordered: Sequence[float], share: float) -> float:
    if not ordered:
        return 0.0
    return ordered[min(int(len(ordered) * share), len(ordered) - 1)]

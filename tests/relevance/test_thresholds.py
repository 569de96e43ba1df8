"""The thresholds of a brain."""

import pytest

from lessons_kb.config import Gate
from lessons_kb.relevance.gate_weights import THRESHOLDS
from lessons_kb.relevance.thresholds import (
    BrainThresholds,
    Thresholds,
    apply_thresholds,
    find_thresholds,
    format_thresholds,
    parse_thresholds,
)


def test_the_shares_of_prompts_above_a_threshold_are_those_of_the_rules():
    best = [number / 1_000 for number in range(1_000)]
    found = find_thresholds(best, "b")
    above = [sum(one >= found.lesson for one in best), sum(one >= found.title for one in best)]
    assert above == [1_000 * THRESHOLDS.lessons, 1_000 * THRESHOLDS.titles]
    assert found.basis == "b"


@pytest.mark.parametrize(("confidence", "lesson", "title"), [
    (0.0, THRESHOLDS.least_lesson, THRESHOLDS.least_title),
    (1.0, THRESHOLDS.most_lesson, THRESHOLDS.most_lesson),
    (0.2, THRESHOLDS.least_lesson, 0.2),
])  # fmt: skip
def test_they_stay_within_bounds(confidence, lesson, title):
    found = find_thresholds([confidence] * 100, "")
    assert (found.lesson, found.title) == (lesson, title)


def test_what_the_user_set_stays():
    found = Thresholds(lesson=0.7, title=0.3, basis="b")
    assert apply_thresholds(Gate(), found) == Gate(min_confidence=0.7, offer_confidence=0.3)
    own = Gate(min_confidence=0.9, offer_confidence=0.2)
    assert apply_thresholds(own, found) == own
    assert apply_thresholds(Gate(), Thresholds()) == Gate()


def test_both_engines_have_their_own_and_a_text_of_another_build_gives_the_defaults():
    both = BrainThresholds(
        words=Thresholds(lesson=0.6, title=0.1, basis="w"),
        meaning=Thresholds(lesson=0.7, title=0.3, basis="m"),
    )
    assert parse_thresholds(format_thresholds(both)) == both
    for text in ("", "[]", "7", '{"lesson": 0.6, "title": 0.1, "basis": "w"}', '{"words": 1}'):
        assert parse_thresholds(text) == BrainThresholds()

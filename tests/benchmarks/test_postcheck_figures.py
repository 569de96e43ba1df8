"""What the labelled post-check cases hold, and how flags on them are counted."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest

from benchmarks.postcheck import (
    DENIED,
    SPLITS,
    count,
    judge,
    read_cases,
    read_outputs,
    surround,
)
from lessons_kb.brain.evidence import find_evidence

LEAST = {
    "dev": (400, 80, 9),
    "fresh": (150, 25, 9),
    "hard": (250, 20, 8),
    "untouched": (150, 10, 6),
    "held-out": (400, 80, 9),
}
"""Cases in all and in Korean, and kinds of cases."""


def test_counts_of_flags():
    case = read_cases()[0]
    addressed, not_addressed = (replace(case, addressed=value) for value in (True, False))
    pairs = [(addressed, True), (addressed, False), (not_addressed, True)]
    counts = count([*pairs, (not_addressed, False), (not_addressed, True)])
    assert (counts.cases, counts.unaddressed, counts.flagged, counts.right) == (5, 3, 3, 2)
    assert counts.precision == pytest.approx(2 / 3)
    assert counts.recall == pytest.approx(2 / 3)


def test_no_flag_has_no_precision():
    assert (count([]).precision, count([]).recall) == (None, None)


def test_no_answer_that_is_held_out_stands_elsewhere():
    answers = {split: {c.answer for c in read_cases() if c.split == split} for split in SPLITS}
    long = {split: {text for text in own if len(text) > 40} for split, own in answers.items()}
    tuned_on = long["dev"] | long["fresh"] | long["hard"]
    assert not tuned_on & (long["held-out"] | long["untouched"])


@pytest.mark.parametrize("split", SPLITS)
def test_each_split_is_large_and_mixed(split):
    least, korean, kinds = LEAST[split]
    own = [case for case in read_cases() if case.split == split]
    assert len(own) >= least
    assert 0.4 < sum(case.addressed for case in own) / len(own) < 0.6
    assert len({case.kind for case in own}) >= kinds
    assert Counter(case.lang for case in own)["ko"] >= korean


def test_reads_around_the_cases_move_nothing():
    reads = read_outputs()
    assert sum(map(len, reads)) > 20_000
    for case in read_cases()[::5]:
        around = find_evidence(surround(case, reads), ())
        assert judge(case, around) == judge(case, case.evidence), case.item


@pytest.mark.parametrize(("split", "precision"), [("held-out", 0.8), (None, 0.9)])
def test_what_is_named_is_rarely_wrong(split, precision):
    """Floors below what is reached: only what the answer itself denies is named."""
    cases = [case for case in read_cases() if split in (case.split, None)]
    counts = count((case, DENIED in judge(case, case.evidence)) for case in cases)
    assert counts.flagged > 10
    assert counts.precision >= precision

"""What the labelled post-check cases hold, and how flags on them are counted."""

from collections import Counter
from dataclasses import replace

import pytest

from benchmarks.judgement.postcheck import (
    BY_STATE,
    SPLITS,
    count,
    judge,
    read_cases,
    read_outputs,
    surround,
)
from lessons_kb.model import CONTRADICTED, DENIED, OPEN, SHOWN, STATES
from lessons_kb.outcome.session_evidence import find_evidence

LEAST = {
    "dev": (400, 80, 9),
    "fresh": (150, 25, 9),
    "hard": (250, 20, 8),
    "untouched": (150, 10, 6),
    "held-out": (400, 80, 9),
}
"""Cases in all and in Korean, and kinds of cases."""


def test_counts_of_states():
    case = read_cases()[0]
    shown, not_shown = (
        replace(case, labels=frozenset(labels))
        for labels in ({SHOWN}, {DENIED, CONTRADICTED, OPEN})
    )
    pairs = [(shown, DENIED), (not_shown, DENIED), (shown, SHOWN), (not_shown, OPEN)]
    counts = count([*pairs, (not_shown, DENIED)], DENIED)
    assert (counts.cases, counts.due, counts.given, counts.right) == (5, 3, 3, 2)
    assert counts.precision == pytest.approx(2 / 3)
    assert counts.recall == pytest.approx(2 / 3)
    assert (count([], SHOWN).precision, count([], SHOWN).recall) == (None, None)


@pytest.mark.slow
def test_no_answer_that_is_held_out_stands_elsewhere():
    answers = {split: {c.answer for c in read_cases() if c.split == split} for split in SPLITS}
    long = {split: {text for text in own if len(text) > 40} for split, own in answers.items()}
    tuned_on = long["dev"] | long["fresh"] | long["hard"]
    assert not tuned_on & (long["held-out"] | long["untouched"])


@pytest.mark.slow
@pytest.mark.parametrize("split", SPLITS)
def test_each_split_is_large_and_mixed(split):
    least, korean, kinds = LEAST[split]
    own = [case for case in read_cases() if case.split == split]
    assert len(own) >= least
    assert 0.4 < sum(SHOWN in case.labels for case in own) / len(own) < 0.6
    assert len({case.kind for case in own}) >= kinds
    assert Counter(case.lang for case in own)["ko"] >= korean


@pytest.mark.parametrize(("split", "labels"), [
    ("by state", (60, 35, 25, 30)),
    ("by state 2", (35, 50, 30, 35)),
    ("by state 3", (30, 60, 20, 40)),
])  # fmt: skip
def test_the_cases_by_state_have_every_state(split, labels):
    own = [case for case in read_cases() if case.split == split]
    found = Counter(label for case in own for label in case.labels)
    assert found == dict(zip((SHOWN, DENIED, CONTRADICTED, OPEN), labels, strict=True))


@pytest.mark.slow
def test_what_is_denied_or_contradicted_is_rarely_so_wrongly():
    cases = [case for case in read_cases() if case.split in BY_STATE]
    pairs = [(case, judge(case, case.evidence)) for case in cases]
    counts = [count(pairs, state) for state in (DENIED, CONTRADICTED)]
    given = sum(one.given for one in counts)
    assert given > 40
    assert sum(one.right for one in counts) / given >= 0.9


@pytest.mark.slow
def test_reads_around_the_cases_move_nothing():
    reads = read_outputs()
    assert sum(map(len, reads)) > 20_000
    for case in read_cases()[::5]:
        around = find_evidence(surround(case, reads), (), complete=case.evidence.complete)
        assert judge(case, around) == judge(case, case.evidence), case.item


@pytest.mark.slow
@pytest.mark.parametrize(("state", "precision"), [(DENIED, 0.9), (SHOWN, 0.95)])
def test_what_is_said_is_rarely_wrong(state, precision):
    cases = [case for case in read_cases() if case.split not in BY_STATE]
    counts = count([(case, judge(case, case.evidence)) for case in cases], state)
    assert counts.given > 30
    assert counts.precision >= precision


@pytest.mark.slow
def test_every_case_has_a_state():
    assert {judge(case, case.evidence) for case in read_cases()} <= set(STATES)

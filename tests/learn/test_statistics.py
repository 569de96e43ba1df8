"""What pairs say, against textbook values and simulated histories."""

import random

import pytest

from lessons_kb.learn.statistics import Comparison, compare, wilson


def test_counts_are_those_of_the_pairs():
    one = compare([(True, True), (False, True), (False, True), (True, False), (False, False)])
    assert (one.both_right, one.repaired, one.broken, one.both_wrong) == (1, 2, 1, 1)
    assert one.difference == pytest.approx(0.2)


def test_values_of_the_literature():
    # Newcombe 1998, table II: 36, 12, 2, 0 of 50 gives .0569 to .3404 by method 10.
    one = Comparison(both_right=36, repaired=12, broken=2, both_wrong=0)
    assert one.interval == pytest.approx((0.0569, 0.3404), abs=5e-4)
    assert Comparison(repaired=49, broken=6, both_right=27, both_wrong=14).p < 1e-8
    assert Comparison(repaired=5).p == pytest.approx(0.0625)
    assert wilson(81, 263) == pytest.approx((0.2553, 0.3662), abs=5e-4)


@pytest.mark.parametrize(
    ("without", "gain", "loss"), [(0.4, 0.5, 0.05), (0.2, 0.3, 0.1), (0.8, 0.3, 0.02)]
)
def test_an_interval_holds_the_truth_as_often_as_it_says(without, gain, loss):
    truth = (1 - without) * gain - without * loss
    chance = random.Random(3)
    held = 0
    for _ in range(2_000):
        pairs = []
        for _ in range(40):
            first = chance.random() < without
            second = chance.random() < (1 - loss if first else gain)
            pairs.append((first, second))
        low, high = compare(pairs).interval
        held += low <= truth <= high
    assert 0.93 <= held / 2_000 <= 0.99


def test_as_many_pairs_as_are_needed_tell():
    seen = Comparison(both_right=10, repaired=6, broken=2, both_wrong=6)
    assert not seen.settled
    chance, told = random.Random(5), 0
    for _ in range(300):
        drawn = chance.choices(
            [(True, True), (False, True), (True, False), (False, False)],
            [10, 6, 2, 6],
            k=seen.needed,
        )
        told += compare(drawn).settled
    assert 0.7 <= told / 300 <= 0.92

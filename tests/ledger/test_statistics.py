"""What pairs say, against textbook values and simulated histories."""

import random

import pytest

from lessons_kb.ledger.statistics import Comparison, Pooled, RiskDifference, compare, pool, wilson


def test_published_values():
    # Newcombe 1998, table II: 36, 12, 2, 0 of 50 gives .0569 to .3404 by method 10.
    comparison = Comparison(both_right=36, repaired=12, broken=2, both_wrong=0)
    assert comparison.interval == pytest.approx((0.0569, 0.3404), abs=5e-4)
    assert Comparison(repaired=49, broken=6, both_right=27, both_wrong=14).p < 1e-8
    assert Comparison(repaired=5).p == pytest.approx(0.0625)
    assert wilson(81, 263) == pytest.approx((0.2553, 0.3662), abs=5e-4)


@pytest.mark.parametrize(
    ("without", "gain", "loss"), [(0.4, 0.5, 0.05), (0.2, 0.3, 0.1), (0.8, 0.3, 0.02)]
)
def test_an_interval_covers_the_true_value_as_often_as_stated(without, gain, loss):
    truth = (1 - without) * gain - without * loss
    chance = random.Random(3)
    covered = 0
    for _ in range(2_000):
        pairs = []
        for _ in range(40):
            first = chance.random() < without
            second = chance.random() < (1 - loss if first else gain)
            pairs.append((first, second))
        low, high = compare(pairs).interval
        covered += low <= truth <= high
    assert 0.93 <= covered / 2_000 <= 0.99


def test_as_many_pairs_as_are_needed_tell():
    seen = Comparison(both_right=10, repaired=6, broken=2, both_wrong=6)
    assert not seen.settled
    chance, settled = random.Random(5), 0
    for _ in range(300):
        drawn = chance.choices(
            [(True, True), (False, True), (True, False), (False, False)],
            [10, 6, 2, 6],
            k=seen.needed,
        )
        settled += compare(drawn).settled
    assert 0.7 <= settled / 300 <= 0.92


def draw(chance, of, share):
    return sum(chance.random() < share for _ in range(of))


@pytest.mark.parametrize(("lessons", "most", "shares"), [
    (30, (2, 1), [0.1, 0.5]), (30, (20, 6), [0.1, 0.25, 0.5]), (12, (20, 5), [0.25]), (3, (20, 20), [0.25]),
])  # fmt: skip
def test_thirty_lessons_with_three_sessions_each_give_a_common_effect(lessons, most, shares):
    chance, truth = random.Random(5), 0.5 - sum(shares) / len(shares)
    covered = positive = 0
    for _ in range(1_000):
        differences = []
        for _ in range(lessons):
            of, without = (chance.randint(min(n, 2), n) for n in most)
            mistakes = draw(chance, of, chance.choice(shares))
            control = draw(chance, without, 0.5)
            differences.append(
                RiskDifference(made=mistakes, of=of, made_without=control, of_without=without)
            )
        pooled = pool(differences)
        covered += pooled.low <= truth <= pooled.high
        positive += pooled.low > 0
    assert 0.93 <= covered / 1_000 <= 0.97
    assert positive / 1_000 > 0.3


def test_values_known_in_closed_form():
    difference = RiskDifference(made=1, of=10, made_without=6, of_without=10)
    assert difference.value == pytest.approx(0.5)
    assert difference.interval == pytest.approx((0.0816, 0.7459), abs=1e-4)
    assert difference.prevents == pytest.approx(0.98813, abs=1e-5)
    assert RiskDifference(of=1, of_without=1).prevents == pytest.approx(0.5)
    assert (RiskDifference(of=9).interval, RiskDifference(of=9).value) == ((-1, 1), 0)
    assert pool([]) == pool([RiskDifference(of=9)]) == Pooled()
    assert (pool([difference]).low, pool([difference]).high) == difference.interval


def test_a_difference_with_fewer_sessions_is_shrunk_more_towards_the_mean():
    few = RiskDifference(made=0, of=2, made_without=2, of_without=2)
    many = [
        RiskDifference(made=m, of=40, made_without=20, of_without=40) for m in (2, 10, 18, 20, 4)
    ]
    pooled = pool([few, *many])
    assert pooled.value < pooled.shrink(few) < few.value
    drawn = abs(pooled.shrink(many[0]) - many[0].value)
    assert drawn < abs(pooled.shrink(few) - few.value)


def test_as_many_sessions_as_are_needed_tell():
    seen = RiskDifference(made=3, of=27, made_without=2, of_without=5)
    chance, clear, more = random.Random(2), 0, seen.needed / 32
    of, without = round(27 * more), round(5 * more)
    for _ in range(300):
        drawn = RiskDifference(
            made=draw(chance, of, 3 / 27), of=of,
            made_without=draw(chance, without, 2 / 5), of_without=without,
        )  # fmt: skip
        clear += drawn.interval[0] > 0
    assert 0.7 <= clear / 300 <= 0.95

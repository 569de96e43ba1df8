import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks import metrics


def test_ndcg_by_hand():
    # gains 1 at places 1 and 3, ideal at 1 and 2
    got = metrics.compute_ndcg(["a", "x", "b"], {"a": 1, "b": 1})
    assert got == pytest.approx((1 + 1 / 2) / (1 + 1 / math.log2(3)))


def test_ndcg_weighs_grades():
    grades = {"a": 1, "b": 2}
    assert metrics.compute_ndcg(["b", "a"], grades) == pytest.approx(1)
    assert metrics.compute_ndcg(["a", "b"], grades) < 1


def test_ndcg_looks_no_deeper_than_asked():
    assert metrics.compute_ndcg([*"vwxyz", "a"], {"a": 1}, depth=5) == 0
    assert metrics.compute_ndcg(["a"], {}) == 0


@given(st.permutations(["a", "b", "c", "d", "e"]), st.integers(1, 5))
def test_measures_stay_between_nothing_and_perfect(ranked, count):
    relevant = dict.fromkeys(["a", "b", "c", "d", "e"][:count], 1)
    assert 0 <= metrics.compute_ndcg(ranked, relevant) <= 1 + 1e-9
    assert metrics.compute_recall(ranked, relevant, 5) == 1
    assert metrics.compute_reciprocal_rank(ranked, relevant) >= 1 / 5


def test_recall_hit_and_reciprocal_rank():
    ranked, relevant = ["x", "a", "y", "b"], {"a", "b", "c"}
    assert metrics.compute_recall(ranked, relevant, 2) == pytest.approx(1 / 3)
    assert metrics.compute_recall(ranked, set()) == 0
    assert metrics.compute_hit(ranked, relevant, 1) == 0
    assert metrics.compute_hit(ranked, relevant, 2) == 1
    assert metrics.compute_reciprocal_rank(ranked, relevant) == 1 / 2
    assert metrics.compute_reciprocal_rank(ranked, {"z"}) == 0


def test_interval_holds_the_mean_and_is_the_same_for_the_same_seed():
    differences = [0.0, 0.1, -0.05, 0.2, 0.0, 0.3, -0.1] * 10
    low, high = metrics.compute_interval(differences, seed=3)
    assert low < metrics.mean(differences) < high
    assert (low, high) == metrics.compute_interval(differences, seed=3)
    assert metrics.compute_interval([]) == (0.0, 0.0)
    assert metrics.compute_interval([0.25] * 5) == (0.25, 0.25)


def test_spread_and_growth():
    spread = metrics.compute_spread([3.0, 1.0, 2.0, 9.0])
    assert (spread.median, spread.low, spread.high, spread.count) == (2.5, 1.0, 9.0, 4)
    sizes = [1_000, 12_000, 100_000]
    assert metrics.compute_exponent(sizes, [n**0.5 for n in sizes]) == pytest.approx(0.5)
    assert metrics.compute_exponent(sizes, [7.0] * 3) == pytest.approx(0)

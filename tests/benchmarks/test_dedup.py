import pytest

from benchmarks.dedup import Pair, compute_auc, make_templated, measure_pairs, measure_templated
from lessons_kb.duplicates.near_duplicates import similarity


def test_auc_by_hand():
    pairs = [
        Pair(one="a", other="3", same=True),
        Pair(one="a", other="1", same=True),
        Pair(one="a", other="2", same=False),
        Pair(one="a", other="1", same=False),
    ]
    assert compute_auc(pairs, lambda _one, other: float(other)) == (2 + 0.5) / 4


def test_pairs_are_counted():
    pairs = [
        Pair(one="Retry without a key", other="retry without a key.", same=True),
        Pair(one="Retry without a key", other="Telegram allowlist", same=False),
    ]
    found = measure_pairs(pairs)
    assert (found["merged"], found["merged_rightly"], found["auc"]) == (1, 1, 1)


@pytest.mark.slow
def test_templated_lessons_are_a_thousand_and_none_is_merged():
    titles = make_templated()
    assert len(set(titles)) == len(titles) == 1000
    assert measure_templated(titles[:80])["merged"] == 0


def test_unlike_texts_score_low():
    assert similarity("Retry without a key", "Telegram allowlist") < 0.2

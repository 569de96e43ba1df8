"""The measure of mining: what is linked, and what a ranking is worth."""

import math

import pytest

from benchmarks import metrics
from benchmarks.data import Doc, Prompt, RetrievalSet
from benchmarks.drafting.mine import Lesson, link, measure
from benchmarks.ours import open_ours
from benchmarks.retrieval import gate, quality
from benchmarks.retrieval.dedup import (
    Pair,
    compute_auc,
    make_templated,
    measure_pairs,
    measure_templated,
)
from lessons_kb.mining.commit_facts import CommitFacts
from lessons_kb.mining.rank_commits import rank_commits
from lessons_kb.outcome.evaluation import evaluate
from lessons_kb.relevance.evaluation_measures import Labelled


def test_ndcg_by_hand():
    # gains 1 at places 1 and 3, ideal at 1 and 2
    got = metrics.compute_ndcg(["a", "x", "b"], {"a": 1, "b": 1})
    assert got == pytest.approx((1 + 1 / 2) / (1 + 1 / math.log2(3)))
    grades = {"a": 1, "b": 2}
    assert metrics.compute_ndcg(["b", "a"], grades) == pytest.approx(1)
    assert metrics.compute_ndcg(["a", "b"], grades) < 1
    assert metrics.compute_ndcg([*"vwxyz", "a"], {"a": 1}, depth=5) == 0
    assert metrics.compute_ndcg(["a"], {}) == 0


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
    low, high = found = metrics.compute_interval(differences, seed=3)
    assert low < metrics.mean(differences) < high
    assert found == metrics.compute_interval(differences, seed=3)
    assert metrics.compute_interval([]) == (0.0, 0.0)
    assert metrics.compute_interval([0.25] * 5) == (0.25, 0.25)


def test_spread_and_growth():
    spread = metrics.compute_spread([3.0, 1.0, 2.0, 9.0])
    assert (spread.median, spread.low, spread.high, spread.count) == (2.5, 1.0, 9.0, 4)
    sizes = [1_000, 12_000, 100_000]
    assert metrics.compute_exponent(sizes, [n**0.5 for n in sizes]) == pytest.approx(0.5)
    assert metrics.compute_exponent(sizes, [7.0] * 3) == pytest.approx(0)


ALIKE = (("3", True), ("1", True), ("2", False), ("1", False))


def test_auc_by_hand():
    pairs = [Pair(one="a", other=n, same=same) for n, same in ALIKE]
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


DAY = 86_400.0


HISTORY = [
    CommitFacts(id=f"{number:040x}", at=number * DAY, subject=f"Change {number}", paths=("a.py",))
    for number in range(400)
]


def test_a_ranking_that_knows_the_fixes_finds_them_all_and_another_no_more_than_chance():
    fixes = {HISTORY[number].id for number in range(50, 400, 25)}

    def figures(best):
        scores = {"mine": {facts.id: float(facts.id in best) for facts in HISTORY}}
        return measure(HISTORY, fixes, scores, seed=1)

    knows = figures(fixes)
    assert (knows["mine r@5"], knows["mine r@20"]) == (1.0, 1.0)
    assert knows["mine p@10"] > 3 * knows["base"]
    guesses = figures(set())
    assert guesses["mine r@20"] == 0.0, "ties count as half above"
    assert guesses["mine p@10"] < 0.2


def test_a_history_without_fixes_has_the_columns_of_the_others():
    scores = {"mine": {facts.id: 0.0 for facts in HISTORY}}
    ranked = rank_commits(HISTORY)
    without, with_fix = (
        measure(HISTORY, fixes, scores, seed=1, ranked=ranked)
        for fixes in (set(), {HISTORY[50].id})
    )
    assert list(without) == list(with_fix)


def test_a_lesson_is_linked_to_the_commit_that_shares_its_rare_words():
    history = HISTORY[:300]
    terms = {facts.id: frozenset({"common_name"}) for facts in history}
    terms[history[200].id] |= {"retry_budget_exceeded", "drain_dispatcher", "settle_queue"}
    text = "The `retry_budget_exceeded` of `drain_dispatcher` and `settle_queue`, `common_name`."
    lesson = Lesson(path="docs/solutions/a.md", commit="x", at=202 * DAY, text=text)
    late = Lesson(path="docs/solutions/b.md", commit="x", at=100 * DAY, text=text)
    assert list(link([lesson, late], history, terms)) == [history[200].id]


TEXTS = (
    "The payment was charged twice because the retry had no idempotency key",
    "The telegram handler ran a shell command for any sender of the group",
    "Timestamps in local time moved by an hour after daylight saving",
    "The cache key lacked the tenant and showed dashboards of another customer",
    "A retry of the payment command hid the timestamps of the first attempt",
)
QUERIES = {
    "why was the payment charged twice": {"0": 1, "4": 1},
    "run a shell command from the telegram group": {"1": 1},
    "timestamps after daylight saving": {"2": 1},
    "something about pears": {"3": 1},
}
FOREIGN = ("write a poem", "the payment of the handler")


def test_the_figures_agree():
    docs = tuple(Doc(id=str(n), title="", text=text) for n, text in enumerate(TEXTS))
    queries = tuple(Prompt(id=text, text=text) for text in QUERIES)
    given = RetrievalSet(name="x", docs=docs, queries=queries, relevant=QUERIES)
    foreign = tuple(Prompt(id=text, text=text) for text in FOREIGN)
    with open_ours(docs) as ours:
        quality_found = quality.measure(given, queries, ours.search)
        tally = gate.ask(ours, given, queries, (), foreign)
        names = {doc: card for card, doc in ours.names.items()}
        labelled = [
            Labelled(line=1, query=text, expected=tuple(names[doc] for doc in docs))
            for text, docs in (*QUERIES.items(), *((text, ()) for text in FOREIGN))
        ]
        found = evaluate(ours.brain, labelled).engines["tantivy"]
    assert found.ndcg10 == pytest.approx(metrics.mean(quality_found.ndcg))
    assert found.recall5 == pytest.approx(metrics.mean(quality_found.recall))
    assert found.hit3 == pytest.approx(metrics.mean(quality_found.hit))
    assert found.mrr == pytest.approx(metrics.mean(quality_found.reciprocal))
    assert found.kept == pytest.approx(sum(tally.kept) / sum(tally.found))
    assert found.false_injection == metrics.mean([float(n > 0) for n in tally.everyday])

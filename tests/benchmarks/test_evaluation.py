"""``lessons eval`` and ``python -m benchmarks`` give the same figures."""

import pytest

from benchmarks import gate, metrics, quality
from benchmarks.data import Doc, Prompt, RetrievalSet
from benchmarks.ours import open_ours
from lessons_kb.brain.evaluation import evaluate
from lessons_kb.relevance.evaluation_measures import Labelled

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

"""What quality and gate conclude from outcomes, without a brain."""

import random
from dataclasses import replace

import pytest

from benchmarks.data import Doc, Prompt, RetrievalSet
from benchmarks.retrieval import gate, quality
from benchmarks.retrieval.gate import Tally
from benchmarks.retrieval.references import LEXICAL


def outcome(*same):
    measures = dict.fromkeys(("ndcg", "recall", "hit", "reciprocal"), same)
    return quality.Outcome(**measures, first=("d",) * len(same), milliseconds=1.0)


def test_ours_is_held_against_the_best_lexical_tool_of_each_set():
    weak, strong = list(LEXICAL)[:2]
    found = {quality.OURS: outcome(0.5, 0.7), weak: outcome(0.1, 0.1), strong: outcome(0.4, 0.6)}
    compared = quality.compare({"bugs": found}, seed=1)
    row = compared["against_best_lexical"]["bugs"]
    assert row["best_lexical"] == strong
    assert row["difference"] == pytest.approx(0.1)
    assert row["reached"]
    assert compared["average_difference"] == pytest.approx(0.1)
    found = {quality.OURS: outcome(*[0.2] * 20), weak: outcome(*[0.6] * 20)}
    assert not quality.compare({"s": found}, seed=1)["against_best_lexical"]["s"]["reached"]


def test_measure_scores_each_query():
    docs, queries = (Doc(id="d", title="", text="x"),), [Prompt(id=f"q{n}", text=n) for n in "12"]
    relevant = {"q1": {"d": 1}, "q2": {"e": 1}}
    given = RetrievalSet(name="s", docs=docs, queries=tuple(queries), relevant=relevant)
    got = quality.measure(given, given.queries, lambda _text, _limit: ["d"])
    assert got.ndcg == got.recall == got.hit == got.reciprocal == (1.0, 0.0)


def test_shares_of_a_tally():
    given = {"found": (1.0, 1.0, 0.0, 1.0), "kept": (1.0, 0.0, 0.0, 1.0), "short": (1, 0)}
    tally = Tally(size=3, others=(0, 2), everyday=(0, 0, 1, 0), **given)
    row = gate._summary(tally + Tally(size=3, others=(0, 0)))
    assert row["kept"] == pytest.approx(2 / 3)
    falsely = {name: row[f"false{name}"] for name in ("", "_others", "_everyday", "_short")}
    assert falsely == {"": 2 / 8, "_others": 1 / 4, "_everyday": 1 / 4, "_short": 1 / 2}
    assert row["lessons_per_foreign_prompt"] == 3 / 8


def test_the_gate_is_reached_only_if_no_set_falls_behind():
    good = Tally(size=1, found=(1.0,) * 20, kept=(1.0,) * 20, others=(0,) * 20)
    bad = replace(good, kept=(1.0,) * 15 + (0.0,) * 5)
    assert gate._average({"a": good, "b": good})["reached"]
    assert not gate._average({"a": good, "b": good, "c": good, "d": bad})["reached"]
    for false in ({"others": (1,) + (0,) * 19}, {"everyday": (1,) + (0,) * 19}):
        assert not gate._average({"a": replace(good, **false)})["reached"]


def test_a_small_brain_has_its_size_and_queries_about_it():
    docs = tuple(Doc(id=f"d{n}", title="", text=str(n)) for n in range(100))
    queries = tuple(Prompt(id=f"q{n}", text=str(n)) for n in range(60))
    relevant = {f"q{n}": {f"d{n}": 1, "gone": 1} for n in range(60)}
    given = RetrievalSet(name="s", docs=docs, queries=queries, relevant=relevant)
    small = gate.take_small(given, 6, random.Random(1))
    ids = {doc.id for doc in small.docs}
    assert len(small.docs) == len(ids) == 6
    assert len(small.queries) >= 3
    assert all(ids & small.relevant[query.id].keys() for query in small.queries)

import math

import pytest

from lessons_kb.config import Ranking
from lessons_kb.model import NOTE, Card, Query
from lessons_kb.search.ranking import rank, reduce_terms

RANKING = Ranking()


def card(name="a", **changes):
    return Card(**{"id": f"lessons/{name}.md", "kind": "lesson", "title": name, **changes})


def ids(cards, query=None, ranking=RANKING, **more):
    given = [(one, 1.0) for one in cards]
    return [hit.card.title for hit in rank(given, query or Query(text="x"), ranking, **more)]


def test_without_anything_known_the_score_is_bm25():
    (hit,) = rank([(card(), 3.5)], Query(text="x"), RANKING)
    assert (hit.score, hit.bm25, hit.factors) == (3.5, 3.5, ())


def test_every_factor_is_named_and_multiplied():
    ranking = Ranking(
        occurrence=0.1,
        severity_high=1.2,
        auto=0.8,
        disputed=0.5,
        same_project=1.1,
        same_stage=1.3,
        path_match=1.5,
    )
    loud = card(
        occurrences=8,
        severity="high",
        source="auto",
        evidence="disputed",
        project="Shop",
        stages=("DEV", "TEST"),
    )
    query = Query(text="x", project="shop", stage="dev")
    (hit,) = rank([(loud, 2.0)], query, ranking, path_matches={loud.id})
    assert [name for name, _ in hit.factors] == [
        "occurrence",
        "severity",
        "source",
        "evidence",
        "scope",
        "path",
    ]
    assert dict(hit.factors) == pytest.approx(
        {
            "occurrence": 1.3,
            "severity": 1.2,
            "source": 0.8,
            "evidence": 0.5,
            "scope": 1.43,
            "path": 1.5,
        }
    )
    assert hit.score == pytest.approx(2 * 1.3 * 1.2 * 0.8 * 0.5 * 1.43 * 1.5)


def test_a_mistake_seen_often_is_louder_but_not_without_bound():
    seen = [card("once"), card("five", occurrences=5)]
    assert ids(seen) == ["five", "once"]
    (huge,) = rank([(card(occurrences=10**30), 1.0)], Query(text="x"), RANKING)
    assert huge.score <= 2.0


@pytest.mark.parametrize(("changes", "query"), [
    ({"status": "ignored"}, {}),
    ({"status": "archived"}, {}),
    ({"project": "other"}, {"project": "shop"}),
    ({"project": "shop"}, {}),
    ({"kind": NOTE}, {}),
    ({"kind": "playbook"}, {"kinds": ("lesson",)}),
    ({"stages": ("PM",)}, {"stage": "DEV"}),
    ({"topics": ("Telegram",)}, {"tags": ("slack",)}),
    ({}, {"tags": ("slack",)}),
])  # fmt: skip
def test_what_is_left_out(changes, query):
    assert ids([card(**changes)], Query(text="x", **query)) == []


def test_what_is_left_out_does_not_end_the_list():
    assert ids([card("a", status="ignored"), card("b"), card("c", kind=NOTE), card("d")]) == [
        "b",
        "d",
    ]


@pytest.mark.parametrize(("changes", "factors"), [
    ({"severity": "low"}, {"severity": 0.2}),
    ({"severity": "medium"}, {"severity": 0.3}),
    ({"severity": "high"}, {"severity": 0.4}),
    ({"severity": "odd"}, {"severity": 0.3}),
    ({"evidence": "evidenced"}, {"severity": 0.3, "evidence": 0.5}),
    ({"evidence": "anecdotal"}, {"severity": 0.3, "evidence": 0.6}),
    ({"evidence": "disputed"}, {"severity": 0.3, "evidence": 0.7}),
    ({"evidence": "odd"}, {"severity": 0.3}),
    ({"stages": ("DEV",)}, {"severity": 0.3}),
    ({"source": "auto"}, {"severity": 0.3, "source": 0.8}),
])  # fmt: skip
def test_each_thing_known_of_a_card_has_its_own_factor(changes, factors):
    ranking = Ranking(
        severity_low=0.2,
        severity_medium=0.3,
        severity_high=0.4,
        evidenced=0.5,
        anecdotal=0.6,
        disputed=0.7,
        auto=0.8,
        same_stage=9.0,
        same_project=9.0,
    )
    (hit,) = rank([(card(**changes), 1.0)], Query(text="x"), ranking)
    assert dict(hit.factors) == factors


def test_a_stage_counts_where_card_and_query_name_it():
    ranking = Ranking(same_stage=2.0)
    cards = [card("any"), card("dev", stages=("DEV",))]
    assert ids(cards, Query(text="x", stage="dev"), ranking) == ["dev", "any"]


@pytest.mark.parametrize(("changes", "query"), [
    ({}, {"project": "shop", "stage": "DEV"}),
    ({"project": "SHOP"}, {"project": "shop"}),
    ({"kind": NOTE}, {"kinds": (NOTE,)}),
    ({"stages": ("PM", "dev")}, {"stage": "DEV"}),
    ({"stages": ("PM",)}, {}),
    ({"topics": ("Telegram", "bot")}, {"tags": ("slack", "telegram")}),
])  # fmt: skip
def test_what_stays(changes, query):
    assert ids([card(**changes)], Query(text="x", **query)) == ["a"]


def test_ties_break_by_occurrences_then_last_seen_then_id():
    flat = Ranking(occurrence=0.0)
    cards = [
        card("d"),
        card("c", last_seen="2024-01-02"),
        card("b", last_seen="2025-01-02"),
        card("z", occurrences=2),
        card("a"),
    ]
    assert ids(cards, ranking=flat) == ["z", "b", "c", "a", "d"]
    assert ids(cards[::-1], ranking=flat) == ["z", "b", "c", "a", "d"]


def test_noise_in_the_last_digits_is_a_tie():
    given = [(card("b"), 1.0000001), (card("a"), 1.0)]
    assert [hit.card.title for hit in rank(given, Query(text="x"), RANKING)] == ["a", "b"]


def test_at_most_the_limit_is_returned():
    assert ids([card(n) for n in "abcd"], Query(text="x", limit=2)) == ["a", "b"]
    assert ids([card()], Query(text="x", limit=0)) == []


def test_short_queries_keep_every_term_and_damp_its_count():
    reduced = reduce_terms(["run", "test", "run"], {"run": 3, "test": 1}, 10, 32)
    assert reduced == {"run": pytest.approx(1 + math.log(2)), "test": 1.0}


def test_long_queries_keep_the_most_distinctive_terms():
    frequencies = {"the": 100, "file": 60, "telegram": 2, "allowlist": 1}
    terms = ["the"] * 30 + ["file"] * 10 + ["telegram", "allowlist"]
    assert reduce_terms(terms, frequencies, 100, 2) == {"telegram": 1.0, "allowlist": 1.0}


def test_of_words_as_rare_the_one_said_more_often_is_kept():
    frequencies = {"bot": 2, "chat": 2, "file": 50}
    assert list(reduce_terms(["bot", "chat", "chat", "file"], frequencies, 100, 1)) == ["chat"]


@pytest.mark.parametrize(("size", "said_once", "said_often", "times", "kept"), [
    (4, 1, 2, 2, "once"),
    (10, 1, 4, 3, "once"),
    (4, 2, 4, 8, "once"),
    (4, 1, 3, 12, "often"),
    (4, 2, 3, 3, "often"),
])  # fmt: skip
def test_what_is_distinctive_is_the_weight_times_the_idf(size, said_once, said_often, times, kept):
    """By ln(1 + (size - n + 0.5) / (n + 0.5)) * (1 + ln of how often), worked by hand."""
    frequencies = {"once": said_once, "often": said_often}
    terms = ["once", *["often"] * times]
    assert list(reduce_terms(terms, frequencies, size, 1)) == [kept]


def test_terms_in_no_card_cost_no_place():
    frequencies = {"a": 1, "b": 2, "c": 3}
    reduced = reduce_terms(["x", "y", "z", "c", "b", "a"], frequencies, 10, 2)
    assert set(reduced) == {"x", "y", "z", "a", "b"}


def test_reducing_does_not_depend_on_chance():
    terms = [f"w{n}" for n in range(100)]
    frequencies = dict.fromkeys(terms, 1)
    assert list(reduce_terms(terms, frequencies, 50, 5)) == ["w0", "w1", "w2", "w3", "w4"]

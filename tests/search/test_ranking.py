import math

import pytest

from lessons_kb.config import Ranking
from lessons_kb.model import NOTE, Card, Query
from lessons_kb.search.ranking import rank, reduce_terms

RANKING = Ranking()


def card(name="a", **changes):
    return Card(**{"id": f"lessons/{name}.md", "kind": "lesson", "title": name, **changes})


def ids(cards, ranking=RANKING, **query):
    candidates = [(card, 1.0) for card in cards]
    return [hit.card.title for hit in rank(candidates, Query(text="x", **query), ranking)]


def test_without_any_factor_the_score_is_bm25():
    (hit,) = rank([(card(), 3.5)], Query(text="x"), RANKING)
    assert (hit.score, hit.bm25, hit.factors) == (3.5, 3.5, ())


def test_every_factor_is_named_and_multiplied():
    ranking = Ranking(occurrence=0.1, severity_high=1.2, auto=0.8, disputed=0.5, same_project=1.1,
                      same_stage=1.3, path_match=1.5)  # fmt: skip
    loud = card(occurrences=8, severity="high", source="auto", evidence="disputed", project="Shop",
                stages=("DEV", "TEST"))  # fmt: skip
    query = Query(text="x", project="shop", stage="dev")
    (hit,) = rank([(loud, 2.0)], query, ranking, path_matches={loud.id})
    factors = {"occurrence": 1.3, "severity": 1.2, "source": 0.8, "evidence": 0.5, "scope": 1.43}
    factors["path"] = 1.5
    assert [name for name, _ in hit.factors] == [*factors]
    assert dict(hit.factors) == pytest.approx(factors)
    assert hit.score == pytest.approx(2 * math.prod(factors.values()))


def test_occurrences_raise_a_score_up_to_a_bound():
    assert ids([card("once"), card("five", occurrences=5)]) == ["five", "once"]
    (huge,) = rank([(card(occurrences=10**30), 1.0)], Query(text="x"), RANKING)
    assert huge.score <= 2.0


@pytest.mark.parametrize(("changes", "query", "stays"), [
    ({"status": "ignored"}, {}, False),
    ({"status": "archived"}, {}, False),
    ({"project": "other"}, {"project": "shop"}, False),
    ({"project": "shop"}, {}, False),
    ({}, {"project": "shop", "stage": "DEV"}, True),
    ({"project": "SHOP"}, {"project": "shop"}, True),
    ({"kind": NOTE}, {}, False),
    ({"kind": NOTE}, {"kinds": (NOTE,)}, True),
    ({"kind": "playbook"}, {"kinds": ("lesson",)}, False),
    ({"stages": ("PM",)}, {"stage": "DEV"}, False),
    ({"stages": ("PM", "dev")}, {"stage": "DEV"}, True),
    ({"stages": ("PM",)}, {}, True),
    ({"topics": ("Telegram",)}, {"tags": ("slack",)}, False),
    ({}, {"tags": ("slack",)}, False),
    ({"topics": ("Telegram", "bot")}, {"tags": ("slack", "telegram")}, True),
])  # fmt: skip
def test_filters_exclude_cards(changes, query, stays):
    fits = card("b", project=query.get("project"), kind=query.get("kinds", ("lesson",))[0],
                topics=query.get("tags", ()))  # fmt: skip
    assert sorted(ids([card(**changes), fits], **query)) == (["a", "b"] if stays else ["b"])


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
def test_each_property_of_a_card_has_a_factor(changes, factors):
    ranking = Ranking(severity_low=0.2, severity_medium=0.3, severity_high=0.4, evidenced=0.5,
                      anecdotal=0.6, disputed=0.7, auto=0.8, same_stage=9.0, same_project=9.0)  # fmt: skip
    (hit,) = rank([(card(**changes), 1.0)], Query(text="x"), ranking)
    assert dict(hit.factors) == factors


def test_a_stage_counts_where_card_and_query_name_it():
    cards = [card("any"), card("dev", stages=("DEV",))]
    assert ids(cards, Ranking(same_stage=2.0), stage="dev") == ["dev", "any"]


def test_ties_break_by_occurrences_then_last_seen_then_id():
    flat = Ranking(occurrence=0.0)
    cards = [card("d"), card("c", last_seen="2024-01-02"), card("b", last_seen="2025-01-02")]
    cards += [card("z", occurrences=2), card("a")]
    assert ids(cards, flat) == ids(cards[::-1], flat) == ["z", "b", "c", "a", "d"]
    noisy = [(card("b"), 1.0000001), (card("a"), 1.0)]
    assert [hit.card.title for hit in rank(noisy, Query(text="x"), RANKING)] == ["a", "b"]


def test_at_most_the_limit_is_returned():
    assert ids([card(n) for n in "abcd"], limit=2) == ["a", "b"]
    assert ids([card()], limit=0) == []


def test_short_queries_keep_every_term_and_damp_its_count():
    reduced = reduce_terms(["run", "test", "run"], {"run": 3, "test": 1}, 10, 32)
    assert reduced == {"run": pytest.approx(1 + math.log(2)), "test": 1.0}


# By ln(1 + (size - n + 0.5) / (n + 0.5)) * (1 + ln of how often), worked by hand.
@pytest.mark.parametrize(("terms", "frequencies", "size", "limit", "remaining"), [
    (["the"] * 30 + ["file"] * 10 + ["telegram", "allowlist"],
     {"the": 100, "file": 60, "telegram": 2, "allowlist": 1}, 100, 2, ["telegram", "allowlist"]),
    (["bot", "chat", "chat", "file"], {"bot": 2, "chat": 2, "file": 50}, 100, 1, ["chat"]),
    (["once", *["often"] * 2], {"once": 1, "often": 2}, 4, 1, ["once"]),
    (["once", *["often"] * 3], {"once": 1, "often": 4}, 10, 1, ["once"]),
    (["once", *["often"] * 8], {"once": 2, "often": 4}, 4, 1, ["once"]),
    (["once", *["often"] * 12], {"once": 1, "often": 3}, 4, 1, ["often"]),
    (["once", *["often"] * 3], {"once": 2, "often": 3}, 4, 1, ["often"]),
    # Terms in no card cost no place.
    ([*"xyzcba"], {"a": 1, "b": 2, "c": 3}, 10, 2, [*"xyzba"]),
    # Of equals the first ones: it does not depend on chance.
    ([f"w{n}" for n in range(100)], {f"w{n}": 1 for n in range(100)}, 50, 5,
     ["w0", "w1", "w2", "w3", "w4"]),
])  # fmt: skip
def test_of_long_queries_the_most_distinctive_terms_are_kept(
    terms, frequencies, size, limit, remaining
):
    assert list(reduce_terms(terms, frequencies, size, limit)) == remaining

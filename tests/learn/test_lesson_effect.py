"""What counts are worth: shares with their intervals, verdicts, proposals."""

import math
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lessons_kb.learn.lesson_effect import (
    PROPOSALS,
    VERDICTS,
    Overview,
    beta_cdf,
    beta_quantile,
    count_verdicts,
    may_harm,
    never_used,
    noisy,
    probability_less,
    rate,
    top,
    weigh,
)
from lessons_kb.model import Card

CARD = Card(id="lessons/a.md", kind="lesson", title="A card")

counts = st.integers(0, 200)


def overview(*effects):
    empty = dict.fromkeys(("by_kind", "by_stage", "by_project", "by_severity", "by_source"), ())
    sums = dict.fromkeys(("notes", "occurrences", "drafts", "sessions", "injections", "tokens"), 0)
    more = dict.fromkeys(("checked", "addressed", "recurrences"), 0)
    return Overview(
        cards=len(effects), **empty, **sums, **more, by_status=(), periods=(), effects=effects
    )


def told(**counted):
    return weigh(CARD, {name.replace("_", " "): times for name, times in counted.items()})


@given(st.integers(1, 60), st.integers(1, 60), st.floats(0.01, 0.99))
def test_it_is_the_tail_of_a_binomial(a, b, x):
    n = a + b - 1
    tail = sum(math.comb(n, k) * x**k * (1 - x) ** (n - k) for k in range(a, n + 1))
    assert beta_cdf(x, a, b) == pytest.approx(tail, abs=1e-10)


@pytest.mark.slow
@given(st.floats(0.01, 0.99), st.integers(1, 5_000), st.integers(1, 5_000))
def test_a_quantile_takes_the_distribution_back(share, a, b):
    assert beta_cdf(beta_quantile(share, a, b), a, b) == pytest.approx(share, abs=1e-6)


@pytest.mark.parametrize(("times", "of", "low", "high", "mean"), [
    (0, 0, 0.05, 0.95, 0.5),
    (0, 1, 1 - math.sqrt(0.95), 1 - math.sqrt(0.05), 1 / 3),
    (0, 19, 1 - 0.95 ** (1 / 20), 1 - 0.05 ** (1 / 20), 1 / 21),
    (3, 3, 0.05**0.25, 0.95**0.25, 0.8),
])  # fmt: skip
def test_intervals_known_in_closed_form(times, of, low, high, mean):
    found = rate(times, of)
    assert (found.low, found.high, found.mean) == pytest.approx((low, high, mean), abs=1e-9)


@given(counts, counts)
def test_an_interval_holds_its_mean_and_never_leaves_the_unit(times, of):
    found = rate(times, of)
    assert 0 <= found.low < found.mean < found.high <= 1
    assert 0 <= found.times <= found.of == of


@pytest.mark.slow
@settings(max_examples=25, deadline=None)
@given(*[st.integers(0, 40)] * 4)
def test_the_probability_is_the_integral_of_one_belief_over_the_other(a, b, c, d):
    after, before = rate(a, a + b), rate(c, c + d)
    steps = 500
    grid = [(n + 0.5) / steps for n in range(steps)]
    edges = [beta_cdf(n / steps, c + 1, d + 1) for n in range(steps + 1)]
    numeric = sum(beta_cdf(x, a + 1, b + 1) * (edges[n + 1] - edges[n]) for n, x in enumerate(grid))
    exact = probability_less(after, before)
    assert exact == pytest.approx(numeric, abs=1e-3)
    assert exact + probability_less(before, after) == pytest.approx(1, abs=1e-9)


@pytest.mark.parametrize(("counted", "verdict", "proposal"), [
    ({}, "never used", ""),
    ({"injected": 1, "sessions": 1}, "too early", ""),
    ({"injected": 4, "sessions": 4, "before": 2, "before_recurred": 2}, "too early", ""),
    ({"injected": 20, "sessions": 20, "recurred": 1, "before": 12, "before_recurred": 8}, "helps",
     ""),
    ({"injected": 20, "sessions": 20, "recurred": 15, "before": 12, "before_recurred": 2}, "harms",
     "archive"),
    ({"injected": 20, "sessions": 20, "recurred": 4, "before": 12, "before_recurred": 3},
     "no effect", "promote"),
    ({"injected": 20, "sessions": 20, "recurred": 10}, "no effect", "promote"),
    ({"injected": 40, "sessions": 40}, "too early", ""),
    ({"injected": 9, "sessions": 9, "harmful": 2}, "harms", "archive"),
    ({"injected": 9, "sessions": 9, "harmful": 2, "helpful": 1}, "too early", ""),
    ({"injected": 9, "sessions": 9, "harmful": 1}, "too early", ""),
    ({"injected": 9, "sessions": 9, "unaddressed": 20}, "too early", "edit"),
    ({"injected": 9, "sessions": 9, "unaddressed": 3}, "too early", ""),
    ({"injected": 9, "sessions": 9, "addressed": 10, "unaddressed": 10}, "too early", ""),
    ({"injected": 3}, "too early", ""),
])  # fmt: skip
def test_verdicts_and_proposals(counted, verdict, proposal):
    effect = told(**counted)
    assert (effect.verdict, effect.proposal) == (verdict, proposal)
    assert effect.reason
    assert "\n" not in effect.reason
    assert not effect.reason.endswith(".")
    outside = bool(effect.injections) and not effect.sessions
    assert ("only injected outside of sessions" in effect.reason) is outside


def test_what_returns_is_promoted_as_far_as_it_can_be():
    counted = {"injected": 20, "sessions": 20, "recurred": 12}
    assert "severity" in weigh(CARD, counted).reason
    high = replace(CARD, severity="high", paths=("src/**",))
    assert "gate: ask" in weigh(high, counted).reason
    loudest = weigh(replace(high, gate="ask"), counted)
    assert (loudest.proposal, "checklist" in loudest.reason) == ("edit", True)


def test_an_unused_card_is_put_away_only_when_it_had_its_time():
    used = {"injected": 1, "sessions": 1}
    found = [weigh(CARD, {}), weigh(CARD, {}, idle=True), weigh(CARD, used, idle=True)]
    assert [effect.proposal for effect in found] == ["", "archive", ""]


COUNTED = (
    *("injected", "sessions", "recurred", "before", "before recurred", "addressed"),
    *("unaddressed", "helpful", "harmful", "tokens", "bumped"),
)


@given(st.fixed_dictionaries(dict.fromkeys(COUNTED, counts)), st.booleans())
def test_any_counts_have_a_verdict(counted, idle):
    effect = weigh(CARD, counted, idle=idle)
    assert effect.verdict in VERDICTS
    assert effect.proposal in PROPOSALS
    assert 0 <= effect.prevents <= 1
    assert effect.after.times <= effect.after.of
    assert effect.addressed <= effect.checked
    assert may_harm(counted) or effect.verdict != "harms"


@pytest.mark.parametrize("seen", [{"sessions": 3, "before": 200}, {"sessions": 200, "before": 3}])
def test_a_mistake_that_was_never_seen_is_neither_prevented_nor_more_frequent(seen):
    effect = told(injected=200, **seen)
    assert (effect.verdict, effect.proposal) == ("too early", "")
    assert not may_harm({"injected": 200, **seen})


def test_lists_of_an_overview():
    good = told(injected=30, sessions=30, recurred=1, before=12, before_recurred=9)
    bad = told(injected=20, sessions=20, harmful=3)
    quiet = told(injected=10, sessions=10, unaddressed=40)
    unused = told()
    ignored = replace(unused, card=replace(CARD, status="ignored"))
    outside = told(unaddressed=40)  # answers judged without an injection that was counted
    found = overview(good, bad, quiet, unused, ignored, replace(outside, card=ignored.card))
    assert top(found) == (good, bad, quiet)
    assert top(found, 1) == (good,)
    assert noisy(found) == (bad, quiet)
    assert never_used(found) == (unused,)
    verdicts = count_verdicts(found.effects)
    assert tuple(verdicts) == VERDICTS
    assert verdicts["never used"] == 3

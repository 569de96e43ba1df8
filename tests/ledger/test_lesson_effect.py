"""What counts are worth: shares with their intervals, verdicts, proposals."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lessons_kb.ledger.lesson_effect import (
    VERDICTS,
    Overview,
    count_verdicts,
    never_used,
    noisy,
    tell_outcomes,
    top,
    weigh,
)
from lessons_kb.model import Card
from tests.kit import occasions

CARD = Card(id="lessons/a.md", kind="lesson", title="A card")

counts = st.integers(0, 200)


def overview(*effects):
    empty = dict.fromkeys(("by_kind", "by_stage", "by_project", "by_severity", "by_source"), ())
    sums = dict.fromkeys(("notes", "occurrences", "drafts", "sessions", "injections", "tokens"), 0)
    more = dict.fromkeys(("checked", "addressed", "recurrences"), 0)
    return Overview(
        cards=len(effects), **empty, **sums, **more, by_status=(), periods=(), effects=effects
    )


def weigh_counts(compared=1, facts=("pattern",), **counted):
    arms = {name: counted.pop(name) for name in ARMS if name in counted}
    return weigh(CARD, counted, occasions(**arms), compared=compared, facts=facts)


@pytest.mark.parametrize(("counted", "verdict", "proposal"), [
    ({}, "never used", ""),
    ({"injected": 1}, "no facts yet", ""),
    ({"injected": 4, "block": (0, 4)}, "too early", ""),
    ({"injected": 4, "block": (0, 4), "withheld": (2, 2)}, "too early", ""),
    ({"injected": 10, "block": (1, 10), "withheld": (6, 10)}, "helps", ""),
    ({"injected": 10, "block": (1, 10), "withheld": (6, 10), "compared": 60}, "too early", ""),
    ({"injected": 20, "block": (11, 20), "withheld": (2, 10)}, "harms", "archive"),
    ({"injected": 20, "block": (4, 20), "withheld": (3, 12)}, "too early", "promote"),
    ({"injected": 300, "block": (60, 200), "withheld": (62, 200)}, "no effect", "promote"),
    ({"injected": 9, "harmful": 2}, "harms", "archive"),
    ({"injected": 9, "harmful": 2, "helpful": 1}, "no facts yet", ""),
    ({"injected": 9, "harmful": 1}, "no facts yet", ""),
    ({"injected": 9, "unaddressed": 20}, "no facts yet", "edit"),
    ({"injected": 9, "unaddressed": 20, "block": (0, 9)}, "too early", ""),
    ({"injected": 9, "unaddressed": 20, "block": (3, 9)}, "too early", "promote"),
    ({"injected": 10, "unaddressed": 20, "block": (1, 10), "withheld": (6, 10)}, "helps", ""),
    ({"injected": 9, "unaddressed": 3}, "no facts yet", ""),
    ({"injected": 200, "block": (0, 3), "withheld": (0, 200)}, "too early", ""),
    ({"injected": 9, "addressed": 10, "unaddressed": 10}, "no facts yet", ""),
])  # fmt: skip
def test_verdicts_and_proposals(counted, verdict, proposal):
    effect = weigh_counts(**counted)
    assert (effect.verdict, effect.proposal) == (verdict, proposal)
    assert effect.reason
    assert "\n" not in effect.reason
    assert not effect.reason.endswith(".")
    assert bool(effect.needed) == (verdict == "too early" and bool(effect.untold.of))


def test_a_mistake_corrected_in_its_session_counts_as_prevented():
    fixed = [replace(occasion, outcome="corrected") for occasion in occasions(block=(20, 20))]
    effect = weigh(CARD, {"injected": 20}, [*fixed, *occasions(withheld=(12, 20))])
    assert (effect.verdict, effect.told.times, effect.outcomes) == ("helps", 0, {"corrected": 20})


def test_a_returning_mistake_is_promoted():
    counted, seen = {"injected": 20}, occasions(block=(12, 20))
    assert "severity" in weigh(CARD, counted, seen).reason
    high = replace(CARD, severity="high", paths=("src/**",))
    assert "gate: ask" in weigh(high, counted, seen).reason
    loudest = weigh(replace(high, gate="ask"), counted, seen)
    assert (loudest.proposal, "checklist" in loudest.reason) == ("edit", True)


def test_archiving_an_unused_card_is_proposed_only_after_a_long_time():
    used = {"injected": 1, "sessions": 1}
    effects = [weigh(CARD, {}), weigh(CARD, {}, idle=True), weigh(CARD, used, idle=True)]
    assert [effect.proposal for effect in effects] == ["", "archive", ""]


COUNTED = ("injected", "addressed", "unaddressed", "helpful", "harmful", "tokens", "bumped")
ARMS = ("block", "act", "withheld")


@given(
    st.fixed_dictionaries(dict.fromkeys(COUNTED, counts)),
    st.fixed_dictionaries(dict.fromkeys(ARMS, st.tuples(counts, counts))),
    st.booleans(),
)
def test_any_counts_have_a_verdict(counted, arms, idle):
    effect = weigh(CARD, counted, occasions(**arms), idle=idle)
    assert effect.verdict in VERDICTS
    assert effect.proposal in ("", "edit", "archive", "promote")
    assert 0 <= effect.prevents <= 1
    low, high = effect.interval
    assert -1 <= low <= effect.difference <= high <= 1
    assert effect.told.times <= effect.told.of
    assert effect.addressed <= effect.checked


def test_lists_of_an_overview():
    good = weigh_counts(injected=30, block=(1, 30), withheld=(9, 12))
    bad = weigh_counts(injected=20, sessions=20, harmful=3)
    quiet = weigh_counts(injected=10, sessions=10, unaddressed=40)
    unused = weigh_counts()
    ignored = replace(unused, card=replace(CARD, status="ignored"))
    outside = weigh_counts(unaddressed=40)  # answers judged without an injection that was counted
    summary = overview(good, bad, quiet, unused, ignored, replace(outside, card=ignored.card))
    assert top(summary) == (good, bad, quiet)
    assert top(summary, 1) == (good,)
    assert noisy(summary) == (bad, quiet)
    early = weigh_counts(injected=10, sessions=10, unaddressed=40, block=(0, 10))
    assert noisy(overview(early)) == ()
    assert never_used(summary) == (unused,)
    verdicts = count_verdicts(summary.effects)
    assert tuple(verdicts) == VERDICTS
    assert verdicts["never used"] == 3


def test_the_outcomes_of_a_card_are_listed():
    effect = weigh_counts(injected=5, opened=2, block=(1, 4))
    assert tell_outcomes(effect) == "opened 2×, avoided 3×, left 1×"
    assert tell_outcomes(weigh_counts()) == ""

"""What texts of ours cost a session, and what they do to the provider's cache."""

import pathlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lessons_kb.ledger.cost import (
    EXPLAINED,
    KEPT,
    LOST,
    NO_CACHE,
    NOT_KNOWN,
    Lost,
    add_up,
    measure_session,
)
from lessons_kb.store.journal import SentText
from lessons_kb.transcripts.session_records import (
    COMPACTION,
    PROMPT,
    REQUEST,
    Entry,
    open_record,
)
from lessons_kb.transcripts.usage import Usage

TRANSCRIPTS = pathlib.Path(__file__).parents[1] / "golden" / "transcripts"


def text(at, channel="prompt", tokens=100):
    return SentText(session="s", at=at, channel=channel, tokens=tokens)


def request(at, read, written, uncached=10, model="m"):
    usage = Usage(uncached=uncached, cache_read=read, cache_written=written, output=5, model=model)
    return Entry(kind=REQUEST, at=at, usage=usage)


def measure(*moments, **how):
    texts = [moment for moment in moments if isinstance(moment, SentText)]
    entries = [moment for moment in moments if isinstance(moment, Entry)]
    return measure_session("s", "claude-code", entries, texts, **how)


def test_a_text_counts_once_as_added_and_in_every_request_that_has_it():
    cost = measure(
        text(1, "titles", 300),
        text(2, "prompt", 100),
        request(3, 0, 990),  # input 1,000, of it 400 ours
        text(4, "call", 50),
        request(5, 990, 500),  # input 1,500, of it 450 ours
        request(6, 1490, 0),  # input 1,500, of it 450 ours
    )
    assert cost.tokens == {"titles": 300, "prompt": 100, "call": 50}
    assert cost.texts == {"titles": 1, "prompt": 1, "call": 1}
    assert (cost.input, cost.ours, cost.share) == (4_000, 1_300, 0.325)


def test_the_cache_before_and_after_a_text_is_added_up():
    cost = measure(
        text(1, "titles"),
        request(2, 0, 900),
        text(3, "call"),
        request(4, 900, 100),
        request(5, 1000, 30),  # no text of ours before it
        text(6, "prompt"),
        request(7, 1030, 70),
    )
    around = cost.around
    assert around.pairs == 2
    assert (around.read_before, around.written_before) == (0 + 1000, 900 + 30)
    assert (around.read_after, around.written_after) == (900 + 1030, 100 + 70)
    assert cost.after_ours == {KEPT: 2}
    assert cost.without_ours == {KEPT: 1}
    assert cost.lost == ()


def test_a_request_that_reads_less_than_was_cached_has_lost_the_difference():
    cost = measure(
        request(1, 0, 900),
        text(2, "titles", 10),
        text(2, "prompt", 10),
        request(3, 250, 800),
        request(4, 200, 800),  # lost as well, but not after a text of ours
    )
    assert cost.lost == (Lost(at=3, channels=("titles", "prompt"), tokens=650),)
    assert cost.after_ours == {LOST: 1}
    assert cost.without_ours == {LOST: 1}


@pytest.mark.parametrize(("between", "after", "state"), [
    ((), request(20, 899, 50), LOST),
    ((), request(20, 900, 50), KEPT),
    ((Entry(kind=COMPACTION, at=11),), request(20, 0, 50), EXPLAINED),
    ((), request(20, 0, 50, model="other"), EXPLAINED),
    ((), request(10 + 301, 0, 50), EXPLAINED),
    ((), request(20, None, 50), NOT_KNOWN),
    ((), Entry(kind=REQUEST, at=20), NOT_KNOWN),
])  # fmt: skip
def test_only_a_loss_without_another_reason_is_held_against_us(between, after, state):
    cost = measure(request(10, 0, 900), *between, text(12), after)
    assert cost.after_ours == {state: 1}
    assert bool(cost.lost) is (state == LOST)


def test_a_request_without_a_cache_can_lose_nothing():
    cost = measure(request(1, 0, 0), text(2), request(3, 0, 0))
    assert cost.after_ours == {NO_CACHE: 1}


def test_unknown_usage_is_unknown_and_never_zero():
    cost = measure(text(1), Entry(kind=REQUEST, at=2), request(3, None, 5))
    assert (cost.requests, cost.unknown_requests) == (2, 2)
    assert (cost.input, cost.ours, cost.share) == (None, None, None)
    without_record = measure(text(1))
    assert (without_record.input, without_record.share) == (None, None)
    sums = add_up([cost, without_record], {"no record": 1}, days=30)
    assert (sums.input, sums.ours, sums.share) == (None, None, None)
    assert sums.tokens["prompt"] == 200, "the journal knows what was sent"


def test_a_part_with_unknown_usage_is_left_out_of_the_share():
    cost = measure(text(1), request(2, 0, 990), Entry(kind=REQUEST, at=3))
    assert (cost.requests, cost.unknown_requests) == (2, 1)
    assert (cost.input, cost.ours) == (1_000, 100)


def test_a_compaction_removes_our_texts():
    cost = measure(text(1), request(2, 0, 990), Entry(kind=COMPACTION, at=3), request(4, 0, 90))
    assert cost.ours == 100


def test_a_rebuilt_context_forgets_the_block_with_the_next_prompt():
    moments = (
        text(1, "titles", 300),
        text(2, "prompt", 100),
        text(3, "call", 10),
        request(4, 0, 990),
        Entry(kind=PROMPT, at=5),
        request(6, 0, 990),
    )
    assert measure(*moments).ours == 410 + 410
    assert measure(*moments, is_rebuilt=True).ours == 410 + 310


def test_a_rebuilt_context_has_the_titles_of_its_last_start():
    moments = (text(1, "titles", 300), request(2, 0, 990), text(3, "titles", 300))
    assert measure(*moments, request(4, 0, 990), is_rebuilt=True).ours == 300 + 300


amounts = st.one_of(st.none(), st.integers(0, 10_000))
requests = st.builds(
    lambda at, uncached, read, written: Entry(
        kind=REQUEST, at=at, usage=Usage(uncached=uncached, cache_read=read, cache_written=written)
    ),
    st.integers(0, 50), amounts, amounts, amounts,
)  # fmt: skip
texts = st.builds(text, st.integers(0, 50), st.sampled_from(["titles", "prompt", "call"]))


@given(st.lists(st.one_of(requests, texts), max_size=12))
def test_every_pair_of_requests_has_one_state_and_every_loss_is_positive(moments):
    cost = measure(*moments)
    pairs = sum(cost.after_ours.values()) + sum(cost.without_ours.values())
    assert pairs == max(cost.requests - 1, 0)
    assert len(cost.lost) == cost.after_ours.get(LOST, 0)
    assert all(loss.tokens > 0 for loss in cost.lost)
    assert cost.share is None or 0 <= cost.share <= 1
    assert (cost.input is None) == (cost.requests == cost.unknown_requests)


RECORDED = {
    "claude-code-2.1.332": (
        "claude-code",
        [(1795946761.98, "titles", 144), (1795946765.44, "prompt", 86),
         (1795946771.97, "call", 55), (1795946783.05, "prompt", 69)],
        (6, 79_084, 1_738, {KEPT: 2}, {KEPT: 3}),
        (26_045, 149, 26_194, 352),
    ),
    "codex-0.171.0": (
        "codex",
        [(1795946808.24, "titles", 142), (1795946809.77, "prompt", 86),
         (1795946811.77, "call", 55), (1795946817.04, "prompt", 69)],
        (5, 51_500, 1_443, {KEPT: 2}, {KEPT: 1, NO_CACHE: 1}),
        (20_126, 0, 20_411, 0),
    ),
}  # fmt: skip
"""Sessions of real clients with a provider that caches the beginning that two requests share."""


@pytest.mark.parametrize("name", RECORDED)
def test_recorded_sessions_keep_the_cache(name):
    agent, rows, counts, cache = RECORDED[name]
    record = open_record(agent, usage=True)
    data = (TRANSCRIPTS / f"{name}.jsonl").read_bytes()
    entries = [*record.feed(data.split(b"\n")), *record.finish(), *record.finish_requests()]
    texts = [text(*row) for row in rows]
    cost = measure_session("s", agent, entries, texts)
    seen = (cost.requests, cost.input, cost.ours, cost.after_ours, cost.without_ours)
    assert seen == counts
    around = cost.around
    assert cache == (
        around.read_before, around.written_before, around.read_after, around.written_after,
    )  # fmt: skip
    assert cost.lost == ()

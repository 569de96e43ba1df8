"""The stall guard: a deadline between chunks, and one final state."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lessons_kb.errors import InputError
from lessons_kb.guards import StallGuard
from lessons_kb.guards.silent_runs import FINAL_STATES

ENDINGS = {
    "completed": lambda guard: guard.finish(ok=True),
    "failed": lambda guard: guard.finish(ok=False),
    "cancelled": lambda guard: guard.cancel(),
    "stalled": lambda guard: guard.check(1000) and guard.state,
}


def test_deadline_is_90_seconds_after_the_last_chunk():
    guard = StallGuard(now=10)
    assert guard.deadline == 100
    assert guard.state == "running"
    guard.chunk(50)
    assert guard.deadline == 140
    assert guard.check(139.9) is None
    assert guard.state == "running"
    assert guard.check(140) is not None
    assert guard.state == "stalled"


def test_signal_of_a_stall_is_given_once():
    guard = StallGuard(now=0, patience=2)
    signal = guard.check(2.5)
    assert (signal.guard, signal.level) == ("stalls", "nudge")
    assert signal.message.startswith("No output for 2.5 s: the run has stalled.")
    assert signal.user_line == "No output for 2.5 s — the run counts as stalled."
    assert signal.record == {"kind": "stall", "state": "stalled", "silence": 2.5}
    assert guard.check(3) is None


def test_silence_is_counted_from_the_last_chunk():
    guard = StallGuard(now=100, patience=30)
    guard.chunk(110)
    signal = guard.check(145)
    assert signal.record["silence"] == 35
    assert signal.user_line.startswith("No output for 35 s")


def test_patience_without_end():
    guard = StallGuard(now=0, patience=None)
    assert guard.deadline is None
    assert guard.check(1e9) is None
    assert guard.finish(ok=True) == "completed"


@pytest.mark.parametrize("patience", [0, -1, float("nan")])
def test_patience_must_be_positive(patience):
    with pytest.raises(InputError, match="patience must be above 0 seconds"):
        StallGuard(now=0, patience=patience)


def test_patience_may_be_short():
    assert StallGuard(now=0, patience=0.1).deadline == 0.1
    assert StallGuard.from_state(StallGuard(now=1).to_state()).deadline == 91
    assert StallGuard.from_state(StallGuard(now=1).to_state(), patience=0.1).deadline == 1.1
    assert StallGuard.from_state(StallGuard(now=1).to_state(), patience=None).deadline is None


@pytest.mark.parametrize(("first", "second"), list(itertools.product(ENDINGS, repeat=2)))
def test_first_end_decides(first, second):
    guard = StallGuard(now=0)
    assert ENDINGS[first](guard) == first
    assert guard.deadline is None
    guard.chunk(900)
    ENDINGS[second](guard)
    assert guard.state == first
    assert guard.cancel() == first
    assert guard.finish(ok=False) == first


@pytest.mark.slow
@given(
    st.lists(
        st.tuples(st.sampled_from(["chunk", "check", "cancel", "ok", "bad"]), st.floats(0, 99)),
        max_size=15,
    ),
    st.integers(0, 15),
)
def test_final_state_is_set_exactly_once_and_survives_a_round_trip(steps, cut):
    guard, now, states = StallGuard(now=0, patience=30), 0.0, ["running"]
    for index, (step, wait) in enumerate(steps):
        if index == cut:
            guard = StallGuard.from_state(guard.to_state(), patience=30)
        now += wait
        due = guard.deadline is not None and now >= guard.deadline
        if step == "chunk":
            guard.chunk(now)
        elif step == "check":
            assert (guard.check(now) is not None) == due
        elif step == "cancel":
            guard.cancel()
        else:
            guard.finish(ok=step == "ok")
        if guard.state != states[-1]:
            states.append(guard.state)
    assert len(states) <= 2
    assert set(states[1:]) <= set(FINAL_STATES)


@pytest.mark.parametrize(
    "state", [None, {}, {"heard": 1.0, "state": "odd"}, {"heard": "1", "state": "running"}]
)
def test_what_is_no_state_is_refused(state):
    with pytest.raises(InputError):
        StallGuard.from_state(state)

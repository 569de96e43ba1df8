"""The stall guard: a deadline between chunks, and one final state."""

import itertools

import pytest

from lessons_kb.errors import InputError
from lessons_kb.guards import StallGuard

ENDINGS = {
    "completed": lambda guard: guard.finish(ok=True),
    "failed": lambda guard: guard.finish(ok=False),
    "cancelled": lambda guard: guard.cancel(),
    "stalled": lambda guard: guard.check(1000) and guard.state,
}


def test_deadline_is_90_seconds_after_the_last_chunk_and_a_stall_is_told_once():
    guard = StallGuard(now=10)
    assert (guard.deadline, guard.state) == (100, "running")
    guard.chunk(50)
    assert guard.deadline == 140
    assert guard.check(139.9) is None
    assert guard.state == "running"
    signal = guard.check(142.5)
    assert (signal.guard, signal.level, guard.state) == ("stalls", "nudge", "stalled")
    assert signal.message.startswith("No output for 92.5 s: the run has stalled.")
    assert signal.user_line == "No output for 92.5 s — the run counts as stalled."
    assert signal.record == {"kind": "stall", "state": "stalled", "silence": 92.5}
    assert guard.check(143) is None


def test_patience_is_above_zero_or_without_end():
    assert StallGuard(now=0, patience=0.1).deadline == 0.1
    guard = StallGuard(now=0, patience=None)
    assert (guard.deadline, guard.check(1e9), guard.finish(ok=True)) == (None, None, "completed")
    for patience in (0, -1, float("nan")):
        with pytest.raises(InputError, match="patience must be above 0 seconds"):
            StallGuard(now=0, patience=patience)


@pytest.mark.parametrize(("first", "second"), list(itertools.product(ENDINGS, repeat=2)))
def test_first_end_decides(first, second):
    guard = StallGuard(now=0)
    assert ENDINGS[first](guard) == first
    assert guard.deadline is None
    guard.chunk(900)
    ENDINGS[second](guard)
    assert guard.state == guard.cancel() == guard.finish(ok=False) == first

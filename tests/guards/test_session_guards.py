"""All guards together: the loop of the documentation, states, determinism, cost."""

import json
import textwrap

import pytest
from hypothesis import given
from hypothesis import strategies as st

import lessons_kb.guards
from lessons_kb.errors import InputError
from lessons_kb.guards import (
    EditLoopGuard,
    Event,
    FileLedger,
    Limits,
    MistakeTracker,
    RepeatGuard,
    Watch,
)
from lessons_kb.model import EVENTS, LEVELS, OUTCOMES

EVENT = st.builds(
    Event,
    kind=st.sampled_from(EVENTS),
    scope=st.sampled_from(["", "/w"]),
    tool=st.sampled_from(["", "t", "u"]),
    targets=st.lists(st.sampled_from(["a", "b", "a/c"]), max_size=2).map(tuple),
    arguments=st.sampled_from(["", "1", "2"]),
    outcome=st.sampled_from(OUTCOMES),
    text=st.sampled_from(["", "## Files Read\n- seen"]),
)
RUN = st.lists(EVENT, max_size=30) | st.lists(
    st.sampled_from(
        [
            Event(kind="tool", tool="t", arguments="1", outcome="exec_error"),
            Event(kind="edit", tool="t", targets=("a",), arguments="2"),
            Event(kind="tool", tool="u", arguments="3", outcome="api_error"),
            Event(kind="prompt"),
        ]
    ),
    max_size=30,
)


def documented_loop():
    """Return the function printed in the package's docstring."""
    code = lessons_kb.guards.__doc__.partition("::\n")[2].partition("\nAfter the loop")[0]
    assert len([line for line in code.splitlines() if line.strip()]) <= 14
    space = {}
    exec(textwrap.dedent(code), space)
    return space["work"]


def play(calls, outcome):
    """Run the documented loop over a model that makes these calls; return its result and talk."""
    queue, heard = iter(calls), []

    def model(said):
        heard[:] = said
        return next(queue, None)

    result = documented_loop()("fix it", model, lambda _call: (outcome, "result"))
    return result, heard


def test_documented_loop_works_undisturbed():
    result, heard = play([{"tool": "Read", "arguments": {"file_path": "a"}}], "ok")
    assert result == "result"
    assert heard == ["fix it", "result"]


def test_documented_loop_gives_guidance_and_then_stops():
    calls = [{"tool": "Bash", "arguments": {"command": f"make {n}"}} for n in range(9)]
    result, heard = play(calls, "exec_error")
    assert result == "Repeated errors persisted — stopped the turn."
    assert len([line for line in heard if line == "result"]) == 5
    assert len([line for line in heard if line.startswith("3 tool calls in a row failed")]) == 1


@given(RUN, st.integers(0, 30))
def test_state_kept_between_two_processes_changes_nothing(events, cut):
    limits = Limits(ledger_bytes=200)
    whole = Watch(scope="/w", limits=limits)
    parted = Watch(scope="/w", limits=limits)
    for index, event in enumerate(events):
        if index == cut:
            kept = json.loads(json.dumps(parted.to_state()))
            parted = Watch.from_state(kept, scope="/w", limits=limits)
        assert parted.see(event) == whole.see(event)
    assert parted.to_state() == whole.to_state()


@pytest.mark.slow
@given(RUN)
def test_one_speaks_at_most_and_notes_follow(events):
    watch = Watch()
    for event in events:
        signals = watch.see(event)
        levels = [signal.level for signal in signals]
        assert set(levels) <= set(LEVELS)
        assert sum(level != "note" for level in levels) <= 1
        assert levels == sorted(levels, key=lambda level: level == "note")
        assert len({signal.guard for signal in signals}) == len(signals)
        for signal in signals:
            assert signal.message
            assert json.loads(json.dumps(signal.record)) == signal.record
            assert signal.record["kind"]
            assert (signal.user_line == "") == (signal.level == "note")


@pytest.mark.slow
@given(RUN)
def test_same_events_give_the_same_signals(events):
    one, other = Watch(), Watch()
    assert [one.see(event) for event in events] == [other.see(event) for event in events]


@pytest.mark.slow
@given(RUN)
def test_state_handed_out_is_not_touched_later(events):
    watch = Watch()
    kept = []
    for event in events:
        watch.see(event)
        state = watch.to_state()
        kept.append((state, json.dumps(state)))
    assert all(json.dumps(state) == text for state, text in kept)


@pytest.mark.slow
@given(RUN, RUN)
def test_watch_does_not_change_the_state_it_started_from(before, after):
    watch = Watch()
    for event in before:
        watch.see(event)
    state = watch.to_state()
    text = json.dumps(state)
    resumed = Watch.from_state(state)
    for event in after:
        resumed.see(event)
    assert json.dumps(state) == text


def test_limits_reach_each_guard_also_after_a_restart():
    limits = Limits(mistakes=1, repeats=2, edits=1, ledger_bytes=60)
    failed = Event(kind="tool", outcome="exec_error")
    call = Event(kind="tool", tool="t", arguments="a")
    kept = (Watch().to_state(), None, _state(edits=None))
    for watch in (Watch(limits=limits), *(Watch.from_state(x, limits=limits) for x in kept)):
        assert [signal.guard for signal in watch.see(failed)] == ["mistakes"]
        assert watch.see(call) == ()
        assert [signal.guard for signal in watch.see(call)] == ["repeats"]
        assert [signal.guard for signal in watch.see(Event(kind="edit", targets=("a",)))] == [
            "edits"
        ]
        watch.see(Event(kind="read", targets=tuple(f"file{n}" for n in range(50))))
        assert len(watch.files.format()) <= 60


def test_scope_reaches_the_ledger_also_after_a_restart():
    read = Event(kind="read", targets=("a",), scope="/w")
    kept = (Watch().to_state(), None, {"version": -1}, _state(edits=None))
    for watch in (Watch(scope="/w"), *(Watch.from_state(state, scope="/w") for state in kept)):
        watch.see(read)
        assert watch.files.read == ("a",)


def _state(**changes):
    watch = Watch()
    watch.see(Event(kind="edit", targets=("a",)))
    return {**watch.to_state(), **changes}


@pytest.mark.parametrize("state", [
    *(None, 3, "x", [], {}),
    _state(version=0),
    _state(version=None),
    _state(mistakes=None),
    _state(mistakes={"run": "abc", "nudged": False}),
    _state(mistakes={"run": [1], "nudged": False}),
    _state(mistakes={"run": [], "nudged": 0}),
    _state(mistakes={"run": []}),
    _state(mistakes={"run": [], "nudged": False, "more": 1}),
    _state(repeats={"call": [], "count": True}),
    _state(repeats={"call": [None], "count": 0}),
    _state(edits={"counts": []}),
    _state(edits={"counts": {"": 3}}),
    _state(edits={"counts": {"": {"a": "3"}}}),
    _state(files={"read": [], "modified": {}}),
    {key: value for key, value in _state().items() if key != "files"},
])  # fmt: skip
def test_what_is_no_state_starts_afresh(state):
    assert Watch.from_state(state).to_state() == Watch().to_state()


@pytest.mark.parametrize("guard", [MistakeTracker, RepeatGuard, EditLoopGuard, FileLedger])
def test_single_guard_refuses_what_is_no_state(guard):
    with pytest.raises(InputError, match="start a new guard"):
        guard.from_state({"odd": 1})
    with pytest.raises(InputError, match="start a new guard"):
        guard.from_state(None)


def test_front_door_is_sorted_complete_and_nothing_else():
    names = lessons_kb.guards.__all__
    assert names == sorted(names)
    assert dir(lessons_kb.guards) == names
    for name in names:
        assert getattr(lessons_kb.guards, name).__name__ == name
    with pytest.raises(AttributeError, match="no attribute 'Nothing'"):
        lessons_kb.guards.Nothing  # noqa: B018

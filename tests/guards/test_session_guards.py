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
LOUD = [
    Event(kind="tool", tool="t", arguments="1", outcome="exec_error"),
    Event(kind="edit", tool="t", targets=("a",), arguments="2"),
    Event(kind="tool", tool="u", arguments="3", outcome="api_error"),
    Event(kind="prompt"),
]
RUN = st.lists(EVENT, max_size=30) | st.lists(st.sampled_from(LOUD), max_size=30)


def play(calls, outcome):
    """Run the loop of the package's docstring over a model that makes these calls."""
    code = lessons_kb.guards.__doc__.partition("::\n")[2].partition("\nAfter the loop")[0]
    assert len([line for line in code.splitlines() if line.strip()]) <= 14
    space = {}
    exec(textwrap.dedent(code), space)
    queue, heard = iter(calls), []

    def model(said):
        heard[:] = said
        return next(queue, None)

    return space["work"]("fix it", model, lambda _call: (outcome, "result")), heard


def test_documented_loop_works_undisturbed():
    result, heard = play([{"tool": "Read", "arguments": {"file_path": "a"}}], "ok")
    assert (result, heard) == ("result", ["fix it", "result"])


def test_documented_loop_gives_guidance_and_then_stops():
    calls = [{"tool": "Bash", "arguments": {"command": f"make {n}"}} for n in range(9)]
    result, heard = play(calls, "exec_error")
    assert result == "Repeated errors persisted — stopped the turn."
    assert heard.count("result") == 5
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
@given(RUN, RUN)
def test_no_state_is_shared(before, after):
    watch = Watch()
    kept = []
    for event in before:
        watch.see(event)
        kept.append((state := watch.to_state(), json.dumps(state)))
    kept.append((state := watch.to_state(), json.dumps(state)))
    resumed = Watch.from_state(state)
    for event in after:
        resumed.see(event)
    assert all(json.dumps(state) == text for state, text in kept)


def state_with(**changes):
    watch = Watch()
    watch.see(Event(kind="edit", targets=("a",)))
    return {**watch.to_state(), **changes}


@pytest.mark.parametrize("kept", ["new", Watch().to_state(), None, state_with(edits=None)])
def test_limits_and_scope_reach_each_guard_also_after_a_restart(kept):
    options = {
        "scope": "/w",
        "limits": Limits(mistakes=1, repeats=2, edits=1, ledger_bytes=60),
    }
    watch = Watch(**options) if kept == "new" else Watch.from_state(kept, **options)
    call = Event(kind="tool", tool="t", arguments="a")
    edit = Event(kind="edit", targets=("a",))
    happened = (Event(kind="tool", outcome="exec_error"), call, call, edit)
    said = [[signal.guard for signal in watch.see(event)] for event in happened]
    assert said == [["mistakes"], [], ["repeats"], ["edits"]]
    files = tuple(f"file{n}" for n in range(50))
    watch.see(Event(kind="read", targets=files, scope="/w"))
    assert len(watch.files.format()) <= 60
    assert watch.files.read == tuple(sorted(files))


@pytest.mark.parametrize("state", [
    *(None, 3, "x", [], {}),
    state_with(version=0),
    state_with(version=None),
    state_with(mistakes=None),
    state_with(mistakes={"run": "abc", "nudged": False}),
    state_with(mistakes={"run": [1], "nudged": False}),
    state_with(mistakes={"run": [], "nudged": 0}),
    state_with(mistakes={"run": []}),
    state_with(mistakes={"run": [], "nudged": False, "more": 1}),
    state_with(repeats={"call": [], "count": True}),
    state_with(repeats={"call": [None], "count": 0}),
    state_with(edits={"counts": []}),
    state_with(edits={"counts": {"": 3}}),
    state_with(edits={"counts": {"": {"a": "3"}}}),
    state_with(files={"read": [], "modified": {}}),
    {key: value for key, value in state_with().items() if key != "files"},
])  # fmt: skip
def test_what_is_no_state_starts_afresh(state):
    assert Watch.from_state(state).to_state() == Watch().to_state()


@pytest.mark.parametrize("guard", [MistakeTracker, RepeatGuard, EditLoopGuard, FileLedger])
def test_single_guard_refuses_what_is_no_state(guard):
    for state in ({"odd": 1}, None):
        with pytest.raises(InputError, match="start a new guard"):
            guard.from_state(state)


def test_front_door_is_sorted_complete_and_nothing_else():
    names = lessons_kb.guards.__all__
    assert names == sorted(names) == dir(lessons_kb.guards)
    assert [getattr(lessons_kb.guards, name).__name__ for name in names] == names

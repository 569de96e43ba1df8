"""The memory of a session is typed, and an older build's memory is read."""

import json
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lessons_kb.ledger.session_memory import (
    AboutCall,
    ExpectedMistake,
    GivenCard,
    Remark,
    RepeatedAnswer,
    SessionMemory,
    StopOrder,
    WaitingText,
)

EARLIER = Path(__file__).parents[1] / "golden" / "session_memory.json"
"""As version 0.1.0 wrote it, with something in every field."""


def test_what_an_earlier_build_wrote_is_read_and_written_the_same():
    stored = json.loads(EARLIER.read_text("utf-8"))
    memory = SessionMemory.from_json(json.dumps(stored))
    assert memory.cards == [GivenCard("/brain", "lessons/retry.md")]
    assert memory.told == RepeatedAnswer(prompt="p1", context="[LESSONS]")
    assert memory.stopping == StopOrder(step="m1", line="lessons: stopped")
    assert memory.matched[0] == ExpectedMistake("c1", "brain", "lessons/retry.md", "text")
    assert [remark.prompt for remark in memory.shown] == [3, None]
    assert memory.waiting == [WaitingText("files", "## Files Modified")]
    written = json.loads(memory.to_json())
    assert {name: written[name] for name in stored} == stored
    added = {name: written[name] for name in written.keys() - stored.keys()}
    assert not any(added.values()), "what that build did not know is as at the start"


def test_an_empty_memory_is_stored_as_an_earlier_build_reads_it():
    stored = json.loads(SessionMemory().to_json())
    assert (stored["told"], stored["stopping"], stored["cards"]) == ([], [], [])


@pytest.mark.parametrize("stored", ["", "null", "[]", "{", '"x"', '{"unknown": 1}'])
def test_an_invalid_memory_is_read_as_an_empty_one(stored):
    assert SessionMemory.from_json(stored) == SessionMemory()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("cards", [["/brain"], "x", None, ["/brain", 3], {"root": "/brain"}]),
        ("told", ["p1"]),
        ("stopping", [1, 2]),
        ("shown", [["c1", "key", "three"], ["c1"]]),
        ("asked", {"c1": "key"}),
        ("late", "many"),
        ("steps", []),
    ],
)
def test_an_invalid_record_is_ignored(name, value):
    memory = SessionMemory.from_json(json.dumps({name: value}))
    assert memory == SessionMemory()


def test_the_newest_records_are_kept():
    memory = SessionMemory(waiting=[WaitingText("files", str(n)) for n in range(20)])
    waiting = SessionMemory.from_json(memory.to_json()).waiting
    assert [text.text for text in waiting] == [str(n) for n in range(12, 20)]


def test_a_call_that_did_not_run_leaves_no_records():
    memory = SessionMemory(
        shown=[Remark("c1", "a"), Remark("c2", "b", 1)],
        asked=[AboutCall("c1", "x"), AboutCall("c2", "a"), AboutCall("c2", "b")],
    )
    memory.take_back("c1")
    assert memory.shown == [Remark("c2", "b", 1)]
    assert memory.asked == [AboutCall("c2", "b")], "what was said of the call is asked anew"


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=12,
)
FIELDS = sorted(json.loads(SessionMemory().to_json()))


@given(st.dictionaries(st.sampled_from(FIELDS), JSON))
def test_no_stored_text_is_an_error(stored):
    memory = SessionMemory.from_json(json.dumps(stored))
    assert SessionMemory.from_json(memory.to_json()) == memory


def test_a_lesson_that_an_earlier_build_gave_for_a_change_is_not_given_again():
    memory = SessionMemory.from_json(EARLIER.read_text("utf-8"))
    brain, card = SimpleNamespace(alias="brain"), SimpleNamespace(id="lessons/retry.md")
    assert memory.note_in_turn("c9", [(brain, card)]) == []

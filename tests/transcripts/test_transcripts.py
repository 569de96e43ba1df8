"""Agents' records of sessions as entries."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lessons_kb.text.sanitize import without
from lessons_kb.transcripts.session_records import AGENTS, open_record, read_tail
from tests.transcripts import records


def read(agent, data, step=0):
    transcript = open_record(agent)
    found = []
    for start in range(0, len(data), step or len(data)):
        found += transcript.feed(data[start : start + (step or len(data))])
    found += transcript.finish()
    return [(e.kind, e.id, e.tool, e.ended, e.text or e.output) for e in found]


CLAUDE = [
    ("prompt", "p-1", "", "ok", "Make it green"),
    ("call", "t1", "Bash", "failed", "Exit code 1\n1 failed"),
    ("call", "t2", "Edit", "failed", "String to replace not found in file."),
    ("call", "t3", "Bash", "cancelled", "stopped"),
    ("interrupt", "u-4", "", "ok", ""),
    ("compaction", "u-5", "", "ok", "Summary so far"),
    ("answer", "", "", "ok", "Half\n\nand half."),
    ("prompt", "p-2", "", "ok", "또 안 돼요"),
    ("answer", "", "", "ok", "Done."),
]
CODEX = [
    ("prompt", "turn-1", "", "ok", "Make it green"),
    ("call", "c1", "Bash", "failed", "Exit code 3\n1 failed"),
    ("call", "c2", "apply_patch", "unknown", "Success. Updated a.py"),
    ("call", "c3", "zap", "failed", "unsupported call: zap"),
    ("answer", "", "", "ok", "Done."),
]
GEMINI = [
    ("prompt", "", "", "ok", "Make it green"),
    ("call", "g1", "run_shell_command", "failed", "Output: (empty)\nExit Code: 3"),
    ("call", "g2", "replace", "failed", "Could not find an exact match"),
    ("answer", "", "", "ok", "Done."),
]


@pytest.mark.parametrize("step", [0, 7, 1000])
@pytest.mark.parametrize(("name", "agent", "expected"), [
    ("CLAUDE", "claude-code", CLAUDE),
    ("CODEX", "codex", CODEX),
    ("GEMINI", "gemini-cli", GEMINI),
    ("GEMINI_DOCUMENT", "gemini-cli", GEMINI),
])  # fmt: skip
def test_a_record_tells_the_same_however_it_comes(name, agent, expected, step):
    assert read(agent, getattr(records, name), step) == expected


def test_each_entry_knows_session_time_and_place():
    for name, agent in zip(("CLAUDE", "CODEX", "GEMINI"), AGENTS, strict=False):
        transcript = open_record(agent)
        found = [*transcript.feed(getattr(records, name)), *transcript.finish()]
        assert {entry.session for entry in found} == {records.SESSION}
        assert all(entry.at > 1.7e9 or entry.id == "g2" for entry in found)
    assert {e.cwd for e in open_record("codex").feed(records.CODEX)} == {"/home/dev/proj"}


def test_a_tail_ends_at_the_last_whole_line():
    data = records.CLAUDE
    cut = data.index(b'"t1"', data.index(b"tool_result")) + 2
    first, offset, _steps = read_tail("claude-code", data[:cut])
    assert [entry.kind for entry in first] == ["prompt"]
    assert data[:offset].endswith(b"\n")
    second, end, _steps = read_tail("claude-code", data[offset:], offset)
    assert end == len(data)
    assert (second[0].id, second[0].tool, second[0].ended) == ("t1", "", "failed")


def test_a_result_ends_the_calls_that_were_made_together():
    _found, _end, steps = read_tail("codex", records.CODEX)
    assert steps == {"c1": "c1", "c2": "c2", "c3": "c3"}


def test_lines_that_are_no_objects_are_passed_over():
    data = b"not json\n[1]\n" + records.CLAUDE + b'{"type": "user", "mess'
    assert read("claude-code", data) == CLAUDE


def test_what_is_no_record_tells_nothing():
    assert read("claude-code", b'{"a": 1}\n{"type": "user"}\n') == []


@pytest.mark.parametrize(("value", "expected"), [
    ("1970-01-01T00:00:10Z", 10),
    ("1970-01-01T00:00:10", 10),
    (1_770_000_000_000, 1_770_000_000),
    (1_770_000_000, 1_770_000_000),
    ("soon", 0),
    (None, 0),
    ([], 0),
])  # fmt: skip
def test_times_are_read_in_any_form(value, expected):
    message = {"role": "user", "content": "Make it green"}
    line = {"type": "user", "sessionId": "s", "timestamp": value, "message": message}
    record = open_record("claude-code")
    (entry,) = [*record.feed(json.dumps(line).encode() + b"\n"), *record.finish()]
    assert entry.at == expected


def test_marks_are_taken_out_with_what_they_hold():
    assert without("a<x>b</x>c<x>d", "<x>", "</x>") == "ac<x>d"


KEYS = "type message content payload item id sessionId text input call_id name".split()
WORDS = "user assistant gemini tool_use tool_result function_call".split()
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(KEYS), inner | st.sampled_from(WORDS), max_size=5)
    ),
    max_leaves=20,
)
TOP = "type message payload messages item toolCalls content".split()


@pytest.mark.slow
@pytest.mark.parametrize("agent", AGENTS)
@given(data=st.dictionaries(st.sampled_from(TOP), JSON))
def test_any_object_can_be_read(agent, data):
    transcript = open_record(agent)
    for entry in [*transcript.feed(json.dumps(data).encode() + b"\n"), *transcript.finish()]:
        assert isinstance(entry.text, str)
        assert isinstance(entry.output, str)

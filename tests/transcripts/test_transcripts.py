"""Agents' records of sessions as entries."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lessons_kb.text.sanitize import without
from lessons_kb.transcripts.session_records import AGENTS, open_record, read_tail
from tests.transcripts import records


def entries(agent, data):
    record = open_record(agent)
    return [*record.feed(data.split(b"\n")), *record.finish()]


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


@pytest.mark.parametrize(("agent", "data", "expected"), [
    ("claude-code", records.CLAUDE, CLAUDE),
    ("claude-code", b"not json\n[1]\n" + records.CLAUDE + b'{"type": "user", "mess', CLAUDE),
    ("claude-code", b'{"a": 1}\n{"type": "user"}\n', []),
    ("codex", records.CODEX, CODEX),
    ("gemini-cli", records.GEMINI, GEMINI),
    ("gemini-cli", records.GEMINI_DOCUMENT, GEMINI),
], ids=["claude", "broken lines", "no record", "codex", "gemini", "gemini, older"])  # fmt: skip
def test_a_record_is_parsed_into_entries(agent, data, expected):
    found = entries(agent, data)
    assert [(e.kind, e.id, e.tool, e.ended, e.text or e.output) for e in found] == expected
    assert {entry.session for entry in found} <= {records.SESSION}
    assert all(entry.at > 1.7e9 or entry.id == "g2" for entry in found)
    assert agent != "codex" or {entry.cwd for entry in found} == {"/home/dev/proj"}


def test_a_tail_ends_at_the_last_complete_line():
    data = records.CLAUDE
    cut = data.index(b'"t1"', data.index(b"tool_result")) + 2
    first, offset, _steps = read_tail("claude-code", data[:cut])
    assert [entry.kind for entry in first] == ["prompt"]
    assert data[:offset].endswith(b"\n")
    second, end, _steps = read_tail("claude-code", data[offset:], offset)
    assert end == len(data)
    assert (second[0].id, second[0].tool, second[0].ended) == ("t1", "", "failed")


def test_calls_without_a_result_between_them_share_a_step():
    _found, _end, steps = read_tail("codex", records.CODEX)
    assert steps == {"c1": "c1", "c2": "c2", "c3": "c3"}
    calls = [records.call("function_call", number, name="x") for number in ("a", "b")]
    assert read_tail("codex", records.lines(*calls))[2] == {"a": "a", "b": "a"}


@pytest.mark.parametrize(("value", "expected"), [
    ("1970-01-01T00:00:10Z", 10),
    ("1970-01-01T00:00:10", 10),
    (1_770_000_000_000, 1_770_000_000),
    (1_770_000_000, 1_770_000_000),
    ("soon", 0),
    (None, 0),
    ([], 0),
])  # fmt: skip
def test_timestamps_are_parsed_in_every_format(value, expected):
    message = {"role": "user", "content": "Make it green"}
    line = {"type": "user", "sessionId": "s", "timestamp": value, "message": message}
    (entry,) = entries("claude-code", json.dumps(line).encode())
    assert entry.at == expected


def test_tags_are_removed_with_their_content():
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
def test_any_json_object_can_be_parsed(agent, data):
    for entry in entries(agent, json.dumps(data).encode()):
        assert isinstance(entry.text, str)
        assert isinstance(entry.output, str)

"""The usage of requests in the records of agents."""

import pytest

from lessons_kb.transcripts.session_records import REQUEST, open_record, read_part
from lessons_kb.transcripts.usage import Usage
from tests.transcripts import records


def requests(agent, *objects):
    record = open_record(agent, usage=True)
    entries = [*record.feed(records.lines(*objects).split(b"\n"))]
    entries += [*record.finish(), *record.finish_requests()]
    return [entry for entry in entries if entry.kind == REQUEST]


def claude(second, message, usage, content="x", **more):
    line = records.claude("assistant", [{"type": "text", "text": content}], second, **more)
    line["message"] |= {"id": message, "model": more.pop("model", "opus"), "usage": usage}
    return line


FULL = {
    "input_tokens": 4,
    "cache_read_input_tokens": 900,
    "cache_creation_input_tokens": 70,
    "output_tokens": 1,
}


def test_the_lines_of_one_message_are_one_request_with_the_last_usage():
    found = requests(
        "claude-code",
        records.claude("user", "Make it green", 0),
        claude(1, "a", FULL),
        claude(2, "a", {**FULL, "output_tokens": 55}),
        claude(3, "b", {**FULL, "cache_read_input_tokens": 970}),
    )
    usage = Usage(uncached=4, cache_read=900, cache_written=70, output=55, model="opus")
    assert found[0].usage == usage
    assert usage.input == 974
    assert usage.cached == 970
    assert found[1].usage.cache_read == 970
    assert found[0].at < found[1].at
    assert found[1].at - found[0].at == 2, "the answer began with its first line"


@pytest.mark.parametrize("usage", [
    {},
    {"input_tokens": 4, "output_tokens": 1},
    {**FULL, "cache_read_input_tokens": None},
    {**FULL, "cache_read_input_tokens": "900"},
    {**FULL, "cache_read_input_tokens": -1},
    {**FULL, "cache_read_input_tokens": True},
])  # fmt: skip
def test_a_missing_amount_is_unknown(usage):
    (found,) = requests("claude-code", claude(1, "a", usage))
    assert found.usage.cache_read is None
    assert found.usage.input is None


def test_messages_of_the_client_and_of_subagents_are_no_requests():
    synthetic = claude(1, "a", FULL)
    synthetic["message"]["model"] = "<synthetic>"
    assert requests("claude-code", synthetic, claude(2, "b", FULL, isSidechain=True)) == []


def codex_usage(total, cached, output=5, **more):
    return {"input_tokens": total, "cached_input_tokens": cached, "output_tokens": output, **more}


def count(second, total, cached, so_far, **more):
    info = {
        "total_token_usage": codex_usage(so_far, 0),
        "last_token_usage": codex_usage(total, cached, **more),
    }
    return records.codex("event_msg", {"type": "token_count", "info": info}, second)


def test_the_input_of_codex_includes_the_cache_and_repeated_counts_are_one_request():
    found = requests(
        "codex",
        records.codex("session_meta", {"id": records.SESSION, "cwd": "/home/dev/proj"}),
        records.codex("turn_context", {"model": "gpt"}),
        records.codex("event_msg", {"type": "token_count", "info": None}, 1),
        records.call("function_call", "c1", 2, name="exec_command", arguments="{}"),
        count(3, 1000, 640, 1000),
        count(3, 1000, 640, 1000),
        records.call("function_call_output", "c1", 4, output="ok"),
        records.codex("response_item", {"type": "message", "role": "assistant"}, 5),
        count(6, 1200, 896, 2200, cache_write_input_tokens=100),
    )
    first = Usage(uncached=360, cache_read=640, cache_written=0, output=5, model="gpt")
    second = Usage(uncached=204, cache_read=896, cache_written=100, output=5, model="gpt")
    assert [entry.usage for entry in found] == [first, second]
    assert [entry.usage.input for entry in found] == [1000, 1200]
    assert found[1].at - found[0].at == 3, "an answer begins with its first item, not its count"
    assert {entry.session for entry in found} == {records.SESSION}


def test_a_step_of_opencode_is_a_request():
    message = {"role": "assistant", "sessionID": "s", "modelID": "m", "time": {"created": 5_000}}
    cache = {"read": 900, "write": 70}
    part = {"type": "step-finish", "tokens": {"input": 4, "output": 5, "cache": cache}}
    assert [*read_part(message, part, cwd="/")] == []
    (found,) = read_part(message, part, cwd="/", usage=True)
    expected = Usage(uncached=4, cache_read=900, cache_written=70, output=5, model="m")
    assert (found.kind, found.session, found.usage) == (REQUEST, "s", expected)
    (unknown,) = read_part(message, {"type": "step-finish"}, cwd="/", usage=True)
    assert unknown.usage.input is None


@pytest.mark.parametrize("agent", ["claude-code", "codex", "gemini-cli", "copilot-cli"])
@pytest.mark.parametrize("data", [records.CLAUDE, records.CODEX, records.GEMINI])
def test_other_entries_are_the_same_with_usage(agent, data):
    def read(usage):
        record = open_record(agent, usage=usage)
        entries = [*record.feed(data.split(b"\n")), *record.finish()]
        return [entry for entry in entries if entry.kind != REQUEST]

    assert read(usage=True) == read(usage=False)

"""A session's record into the journal, once."""

import pathlib
from dataclasses import replace

import pytest

from lessons_kb import Brain
from lessons_kb.brain.exchange import take_in_transcript
from lessons_kb.errors import InputError
from lessons_kb.model import Event

NOW = 1_795_200_000.0
"""The evening of the records' sessions."""


@pytest.fixture(scope="session")
def records():
    import importlib.util

    path = pathlib.Path(__file__).parents[1] / "transcripts" / "records.py"
    spec = importlib.util.spec_from_file_location("brain_transcript_records", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def brain(root):
    return Brain.open(root)


def journal(brain):
    return brain.layers[0].journal


def events(brain):
    return [(e.kind, e.tool, e.outcome) for e in journal(brain).events.find()]


@pytest.mark.parametrize(
    ("name", "counts"),
    [
        ("CLAUDE", (2, 3, 2, 0, 2)),
        ("CODEX", (1, 3, 2, 1, 1)),
        ("GEMINI", (1, 2, 2, 0, 1)),
        ("GEMINI_DOCUMENT", (1, 2, 2, 0, 1)),
    ],
)
def test_a_record_is_noted_once(brain, tmp_path, records, name, counts):
    path = tmp_path / "session.jsonl"
    path.write_bytes(getattr(records, name))
    ((session,), notes) = take_in_transcript(brain, str(path), now=NOW)
    told = (session.prompts, session.calls, session.failures, session.edits, session.answers)
    assert (told, notes, events(brain)) == (counts, [], [])
    take_in_transcript(brain, str(path), write=True, now=NOW)
    written = events(brain)
    assert len(written) == session.new > 0
    ((again,), _) = take_in_transcript(brain, str(path), write=True, now=NOW)
    assert again.new == 0
    assert events(brain) == written


def test_calls_become_events_with_kind_and_outcome(brain, tmp_path, records):
    path = tmp_path / "session.jsonl"
    path.write_bytes(records.CLAUDE)
    take_in_transcript(brain, str(path), write=True, now=NOW)
    assert events(brain) == [
        ("prompt", "", "ok"),
        ("command", "Bash", "exec_error"),
        ("edit", "Edit", "invalid_arguments"),
        ("command", "Bash", "cancelled"),
        ("interrupt", "", "ok"),
        ("compaction", "", "ok"),
        ("answer", "", "ok"),
        ("prompt", "", "ok"),
        ("answer", "", "ok"),
    ]


def test_what_hooks_have_seen_is_not_doubled(brain, tmp_path, records):
    seen = Event(kind="prompt", at=NOW - 9 * 3600, session=records.SESSION, text="Make it green")
    call = {"tool": "run_shell_command", "text": "pytest", "outcome": "exec_error"}
    from lessons_kb.guards.tool_calls import digest_arguments

    digest = digest_arguments({"command": "pytest"})
    command = replace(seen, kind="command", arguments=digest, **call)
    for event in (seen, command):
        journal(brain).events.append(event)
    path = tmp_path / "session.jsonl"
    path.write_bytes(records.GEMINI)
    ((session,), _) = take_in_transcript(brain, str(path), write=True, now=NOW)
    assert session.new == 2
    assert [kind for kind, _, _ in events(brain)].count("prompt") == 1
    assert [kind for kind, _, _ in events(brain)].count("command") == 1


def test_what_is_older_than_the_journal_keeps_is_left_out(brain, tmp_path, records):
    path = tmp_path / "session.jsonl"
    path.write_bytes(records.CLAUDE)
    ((session,), _) = take_in_transcript(brain, str(path), write=True, now=NOW + 100 * 86_400)
    assert (session.new, session.expired) == (0, 9)
    assert events(brain) == []


def test_what_is_no_record_is_refused(brain, tmp_path):
    path = tmp_path / "notes.md"
    path.write_text("# Notes\n")
    with pytest.raises(InputError, match="not a transcript of claude-code, codex, gemini-cli"):
        take_in_transcript(brain, str(path))
    with pytest.raises(InputError, match="agent must be one of"):
        take_in_transcript(brain, str(path), agent="hal")


def test_damaged_lines_are_told(brain, tmp_path, records):
    path = tmp_path / "session.jsonl"
    path.write_bytes(records.CLAUDE + b"{oops\n")
    _, notes = take_in_transcript(brain, str(path), now=NOW)
    assert notes == [f"{path}: 1 line is not JSON; skipped"]


def test_a_claude_code_call_began_where_its_own_line_says(brain, tmp_path, records):
    path = tmp_path / "session.jsonl"
    call = records.use("t1", "Bash", command="cd src && sed -i s/1/2/ app.py")
    began = records.claude("assistant", [call], 1)
    ended = records.claude("user", [records.result("t1", "")], 2, cwd="/home/dev/proj/src")
    path.write_bytes(records.lines(began, ended))
    take_in_transcript(brain, str(path), write=True, now=NOW)
    (edit,) = journal(brain).events.find(kinds=["edit"])
    assert (edit.scope, edit.targets) == ("/home/dev/proj", ("src/app.py",))


def test_a_claude_code_call_stopped_while_it_ran_is_cancelled(brain, tmp_path, records):
    path = tmp_path / "session.jsonl"
    refused = "The user doesn't want to proceed with this tool use."
    marks = {"toolDenialKind": "user-rejected"}
    lines = [
        records.claude("assistant", [records.use(n, "Bash", command=n) for n in ("t1", "t2")], 1)
    ]
    for number, more in (("t1", {}), ("t2", {"toolDenialBeforeRun": True})):
        said = [records.result(number, refused, error=True)]
        lines.append(records.claude("user", said, 2, **marks, **more))
    path.write_bytes(records.lines(*lines))
    take_in_transcript(brain, str(path), write=True, now=NOW)
    told = {event.id: event.outcome for event in journal(brain).events.find()}
    assert told == {"t1": "cancelled", "t2": "permission_denied"}

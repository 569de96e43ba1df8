"""A session's record into the journal, once."""

import importlib.util
import pathlib
from dataclasses import replace
from types import SimpleNamespace

import pytest

from lessons_kb import Brain
from lessons_kb.brain.exchange import take_in_transcript
from lessons_kb.errors import InputError
from lessons_kb.guards.tool_calls import digest_arguments
from lessons_kb.model import Event

NOW = 1_795_200_000.0
"""The evening of the records' sessions."""


@pytest.fixture(scope="session")
def records():
    path = pathlib.Path(__file__).parents[1] / "transcripts" / "records.py"
    spec = importlib.util.spec_from_file_location("brain_transcript_records", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def brain(root):
    return Brain.open(root)


@pytest.fixture
def take_in(brain, tmp_path, monkeypatch):
    """Take in a record; return what its session holds, and what was not understood."""

    def take_in(data, now=NOW, **how):
        monkeypatch.setattr("lessons_kb.brain.exchange.time", SimpleNamespace(time=lambda: now))
        path = tmp_path / "session.jsonl"
        path.write_bytes(data)
        sessions, notes = take_in_transcript(brain, str(path), **how)
        (session,) = sessions
        return session, notes

    return take_in


def events(brain):
    return [(e.kind, e.tool, e.outcome) for e in brain.journal.events()]


@pytest.mark.parametrize(("name", "counts"), [
    ("CLAUDE", (2, 3, 2, 0, 2)), ("CODEX", (1, 3, 2, 1, 1)),
    ("GEMINI", (1, 2, 2, 0, 1)), ("GEMINI_DOCUMENT", (1, 2, 2, 0, 1)),
])  # fmt: skip
def test_a_record_is_noted_once(brain, take_in, records, name, counts):
    session, notes = take_in(getattr(records, name))
    told = (session.prompts, session.calls, session.failures, session.edits, session.answers)
    assert (told, notes, events(brain)) == (counts, [], [])
    take_in(getattr(records, name), write=True)
    written = events(brain)
    assert len(written) == session.new > 0
    assert take_in(getattr(records, name), write=True)[0].new == 0
    assert events(brain) == written
    if name == "CLAUDE":
        assert written == [
            ("prompt", "", "ok"),
            ("command", "Bash", "exec_error"),
            ("edit", "Edit", "invalid_arguments"),
            ("command", "Bash", "cancelled"),
            ("interrupt", "", "ok"),
            ("compaction", "", "ok"),
            *[("answer", "", "ok"), ("prompt", "", "ok"), ("answer", "", "ok")],
        ]


def test_what_hooks_have_seen_is_not_doubled(brain, take_in, records):
    seen = Event(kind="prompt", at=NOW - 9 * 3600, session=records.SESSION, text="Make it green")
    call = {"tool": "run_shell_command", "text": "pytest", "outcome": "exec_error"}
    digest = digest_arguments({"command": "pytest"})
    for event in (seen, replace(seen, kind="command", arguments=digest, **call)):
        brain.layers[0].journal.events.append(event)
    assert take_in(records.GEMINI, write=True)[0].new == 2
    kinds = [kind for kind, _, _ in events(brain)]
    assert (kinds.count("prompt"), kinds.count("command")) == (1, 1)


def test_what_is_older_than_the_journal_keeps_is_left_out(brain, take_in, records):
    session, _ = take_in(records.CLAUDE, write=True, now=NOW + 100 * 86_400)
    assert (session.new, session.expired) == (0, 9)
    assert events(brain) == []


def test_what_is_no_record_is_refused_and_damaged_lines_are_told(take_in, records):
    with pytest.raises(InputError, match="not a transcript of claude-code, codex, gemini-cli"):
        take_in(b"# Notes\n")
    with pytest.raises(InputError, match="agent must be one of"):
        take_in(records.CLAUDE, agent="hal")
    (note,) = take_in(records.CLAUDE + b"{oops\n")[1]
    assert note.endswith("session.jsonl: 1 line is not JSON; skipped")


def test_a_claude_code_call_began_where_its_own_line_says(brain, take_in, records):
    call = records.use("t1", "Bash", command="cd src && sed -i s/1/2/ app.py")
    began = records.claude("assistant", [call], 1)
    ended = records.claude("user", [records.result("t1", "")], 2, cwd="/home/dev/proj/src")
    take_in(records.lines(began, ended), write=True)
    (edit,) = brain.journal.events(kinds=["edit"])
    assert (edit.scope, edit.targets) == ("/home/dev/proj", ("src/app.py",))


def test_a_claude_code_call_stopped_while_it_ran_is_cancelled(brain, take_in, records):
    refused = "The user doesn't want to proceed with this tool use."
    calls = [records.use(n, "Bash", command=n) for n in ("t1", "t2")]
    lines = [records.claude("assistant", calls, 1)]
    for number, more in (("t1", {}), ("t2", {"toolDenialBeforeRun": True})):
        said = [records.result(number, refused, error=True)]
        lines.append(records.claude("user", said, 2, toolDenialKind="user-rejected", **more))
    take_in(records.lines(*lines), write=True)
    told = {event.id: event.outcome for event in brain.journal.events()}
    assert told == {"t1": "cancelled", "t2": "permission_denied"}

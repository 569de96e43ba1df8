"""Antigravity, by its documents and by payloads that others recorded: it was not run here."""

import json
import pathlib

import pytest

from lessons_kb.agents.install import Entries, Request, install

PROMPT = "Add a telegram command that restarts the service"


@pytest.fixture
def record(tmp_path):
    """Return a record as version 1.2 keeps it, to which rows are added."""
    path = tmp_path / "brain" / ".system_generated" / "logs" / "transcript.jsonl"
    path.parent.mkdir(parents=True)

    def add(kind, source, content):
        number = len(path.read_text().splitlines()) if path.exists() else 0
        row = {"step_index": number, "type": kind, "source": source, "status": "DONE"}
        with path.open("a", encoding="utf-8") as file:
            file.write(json.dumps({**row, "content": content}) + "\n")

    add.path = path
    add.ask = lambda text: add(
        "USER_INPUT",
        "USER_EXPLICIT",
        f"<USER_REQUEST>\n{text}\n</USER_REQUEST>\n<ADDITIONAL_METADATA>\nNow: 9:00\n",
    )
    return add


@pytest.fixture
def event(project, record):
    return {
        "conversationId": "0b8ab9d1-8ab6-4ddc-a3a5-7a3be4da95f6",
        "workspacePaths": [str(project)],
        "transcriptPath": str(record.path),
        "artifactDirectoryPath": "/home/ann/.gemini/antigravity-cli/brain/0b8ab9d1",
    }


def told(answer):
    """Return what an answer puts in front of the model; it has no other key."""
    if not answer:
        return ""
    ((key, (step,)),) = answer.items()
    assert (key, list(step)) == ("injectSteps", ["ephemeralMessage"])
    return step["ephemeralMessage"]


def test_each_call_of_the_model_is_told_what_the_prompt_drew(record, event, fire):
    def call(number):
        invocation = {"invocationNum": number, "initialNumSteps": 3 * number}
        return told(fire("antigravity", event | invocation))

    assert call(0) == "", "there is no record yet"
    record.ask(PROMPT)
    first = call(0)
    assert "Reject every chat id" in first
    record("PLANNER_RESPONSE", "MODEL", "I shall look at the handler.")
    assert [call(1), call(2)] == [first, first]
    record.ask("thanks, that is all")
    assert [call(0), call(1)] == ["", ""]
    record.ask(PROMPT + " now")
    assert "Reject every chat id" in call(0), "gone with its turn, it comes again"


def test_the_end_of_a_turn_is_no_reason_to_go_on(record, event, fire):
    record.ask(PROMPT)
    fire("antigravity", event | {"invocationNum": 0, "initialNumSteps": 0})
    record("PLANNER_RESPONSE", "MODEL", "Every chat id that is not on the allowlist is rejected.")
    stop = {"executionNum": 0, "terminationReason": "NO_TOOL_CALL", "fullyIdle": True}
    assert fire("antigravity", event | stop) == {}


def test_a_damaged_record_and_other_events_are_silence(record, event, fire):
    record.ask(PROMPT)
    with record.path.open("ab") as file:
        file.write(b'{"type":"USER_INPUT","source":"USER_EXPLICIT","conte\n[]\n\xff\n')
    call = event | {"invocationNum": 0}
    assert "Reject every chat id" in told(fire("antigravity", call))
    assert fire("antigravity", event | {"toolCall": {"name": "run_command"}}) == {}
    assert fire("antigravity", call | {"transcriptPath": "/nowhere"}) == {}
    assert fire("antigravity", call | {"transcriptPath": 3}) == {}
    assert fire("antigravity", call, posted_by="bob") == {}, "a path of another machine"


def test_its_file_names_events_that_carry_handlers_alone(project):
    """`{name: {event: [handler]}}`: groups belong to tools, and an unknown key costs the file."""
    entries = Entries(hook="lessons-hook", server="lessons")
    changes = install(Request(agent="antigravity", project=str(project), entries=entries))
    ((key, hooks),) = json.loads(pathlib.Path(changes[0].path).read_text()).items()
    assert (key, set(hooks)) == ("lessons", {"PreInvocation", "Stop"})
    assert all(set(one) == {"type", "command", "timeout"} for (one,) in hooks.values())

"""The extension for pi, run by Node.js with events that pi 1.6.0 sent and the hook program."""

import json
import os
import pathlib
import shutil
import subprocess
import sys

import pytest

from lessons_kb.agents.install.settings_files import build_plugin

HERE = pathlib.Path(__file__).parent
PROMPT = "Add a telegram command that restarts the service"
ITEM = "Reject every chat id"
TITLES = "[LESSON_TITLES]"
RECORDED = [
    json.loads(line)
    for line in (HERE / "recorded" / "pi-1.6.0.jsonl").read_text("utf-8").splitlines()
]


@pytest.fixture
def run(project, tmp_path):
    """Hand events to the extension in one process; return what came of each."""
    folder = pathlib.Path(sys.executable).parent
    node = shutil.which("node", path=os.pathsep.join([str(folder), os.environ["PATH"]]))
    if node is None:
        pytest.skip("Node.js is absent: pip install 'lessons-kb[dev]' brings it on Linux")
    extension, events = tmp_path / "lessons.ts", tmp_path / "events.json"
    text = build_plugin("pi", str(folder / "lessons-hook"))
    extension.write_text(text.replace("DEADLINE_MS = 3000", "DEADLINE_MS = 60000"))

    def run(*rows):
        events.write_text(json.dumps(rows))
        command = [node, str(HERE / "extension_host.mjs"), str(extension), str(events)]
        done = subprocess.run(command, cwd=project, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    return run


def find(kind, **fields):
    """Return a recorded event of a kind, with some of its fields changed."""
    tool = fields.get("toolName", "")
    for event in RECORDED:
        if event["type"] == kind and tool in (event.get("toolName"), ""):
            return event | fields
    raise LookupError(f"{kind} {tool} was not recorded")


START = [find("session_start"), find("before_agent_start", prompt=PROMPT)]


def test_the_first_prompt_brings_titles_and_lessons_as_a_message_that_the_user_sees(run):
    _start, first, again = run(*START, find("before_agent_start", prompt="go on"))
    message = first["returned"]["message"]
    assert message["display"] is True
    assert TITLES in message["content"]
    assert ITEM in message["content"]
    assert again["returned"] is None


def test_a_resumed_session_has_the_titles_already(run):
    _start, first = run(find("session_start", reason="resume"), START[1])
    assert TITLES not in first["returned"]["message"]["content"]


def test_a_session_that_goes_on_in_a_new_process_has_the_titles_already(run, monkeypatch):
    entries = [{"type": "custom_message", "customType": "lessons", "content": TITLES}]
    monkeypatch.setenv("PI_ENTRIES", json.dumps(entries))
    _start, first = run(*START)
    assert START[0]["reason"] == "startup", "`pi --continue` sends the same"
    assert TITLES not in first["returned"]["message"]["content"]
    assert ITEM in first["returned"]["message"]["content"]


def test_an_edit_is_reminded_of_beside_its_result_and_a_gate_refuses(run, project):
    card = project / "lessons" / "drop-column.md"
    text = card.read_text().replace("gate: ask", "gate: once")
    card.write_text(text.replace("migrations/*.sql", "gate.py"))
    gated = find("tool_call", toolName="edit", toolCallId="g1")
    gated["input"] = {**gated["input"], "path": "gate.py"}
    end = find("tool_execution_end", toolName="edit", toolCallId="g1", isError=True)
    steps = run(
        *START, find("tool_call", toolName="edit"), find("tool_result", toolName="edit"), gated, end
    )
    assert "once more" in steps[3]["returned"]["content"][-1]["text"]
    assert steps[3]["returned"]["content"][0]["text"].startswith("Successfully replaced")
    assert steps[4]["returned"]["block"] is True
    assert "Drop the column one release later" in steps[4]["returned"]["reason"]
    assert steps[5] == {"returned": None, "sent": []}, "a refused call is no failure"


def test_failures_of_every_kind_count_and_the_guidance_is_a_message(run):
    failed = [event for event in RECORDED if event["type"] == "tool_execution_end"]
    names = {event["toolName"] for event in failed}
    assert names == {"edit", "bash", "nonexistent"}
    ends = [find("tool_execution_end", toolName=name, toolCallId=name) for name in sorted(names)]
    steps = run(*START, *ends)
    texts = [json.dumps(step["sent"]) for step in steps[2:]]
    assert ["in a row failed" in text for text in texts] == [False, False, True]
    assert run(find("agent_settled"), find("session_shutdown"))[0]["returned"] is None


def test_after_a_compaction_lessons_come_again_with_the_next_result(run):
    call = find("tool_call", toolName="edit", toolCallId="e2")
    result = find("tool_result", toolName="edit", toolCallId="e2")
    steps = run(*START, {"type": "session_compact", "reason": "manual"}, call, result)
    assert TITLES in steps[4]["returned"]["content"][-1]["text"]
    assert ITEM in steps[4]["returned"]["content"][-1]["text"]

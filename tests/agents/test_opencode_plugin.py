"""The plugin for opencode, run by Node.js, with the hook program as it is installed."""

import json
import os
import pathlib
import shutil
import subprocess
import sys

import pytest

from lessons_kb.agents.install.settings_files import build_plugin

HOST = pathlib.Path(__file__).with_name("plugin_host.mjs")
PROMPT = "Add a telegram command that restarts the service"
ITEM = "Reject every chat id"
SESSION = "ses_1"


@pytest.fixture
def run(project, tmp_path):
    """Run steps of the plugin in one process; return what each of them changed."""
    folder = pathlib.Path(sys.executable).parent
    node = shutil.which("node", path=os.pathsep.join([str(folder), os.environ["PATH"]]))
    if node is None:
        pytest.skip("Node.js is absent: pip install 'lessons-kb[dev]' brings it on Linux")
    plugin, steps = tmp_path / "lessons.ts", tmp_path / "steps.json"
    program = tmp_path / "lessons-hook"
    program.symlink_to(folder / "lessons-hook")
    plugin.write_text(
        build_plugin("opencode", str(program)).replace("DEADLINE_MS = 3000", "DEADLINE_MS = 60000")
    )

    def run(*rows):
        names = ("hook", "input", "output")
        steps.write_text(json.dumps([dict(zip(names, row, strict=True)) for row in rows]))
        command = [node, str(HOST), str(plugin), str(steps)]
        done = subprocess.run(command, cwd=project, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    return run


def ask(text=PROMPT, message="msg_1"):
    part = {"id": "prt_1", "sessionID": SESSION, "messageID": message, "type": "text", "text": text}
    named = {"sessionID": SESSION, "messageID": message}
    return "chat.message", named, {"parts": [part]}


def before(project, path="bot/app.py", call="c1"):
    args = {"filePath": str(project / path), "oldString": "a", "newString": "b"}
    named = {"sessionID": SESSION, "callID": call, "tool": "edit"}
    return "tool.execute.before", named, {"args": args}


def after(project, path="bot/app.py", call="c1"):
    _hook, named, output = before(project, path, call)
    result = {"output": "Edit applied successfully.", "metadata": {}}
    return "tool.execute.after", {**named, **output}, result


def system(*texts, session=SESSION):
    return "experimental.chat.system.transform", {"sessionID": session}, {"system": [*texts]}


def test_a_reminder_stands_beside_the_result_of_the_edit(run, project):
    steps = run(ask(), system("You are a coding agent."), before(project), after(project), system())
    assert ITEM in steps[0]["parts"][-1]["text"]
    assert steps[3]["output"].startswith("Edit applied successfully.\n\nBefore this, once more")
    assert "once more" not in json.dumps(steps[4]["system"])


def test_the_reminder_of_an_edit_that_fails_stands_with_its_error_in_each_request(run, project):
    _hook, named, output = before(project)
    part = {"type": "tool", "messageID": "msg_2", **named, "state": {
        "status": "error", "input": output["args"], "error": "Could not find oldString in the file.",
    }}  # fmt: skip
    failed = "event", {"type": "message.part.updated", "properties": {"part": part}}, {}
    steps = run(ask(), before(project), failed, request(part), request(part))
    errors = [step["messages"][0]["parts"][0]["state"]["error"] for step in steps[3:]]
    assert errors[0].startswith("Could not find oldString in the file.\n\nBefore this, once more")
    assert errors[1] == errors[0]


def test_a_prompt_changes_its_own_message_and_not_the_system_prompt(run):
    steps = run(ask("go on"), system(), ask(message="msg_2"), system(), ask(message="msg_3"))
    (_typed, added) = steps[2]["parts"]
    assert ITEM in added["text"]
    assert added["synthetic"] is True, "the user does not see it"
    assert added["messageID"] == "msg_2"
    assert added["id"] > "prt_1"
    assert steps[3]["system"] == steps[1]["system"], "the provider's cache stays valid"
    assert len(steps[4]["parts"]) == 1, "the chat has it"


def request(*parts):
    hook = "experimental.chat.messages.transform"
    return hook, {}, {"messages": [{"info": {"role": "user"}, "parts": [*parts]}]}


def test_only_the_requests_of_the_chat_read_the_lessons_of_a_prompt(run):
    (asked,) = run(ask())
    typed, added = asked["parts"]
    assert added["ignored"] is True, "the request for a title leaves it out"
    (sent,) = run(request(typed, added))
    assert sent["messages"][0]["parts"] == [typed, {**added, "ignored": False}]


def test_after_a_compaction_the_lessons_stand_in_the_system_prompt(run):
    compact = "experimental.session.compacting", {"sessionID": SESSION}, {"context": []}
    steps = run(ask(), system(), compact, system(), system())
    assert ITEM not in steps[1]["system"][-1]
    assert ITEM in steps[2]["context"][0]
    assert ITEM in steps[3]["system"][-1]
    assert steps[4]["system"] == steps[3]["system"]


def test_a_new_process_has_the_lessons_of_the_last_compaction(run):
    compact = "experimental.session.compacting", {"sessionID": SESSION}, {"context": []}
    run(ask(), system(), compact)
    steps = run(ask("rename the variable", message="msg_2"), system())
    assert ITEM in steps[1]["system"][-1]


def test_the_request_for_a_title_gets_no_text(run):
    steps = run(ask(), system("You are a title generator. You output ONLY a thread title."))
    assert len(steps[1]["system"]) == 1


def test_commands_that_exit_with_a_code_count_as_failures(run):
    def fail(number):
        named = {"sessionID": SESSION, "callID": f"c{number}", "tool": "bash"}
        named["args"] = {"command": f"make {number}"}
        return "tool.execute.after", named, {"output": "(no output)", "metadata": {"exit": 3}}

    steps = run(ask("go on"), *map(fail, range(3)))
    texts = [step["output"] for step in steps[1:]]
    assert ["in a row failed" in text for text in texts] == [False, False, True]

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


def ask(text=PROMPT):
    message = {"sessionID": SESSION, "messageID": "msg_1"}
    return "chat.message", message, {"parts": [{"type": "text", "text": text}]}


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
    assert ITEM in steps[1]["system"][-1]
    assert steps[3]["output"].startswith("Edit applied successfully.\n\nBefore this, once more")
    assert "once more" not in json.dumps(steps[4]["system"])


def test_the_reminder_of_an_edit_that_fails_stands_in_the_next_request(run, project):
    _hook, named, output = before(project)
    part = {"type": "tool", "messageID": "msg_2", **named, "state": {
        "status": "error", "input": output["args"], "error": "Could not find oldString in the file.",
    }}  # fmt: skip
    failed = "event", {"type": "message.part.updated", "properties": {"part": part}}, {}
    steps = run(ask(), before(project), failed, system())
    assert "once more" in json.dumps(steps[3]["system"])


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

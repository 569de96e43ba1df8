"""The module of the plugin for Claude Code, run by Node.js, with a daemon of its own.

`claude plugin test` needs the client. Here a small host has the nouns of `$` that the module uses.
"""

import json
import os
import pathlib
import shutil
import subprocess
import sys

import pytest

from tests.kit import ROOT

MODULE = ROOT / "templates/claude-code/lessons.ts"
HOOKS = ROOT / "templates/plugins/claude-code/hooks/hooks.json"
HOST = ROOT / "tests/agents/module_host.mjs"
LESSON = "Telegram remote execution must require an allowlist"
PROMPT = "Add a Telegram command that runs a shell script on the server"
TYPED = {"text": PROMPT, "wait": False, "origin": {"kind": "composer"}}

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform == "win32", reason="no Unix sockets on Windows"),
]


class Session:
    """A session of Claude Code with the module."""

    def __init__(self, installation, folder):
        self.installation, self.folder = installation, folder
        folder.mkdir()
        self.program = folder / "lessons-hook"
        client = installation.package / "hook_client.py"
        self.program.write_text(f'#!/bin/sh\nexec {installation.python} -I -S {client} "$@"\n')
        self.program.chmod(0o755)
        self.data = folder / "data"
        self.mark = self.data / "module-s1-77"
        self.hook_environment = {
            "CLAUDE_PLUGIN_DATA": str(self.data),
            "CLAUDE_CODE_SESSION_ID": "s1",
            "CLAUDE_PID": "77",
        }

    def classic(self, name, **fields):
        """Return a step with an event of the settings hooks."""
        common = {**self.installation.event(name, "s1"), "transcript_path": ""}
        return f"classic.{name}", {**common, **fields}

    def run(self, *steps):
        rows = [
            dict(zip(("event", "e", "beneath", "during"), step, strict=False)) for step in steps
        ]
        script = {"hookEnv": self.hook_environment, "steps": rows}
        file = self.folder / "steps.json"
        file.write_text(json.dumps(script))
        programs = pathlib.Path(sys.executable).parent
        path = os.pathsep.join([str(programs), os.environ["PATH"]])
        node = shutil.which("node", path=path)
        if node is None:
            pytest.skip("Node.js is absent: pip install 'lessons-kb[dev]' brings it on Linux")
        link = self.folder / "node"
        link.unlink(missing_ok=True)
        link.symlink_to(node)
        path = f"{self.folder}:/usr/bin:/bin"
        environment = {**self.installation.environment, "PATH": path}
        done = subprocess.run(
            [node, HOST, MODULE, file],
            capture_output=True,
            text=True,
            env=environment,
            cwd=self.installation.project,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    def run_hook(self, name, **fields):
        """Run the plugin's hook for an event, as the client does, and return its output."""
        (group,) = json.loads(HOOKS.read_text())["hooks"][name]
        (handler,) = group["hooks"]
        done = subprocess.run(
            ["/bin/sh", "-c", handler["command"]],
            input=json.dumps(self.classic(name, **fields)[1]),
            capture_output=True,
            text=True,
            env={
                **self.installation.environment,
                **self.hook_environment,
                "PATH": f"{self.folder}:/usr/bin:/bin",
            },
            cwd=self.installation.project,
            check=False,
        )
        assert (done.returncode, done.stderr) == (0, "")
        return done.stdout


@pytest.fixture
def module(installation, tmp_path):
    return Session(installation, tmp_path / "module")


def edit(path="bot/app.py", call="t1"):
    text = {"file_path": path, "old_string": "a", "new_string": "b"}
    return "tool.call", {"tool": "Edit", "tool_use_id": call, **text}, {"result": {}, "ref": 1}


def test_an_event_starts_no_process_once_the_daemon_runs(module):
    module.installation.start()
    start, prompt = module.run(
        module.classic("SessionStart", source="startup"), ("prompt.submit", TYPED)
    )
    assert start["processes"] == [["lessons-hook", "claude-code", "module"]]
    assert prompt["processes"] == []
    (text,) = prompt["passed"][0]["context"]
    assert LESSON in text
    assert LESSON in prompt["toasts"][0]
    assert module.mark.read_text(), "the hooks stay silent"


def test_without_a_daemon_the_hook_program_answers_and_starts_it(module):
    start, prompt = module.run(
        module.classic("SessionStart", source="startup"), ("prompt.submit", TYPED)
    )
    assert ["lessons-hook", "claude-code"] in start["processes"]
    assert LESSON in prompt["passed"][0]["context"][0]
    assert module.installation.pids()


def test_without_the_hook_program_the_hooks_answer(module):
    module.program.unlink()
    steps = module.run(
        module.classic("SessionStart", source="startup"), ("prompt.submit", TYPED), edit()
    )
    assert [step["passed"] for step in steps][1:] == [[TYPED], [edit()[1]]]
    assert not module.mark.exists()


@pytest.mark.parametrize("name", ["LESSONS_MODULE", "LESSONS_DAEMON"])
def test_a_variable_turns_it_off(name, module):
    module.installation.environment[name] = "0"
    start, prompt = module.run(
        module.classic("SessionStart", source="startup"), ("prompt.submit", TYPED)
    )
    assert "additionalContext" not in start["result"]
    assert prompt["passed"] == [TYPED]
    assert not module.mark.exists()


def test_the_hook_of_an_answered_event_stays_silent_and_the_next_one_answers(module):
    """The worker of the module may end at any time, for example because of another plugin."""
    module.installation.start()
    module.run(module.classic("SessionStart", source="startup"))  # its process then ends
    assert module.run_hook("SessionStart", source="startup") == ""
    assert LESSON in module.run_hook("UserPromptSubmit", prompt=PROMPT, prompt_id="p1")


def test_a_worker_that_replaces_a_lost_one_answers_again(module):
    module.installation.start()
    stop, prompt = module.run(module.classic("Stop"), ("prompt.submit", TYPED))
    assert stop["processes"] == [["lessons-hook", "claude-code", "module"]]
    assert LESSON in prompt["passed"][0]["context"][0]


def test_a_notice_of_a_background_task_is_no_prompt(module):
    notice = {**TYPED, "origin": {"kind": "task-notification"}}
    _start, prompt = module.run(
        module.classic("SessionStart", source="startup"), ("prompt.submit", notice)
    )
    assert prompt["passed"] == [notice]
    assert prompt["processes"] == []


def gate(module, value):
    card = module.installation.brain / "lessons/gated.md"
    card.write_text(
        f"---\ntype: lesson\ntitle: The file is generated\nseverity: high\ngate: {value}\n"
        "paths: [gate.py, '*/gate.py']\n---\n## Root Cause\nA tool writes it.\n"
        "## Prevention Checklist\n- Change the tool\n"
    )


def test_a_failed_edit_gets_its_lesson(module):
    gate(module, "none")
    failed = (*edit("gate.py")[:2], {"isError": True, "text": "String to replace not found"})
    _start, last = module.run(module.classic("SessionStart", source="startup"), failed)
    assert last["result"]["isError"] is True
    assert "The file is generated" in last["result"]["context"][0]


def test_a_refusal_is_no_failure(module):
    gate(module, "once")
    start = module.classic("SessionStart", source="startup")
    steps = [start]
    for number in range(3):
        call = {"file_path": f"{number}/gate.py", "old_string": "a", "new_string": "b"}
        named = {"tool_name": "Edit", "tool_use_id": f"t{number}"}
        error = "<tool_use_error>A lesson holds this back once, before</tool_use_error>"
        calls = [{**named, "tool_input": call, "tool_response": error}]
        steps += [edit(f"{number}/gate.py", f"t{number}")]
        steps += [module.classic("PostToolBatch", tool_calls=calls)]
    *_, refused, last = module.run(*steps)
    assert "deny" in refused["result"]
    assert last["result"] == {}


def test_a_gate_refuses_the_first_call_and_passes_the_second(module):
    gate(module, "once")
    start = module.classic("SessionStart", source="startup")
    _start, first, second = module.run(start, edit("gate.py"), edit("gate.py", call="t2"))
    assert "holds this back once" in first["result"]["deny"]
    assert first["passed"] == []
    assert len(second["passed"]) == 1


def ask_about(call, beneath):
    """Return the event of the settings hooks for a call. They have answered ``beneath``."""
    return {"event": "classic.PreToolUse", "e": {**edit("gate.py", call)[1]}, "beneath": beneath}


def test_the_dialog_of_the_first_edit_shows_the_reason_of_a_question(module):
    gate(module, "ask")
    start = module.classic("SessionStart", source="startup")
    first = (*edit("gate.py"), [ask_about("t1", {}), ask_about("another", {})])
    _start, asked, again = module.run(start, first, (*edit("gate.py", "t2"), [ask_about("t2", {})]))
    dialog, other = (step["result"] for step in asked["during"])
    assert "asks for your permission" in dialog["ask"]
    assert "The file is generated" in dialog["ask"]
    assert other == {}
    assert "deny" not in asked["result"]
    assert again["during"][0]["result"] == {}, "the user is asked once"


def test_another_hook_may_ask_or_refuse_beside_a_question(module):
    gate(module, "ask")
    start = module.classic("SessionStart", source="startup")
    answers = [{"deny": "no"}, {"ask": "Sure?"}, {"allow": True}]
    steps = (*edit("gate.py"), [ask_about("t1", answer) for answer in answers])
    _start, asked = module.run(start, steps)
    denied, joined, allowed = (step["result"] for step in asked["during"])
    assert denied == {"deny": "no"}
    assert joined["ask"].startswith("Sure?\n")
    assert "The file is generated" in joined["ask"]
    assert "allow" not in allowed
    assert "The file is generated" in allowed["ask"]


def test_a_settings_hook_beside_it_gives_no_lesson_again(module):
    module.installation.start()
    module.run(module.classic("SessionStart", source="startup"), ("prompt.submit", TYPED))
    event = {**module.installation.event("UserPromptSubmit", "s1"), "prompt": PROMPT}
    assert module.installation.hook({**event, "prompt_id": "p1"}) == ""
    assert module.installation.hook(module.classic("SessionStart", source="startup")[1]) == ""

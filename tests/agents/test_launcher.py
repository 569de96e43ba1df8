"""What agents' settings call, once the installation behind it is gone."""

import json
import pathlib
import subprocess
import sys

import pytest

from lessons_kb.agents.capabilities import AGENTS
from lessons_kb.agents.install.launcher import launcher_path, write_launcher
from lessons_kb.agents.install.settings_files import build_hooks

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="Windows calls the program itself")

REFUSING = {"gemini-cli": "command", "copilot-cli": "bash"}
"""Agents to which a program that fails is a refusal of the prompt or call → where it is named."""
STARTS = {
    "claude-code": "systemMessage",
    "codex": "systemMessage",
    "gemini-cli": "systemMessage",
    "copilot-cli": "message",
    "vscode": "systemMessage",
    "opencode": "message",
}


@pytest.fixture
def real():
    """Return the interpreter that holds this package."""
    return sys.executable


@pytest.fixture
def environment(real, tmp_path, monkeypatch):
    """Return an environment, as `python -m venv` makes it, that this process claims to run in."""
    folder = tmp_path / "tool"
    (folder / "bin").mkdir(parents=True)
    (folder / "bin" / "python3").symlink_to(real)
    (folder / "bin" / "python").symlink_to("python3")
    monkeypatch.setattr(sys, "prefix", str(folder))
    monkeypatch.setattr(sys, "executable", str(folder / "bin" / "python"))
    return folder


def write_script(path, body):
    path.unlink()
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o700)


def call(agent, event):
    words = [launcher_path(), agent]
    given = json.dumps(event, separators=(",", ":"))
    done = subprocess.run(words, input=given, text=True, capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def start_of(agent):
    if agent == "opencode":
        return {"event": "start", "cwd": "/", "sessionID": "s1"}
    return {"session_id": "s1", "cwd": "/", "hook_event_name": "SessionStart"}


@pytest.mark.parametrize("agent", AGENTS)
def test_a_session_says_once_that_the_installation_is_gone(agent, environment):
    write_launcher()
    for path in (environment / "bin").iterdir():
        path.unlink()
    said = call(agent, start_of(agent))
    if agent in STARTS:
        line = json.loads(said)[STARTS[agent]]
        assert str(environment) in line
        assert f"lessons install {agent}" in line
    prompt = {"session_id": "s1", "hook_event_name": "UserPromptSubmit", "event": "prompt"}
    text = 'why does "SessionStart" not fire?'
    assert call(agent, prompt | {"prompt": text, "text": text}).strip() in ("", "{}")


@pytest.mark.slow
def test_so_it_does_where_the_package_alone_is_gone(real, environment, monkeypatch, tmp_path):
    package = pathlib.Path(sys.modules["lessons_kb"].__file__ or "").parent
    other = tmp_path / "elsewhere" / "lessons_kb"
    other.mkdir(parents=True)
    (other / "hook_client.py").write_bytes((package / "hook_client.py").read_bytes())
    monkeypatch.setattr("lessons_kb.__file__", str(other / "__init__.py"))
    write_launcher()
    write_script(environment / "bin" / "python", f'exec {real} "$@"')
    assert "Lessons are off" not in call("claude-code", start_of("claude-code"))
    (other / "hook_client.py").unlink()
    other.rmdir()
    assert "Lessons are off" in call("claude-code", start_of("claude-code"))


@pytest.mark.parametrize("program", ["/nowhere/of ours/lessons-hook", "lessons-hook-of-nobody"])
@pytest.mark.parametrize("agent", REFUSING)
def test_a_program_that_is_gone_refuses_nothing(agent, program):
    told = []
    for event, groups in build_hooks(agent, program, via="command").items():
        for group in groups:
            (handler,) = group.get("hooks", [group])
            words = ["bash", "-c", handler[REFUSING[agent]]]
            done = subprocess.run(words, capture_output=True, text=True, check=False, input="{}")
            assert done.returncode == 0
            told += [event] if json.loads(done.stdout or "{}") else []
    assert told == (["SessionStart"] if program[0] == "/" else [])


@pytest.mark.parametrize("agent", REFUSING)
def test_what_the_program_says_arrives_all_the_same(agent, tmp_path):
    program = tmp_path / "lessons-hook"
    program.touch()
    write_script(program, """echo '{"systemMessage": "said"}'""")
    for groups in build_hooks(agent, str(program), via="command").values():
        for group in groups:
            (handler,) = group.get("hooks", [group])
            words = ["bash", "-c", handler[REFUSING[agent]]]
            done = subprocess.run(words, capture_output=True, text=True, check=True)
            assert json.loads(done.stdout) == {"systemMessage": "said"}

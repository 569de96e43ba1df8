"""What agents' settings call, once the installation behind it is gone."""

import json
import os
import pathlib
import shutil
import subprocess
import sys

import pytest

from lessons_kb.agents.install import Entries, Request, install, uninstall
from lessons_kb.agents.table import AGENTS
from lessons_kb.store.locations import state_home

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="Windows calls the program itself")

REAL = sys.executable
REFUSING = {"gemini-cli": "command", "copilot-cli": "bash"}
SHELLS = {**REFUSING, "codex": "command", "cursor": "command"}
"""Agents to which a program that fails is a refusal of the prompt or call → where it is named."""
STARTS = {
    **dict.fromkeys(("claude-code", "codex", "gemini-cli", "vscode"), "systemMessage"),
    **dict.fromkeys(("copilot-cli", "opencode"), "message"),
}
START = {**dict.fromkeys(AGENTS, "SessionStart"), "opencode": "start"}


@pytest.fixture
def environment(tmp_path, monkeypatch):
    """Return an environment, as `python -m venv` makes it, that this process claims to run in."""
    folder = tmp_path / "tool"
    (folder / "bin").mkdir(parents=True)
    (folder / "bin" / "python3").symlink_to(sys.executable)
    (folder / "bin" / "python").symlink_to("python3")
    monkeypatch.setattr(sys, "prefix", str(folder))
    monkeypatch.setattr(sys, "executable", str(folder / "bin" / "python"))
    return folder


def launcher_path():
    return os.path.join(state_home(), "lessons-hook")


def ask(agent, project, hook=""):
    entries = Entries(hook=hook or launcher_path(), server="lessons")
    return Request(agent=agent, project=str(project), entries=entries, server=False)


def write_script(path, body):
    path.unlink(missing_ok=True)
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o700)


def call(agent, event):
    given = json.dumps({"session_id": "s1", "sessionID": "s1", **event}, separators=(",", ":"))
    done = subprocess.run([launcher_path(), agent], input=given, text=True, capture_output=True)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def start(agent):
    return call(
        agent, {"event" if agent == "opencode" else "hook_event_name": START[agent], "cwd": "/"}
    )


@pytest.mark.slow
@pytest.mark.parametrize("agent", AGENTS)
def test_a_session_reports_once_that_the_installation_is_missing(agent, environment, tmp_path):
    install(ask("claude-code", tmp_path))
    for path in (environment / "bin").iterdir():
        path.unlink()
    said = start(agent)
    if agent in STARTS:
        line = json.loads(said)[STARTS[agent]]
        assert str(environment) in line
        assert f"lessons install {agent}" in line
    text = 'why does "SessionStart" not fire?'
    prompt = {"hook_event_name": "UserPromptSubmit", "event": "prompt", "prompt": text}
    assert call(agent, prompt).strip() in ("", "{}")


def test_it_is_silent_about_an_uninstalled_agent_until_the_next_installation(environment, tmp_path):
    request = ask("claude-code", tmp_path)
    install(request)
    uninstall(request)
    program = pathlib.Path(launcher_path())
    silent = program.read_bytes()
    install(request)
    for path in (environment / "bin").iterdir():
        path.unlink()
    assert "Lessons are off" in start("claude-code")
    program.write_bytes(silent)
    assert start("claude-code") == ""
    assert "Lessons are off" in start("codex")
    assert call("gemini-cli", {"hook_event_name": "BeforeAgent"}) == "{}\n"


@pytest.mark.slow
def test_so_it_does_where_the_package_alone_is_gone(environment, monkeypatch, tmp_path):
    package = pathlib.Path(sys.modules["lessons_kb"].__file__ or "").parent
    other = tmp_path / "elsewhere" / "lessons_kb"
    other.mkdir(parents=True)
    (other / "hook_client.py").write_bytes((package / "hook_client.py").read_bytes())
    monkeypatch.setattr("lessons_kb.__file__", str(other / "__init__.py"))
    install(ask("claude-code", tmp_path))
    write_script(environment / "bin" / "python", f'exec {REAL} "$@"')
    assert "Lessons are off" not in start("claude-code")
    assert list(other.rglob("*.pyc")), "what was compiled is kept: a start shall not pay for it"
    shutil.rmtree(other)
    assert "Lessons are off" in start("claude-code")


def test_a_package_that_is_being_replaced_is_silent(environment, monkeypatch, tmp_path):
    other = tmp_path / "lessons_kb"
    other.mkdir()
    (other / "hook_client.py").write_text("def main(")
    monkeypatch.setattr("lessons_kb.__file__", str(other / "__init__.py"))
    install(ask("claude-code", tmp_path))
    assert call("gemini-cli", {"hook_event_name": "BeforeAgent"}) == "{}\n"


def run_hooks(agent, program, project):
    """Yield each event of an agent and what its hook prints."""
    (change, *_more) = install(ask(agent, project, program))
    hooks = json.loads(pathlib.Path(change.path).read_text())["hooks"]
    for event, (group,) in hooks.items():
        (handler,) = group.get("hooks", [group])
        words = ["bash", "-c", handler[SHELLS[agent]]]
        done = subprocess.run(words, capture_output=True, text=True, check=True, input="{}")
        yield event, json.loads(done.stdout or "{}")


@pytest.mark.parametrize("program", ["/nowhere/of ours/lessons-hook", "lessons-hook-of-nobody"])
@pytest.mark.parametrize("agent", REFUSING)
def test_a_program_that_is_gone_refuses_nothing(agent, program, tmp_path):
    told = [event for event, said in run_hooks(agent, program, tmp_path) if said]
    assert told == (["SessionStart"] if program[0] == "/" else [])


@pytest.mark.parametrize("agent", SHELLS)
def test_the_output_of_the_program_arrives_all_the_same(agent, tmp_path):
    program = tmp_path / "with space" / "lessons-hook"
    program.parent.mkdir()
    write_script(program, """echo "{\\"systemMessage\\": \\"said to $1\\"}\"""")
    for _event, said in run_hooks(agent, str(program), tmp_path):
        assert said == {"systemMessage": f"said to {agent}"}

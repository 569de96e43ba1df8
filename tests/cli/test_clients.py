"""What the doctor says of the clients that are connected: their version, hooks not approved."""

import json
import os
import pathlib
import sys

import pytest

from lessons_kb.agents.table import AGENTS

PROGRAM = """\
#!{python}
import json, sys
if sys.argv[1:] == ["--version"]:
    print("{name} {version}")
for line in sys.stdin if sys.argv[1:] == ["app-server"] else ():
    print("not JSON", flush=True)
    if json.loads(line).get("method") == "hooks/list":
        print({answer!r}, flush=True)
"""


@pytest.fixture
def client(tmp_path, monkeypatch, lessons):
    """Install a program that prints a version, and lists hooks as Codex 0.171 does."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", os.pathsep.join([str(folder), "/usr/bin", "/bin"]))

    def client(agent, version, **trust):
        hooks = [
            {"eventName": event, "command": "/opt/lessons-hook codex", "trustStatus": status}
            for event, status in trust.items()
        ]
        other = {"eventName": "stop", "command": "make", "trustStatus": "untrusted"}
        data = [{"cwd": "/", "hooks": [*hooks, other]}]
        program = folder / AGENTS[agent].program
        program.write_text(
            PROGRAM.format(
                python=sys.executable, name=agent, version=version,
                answer=json.dumps({"id": 2, "result": {"data": data}}),
            )
        )  # fmt: skip
        program.chmod(0o700)
        assert lessons("install", agent).code == 0

    return client


def find_line(health, word):
    return [line for line in health("agent") if word in line.detail]


def test_hooks_that_were_not_approved_are_named(client, health):
    client("codex", "0.171.0", preToolUse="trusted", subagentStart="modified", stop="untrusted")
    (line,) = find_line(health, "not approved")
    assert line.level == "warning"
    assert line.detail.endswith("subagentStart, stop")
    assert "/hooks" in line.fix


def test_after_approval_and_without_an_answer_nothing_is_said(client, health):
    client("codex", "0.171.0", preToolUse="trusted", stop="managed")
    assert find_line(health, "approved") == []
    path = pathlib.Path(os.environ["PATH"].split(os.pathsep)[0]) / "codex"
    path.write_text("#!/bin/sh\nexit 3\n")
    assert find_line(health, "approved") == []


def test_a_client_that_is_newer_than_the_tested_version_is_named(client, health):
    client("claude-code", "99.10.2")
    (line,) = find_line(health, "99.10.2")
    assert line.level == "off"
    assert AGENTS["claude-code"].tested_version in line.detail
    client("qwen-code", AGENTS["qwen-code"].tested_version)
    assert find_line(health, "qwen-code: version") == []


def test_the_version_that_npm_installs_on_an_old_node_is_named(client, health):
    client("claude-code", "2.1.197")
    (line,) = find_line(health, "2.1.197")
    assert line.level == "warning"
    assert "Node.js 22" in line.fix


def test_a_client_that_is_not_connected_is_not_started(client, health, lessons):
    client("codex", "99.0.0", stop="untrusted")
    lessons("uninstall", "codex")
    assert find_line(health, "99.0.0") == find_line(health, "approved") == []


def test_a_lesson_that_comes_after_the_change_is_advised_to_become_a_gate(
    client, health, project, at
):
    client("codex", "0.171.0")
    at(project, "index")
    (line,) = [one for one in health("agent", project) if "after the script" in one.detail]
    assert line.level == "off"
    assert "lessons/telegram-allowlist.md" in line.detail
    assert "drop-column" not in line.detail, "it has a gate"
    assert "`gate: once`" in line.fix
    at(project, "uninstall", "codex")
    assert [one for one in health("agent", project) if "after the script" in one.detail] == []

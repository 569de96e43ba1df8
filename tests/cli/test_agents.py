"""The commands install, uninstall and mcp, as a user types them."""

import json
import os
import pathlib
import re
import sys

import pytest


@pytest.fixture
def home(_own_home, tmp_path, monkeypatch):
    (tmp_path / "empty").mkdir()
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))
    (tmp_path / "project").mkdir()
    monkeypatch.chdir(tmp_path / "project")
    return _own_home


@pytest.mark.slow
def test_install_shows_writes_and_says_what_is_left_to_do(lessons, home):
    done = lessons("install", "codex")
    assert done.code == 0
    assert "+[mcp_servers.lessons]" in done.out
    assert f"codex: {home}/.codex/hooks.json: created" in done.out
    assert "/hooks" in done.out
    command = json.loads((home / ".codex" / "hooks.json").read_text())["hooks"]["Stop"]
    program = command[0]["hooks"][0]["command"].split()[0]
    assert os.path.isabs(program)
    assert os.access(program, os.X_OK)
    again = lessons("install", "codex")
    assert again.out.count("already up to date") == 6
    gone = lessons("uninstall", "codex")
    assert gone.out.count(": removed") == 6
    assert not (home / ".codex").exists()


def test_a_dry_run_writes_nothing(lessons, home):
    (home / ".gemini").mkdir()
    settings = home / ".gemini" / "settings.json"
    settings.write_text("{}")
    done = lessons("install", "gemini-cli", "--dry-run")
    assert "would be changed" in done.out
    assert '+  "hooks": {' in done.out
    assert [path for path in home.rglob("*") if path.is_file()] == [settings]
    assert settings.read_text() == "{}"


def test_a_committed_file_has_bare_names(lessons, home):
    done = lessons("install", "claude-code", "--scope", "project", "--shared")
    project = pathlib.Path.cwd()
    hooks = (project / ".claude" / "settings.json").read_text()
    assert '"command": "lessons-hook"' in hooks
    server = json.loads((project / ".mcp.json").read_text())["mcpServers"]["lessons"]
    assert server["command"] == "lessons"
    assert "on the PATH" in done.out
    assert not (home / ".claude").exists()


def test_a_personal_file_of_a_project_has_paths(lessons, home):
    lessons("install", "claude-code", "--scope", "project")
    project = pathlib.Path.cwd()
    hooks = json.loads((project / ".claude" / "settings.local.json").read_text())["hooks"]
    assert os.path.isabs(hooks["Stop"][0]["hooks"][0]["command"])
    projects = json.loads((home / ".claude.json").read_text())["projects"]
    assert "lessons" in projects[str(project)]["mcpServers"]
    assert not (project / ".mcp.json").exists()


@pytest.mark.slow
def test_all_means_those_that_are_here(lessons, home):
    (home / ".gemini").mkdir()
    (home / ".cursor").mkdir()
    done = json.loads(lessons("--json", "install", "--all").out)
    assert sorted(one["agent"] for one in done) == ["cursor", "gemini-cli"]
    assert {file["action"] for one in done for file in one["files"]} == {"created"}
    lessons("uninstall", "--all")
    assert sorted(path.name for path in home.iterdir()) == [".cursor", ".gemini", ".local"]


def test_one_broken_agent_does_not_keep_the_others(lessons, home):
    (home / ".gemini").mkdir()
    (home / ".gemini" / "settings.json").write_text("{,}")
    (home / ".cursor").mkdir()
    done = lessons("install", "--all")
    assert done.code == 2
    assert "gemini-cli: " in done.err
    assert "line 1" in done.err
    assert (home / ".cursor" / "hooks.json").exists()
    assert (home / ".gemini" / "settings.json").read_text() == "{,}"


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["install"], "--all"),
        (["install", "codex", "--all"], "--all"),
        (["install", "emacs"], "claude-code"),
        (["install", "codex", "--scope", "world"], "user, project"),
        (["install", "codex", "--via", "pigeon"], "command, mcp"),
        (["install", "cursor", "--via", "mcp"], "--via command"),
        (["install", "codex", "--shared"], "--scope project"),
        (["install", "--all"], "no agent found"),
    ],
)
def test_a_wrong_line_is_told_in_one_line(lessons, home, words, says):
    done = lessons(*words)
    assert done.code == 2
    assert says in done.err
    assert done.err.count("\n") == 1
    assert "Traceback" not in done.err


def test_without_the_sdk_hooks_are_installed_and_the_rest_is_told(lessons, home, monkeypatch):
    monkeypatch.setattr("lessons_kb.agents.install.install_agent.has_sdk", lambda: False)
    done = lessons("install", "codex")
    assert (home / ".codex" / "hooks.json").exists()
    assert not (home / ".codex" / "config.toml").exists()
    assert "[mcp]" in done.out
    via = lessons("install", "codex", "--via", "mcp")
    assert via.code == 2
    assert "[mcp]" in via.err
    served = lessons("mcp")
    assert served.code == 2
    assert "[mcp]" in served.err


def test_beyond_this_machine_mcp_wants_a_token(lessons, home, monkeypatch):
    pytest.importorskip("mcp")
    monkeypatch.delenv("LESSONS_MCP_TOKEN", raising=False)
    done = lessons("mcp", "--http", "--host", "0.0.0.0")
    assert done.code == 2
    assert "LESSONS_MCP_TOKEN" in done.err


def test_a_missing_program_is_named(lessons, home, monkeypatch, tmp_path):
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    monkeypatch.setattr("sysconfig.get_path", lambda _name: str(tmp_path))
    done = lessons("install", "codex")
    assert (done.code, "lessons-hook is missing" in done.err) == (2, True)


@pytest.mark.slow
def test_the_doctor_sees_which_agents_are_set_up(lessons, brain, home):
    def agents():
        health = json.loads(lessons("--json", "doctor").out)
        return [(one["level"], one["detail"]) for one in health if one["what"] == "agent"]

    assert agents() == []
    (home / ".gemini").mkdir()
    assert agents() == [
        ("ok", "gemini-cli is installed but not connected (`lessons install gemini-cli`)")
    ]
    lessons("install", "gemini-cli")
    path = home / ".gemini" / "settings.json"
    assert agents() == [("ok", f"gemini-cli: hooks by command, user: {path}")]
    path.write_text(re.sub(r'"[^"]*/(lessons-hook)', r'"/gone/bin/\1', path.read_text()))
    ((level, detail),) = agents()
    assert level == "error"
    assert "/gone/bin/lessons-hook, which no longer exists" in detail
    lessons("install", "codex", "--scope", "project")
    assert sum("config.toml" in detail for _level, detail in agents()) == 1
    lessons("uninstall", "codex", "--scope", "project")
    path.write_text("{}")
    ((level, detail),) = agents()
    assert level == "warning"

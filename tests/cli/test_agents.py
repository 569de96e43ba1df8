"""The commands install, uninstall and mcp, as a user types them."""

import json
import os
import pathlib
import re
import sys

import pytest


def read_json(path):
    return json.loads(pathlib.Path(path).read_text())


@pytest.mark.slow
def test_install_shows_writes_and_says_what_is_left_to_do(lessons, home):
    done = lessons("install", "codex")
    assert done.code == 0
    hooks = home / ".codex" / "hooks.json"
    for words in (f"codex: {hooks}: created", "/hooks"):
        assert words in done.out
    program = read_json(hooks)["hooks"]["Stop"][0]["hooks"][0]["command"].split()[0]
    assert os.path.isabs(program)
    assert os.access(program, os.X_OK)
    assert lessons("install", "codex").out.count("already up to date") == 6
    assert lessons("uninstall", "codex").out.count(": removed") == 6
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


def test_a_projects_committed_file_has_bare_names_and_a_personal_one_paths(lessons, home):
    project = pathlib.Path.cwd()
    lessons("install", "claude-code", "--scope", "project")
    hooks = read_json(project / ".claude" / "settings.local.json")["hooks"]
    assert os.path.isabs(hooks["Stop"][0]["hooks"][0]["command"])
    projects = read_json(home / ".claude.json")["projects"]
    assert "lessons" in projects[str(project)]["mcpServers"]
    assert not (project / ".mcp.json").exists()
    done = lessons("install", "claude-code", "--scope", "project", "--shared")
    assert '"command": "lessons-hook"' in (project / ".claude" / "settings.json").read_text()
    assert read_json(project / ".mcp.json")["mcpServers"]["lessons"]["command"] == "lessons"
    assert "on the PATH" in done.out
    assert not (home / ".claude").exists()


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["install"], "add --all"),
        (["install", "emacs"], "claude-code"),
        (["install", "codex", "--scope", "world"], "user, project"),
        (["install", "codex", "--via", "pigeon"], "command, mcp"),
        (["install", "cursor", "--via", "mcp"], "--via command"),
        (["install", "codex", "--shared"], "--scope project"),
        (["setup"], "no agent found"),
        (["install", "--all"], "no agent found"),
        pytest.param(  # beyond this machine it wants a token
            ["mcp", "--http", "--host", "0.0.0.0"], "LESSONS_MCP_TOKEN", marks=pytest.mark.slow
        ),
    ],
)
def test_a_wrong_line_is_told_in_one_line(lessons, home, words, says):
    done = lessons(*words)
    assert (done.code, done.err.count("\n")) == (2, 1)
    assert says in done.err
    assert "Traceback" not in done.err


def test_without_the_sdk_hooks_are_installed_and_the_rest_is_told(lessons, home, monkeypatch):
    monkeypatch.setattr("lessons_kb.agents.install.install_agent.has_sdk", lambda: False)
    assert "[mcp]" in lessons("install", "codex").out
    assert (home / ".codex" / "hooks.json").exists()
    assert not (home / ".codex" / "config.toml").exists()
    for words in (["install", "codex", "--via", "mcp"], ["mcp"]):
        done = lessons(*words)
        assert (done.code, "[mcp]" in done.err) == (2, True)


def test_a_missing_program_is_named(lessons, home, monkeypatch, tmp_path):
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    monkeypatch.setattr("sysconfig.get_path", lambda _name: str(tmp_path))
    done = lessons("install", "codex")
    assert (done.code, "lessons-hook is missing" in done.err) == (2, True)


@pytest.mark.slow
def test_the_doctor_sees_which_agents_are_set_up(lessons, brain, home, health):
    agents = lambda: [(one.level, one.detail) for one in health("agent")]  # noqa: E731
    assert agents() == []
    (home / ".gemini").mkdir()
    known = "gemini-cli is installed but not connected (`lessons install gemini-cli`)"
    assert agents() == [("off", known)]
    lessons("install", "gemini-cli")
    path = home / ".gemini" / "settings.json"
    assert agents() == [("off", f"gemini-cli: hooks by command, user: {path}; no call seen yet")]
    path.write_text(re.sub(r'"[^"]*/(lessons-hook)', r'"/gone/bin/\1', path.read_text()))
    ((level, detail),) = agents()
    assert level == "error"
    assert "/gone/bin/lessons-hook, which no longer exists" in detail
    lessons("install", "codex", "--scope", "project")
    assert sum("config.toml" in detail for _level, detail in agents()) == 1
    lessons("uninstall", "codex", "--scope", "project")
    path.write_text("{}")
    assert [level for level, _detail in agents()] == ["warning"]

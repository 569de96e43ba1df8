"""One name, one skill: a command of ours that an agent reads twice is named, and can be removed."""

import os
import pathlib

import pytest


@pytest.fixture
def here(tmp_path, monkeypatch):
    folder = tmp_path / "work"
    (folder / ".git").mkdir(parents=True)
    (folder / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    monkeypatch.chdir(folder)
    monkeypatch.setenv("PATH", os.pathsep.join(["/usr/bin", "/bin"]))
    return folder


TWICE = [
    ("codex", (), "brings neither"),
    ("claude-code", ("--shared",), "hides the project's"),
    ("gemini-cli", (), "it shows one of them"),
]


def find_line(health):
    return [line for line in health("agent") if "is configured twice" in line.detail]


@pytest.mark.parametrize(("agent", "shared", "effect"), TWICE)
@pytest.mark.parametrize("first", ["user", "project"])
def test_install_and_doctor_see_a_second_copy(agent, shared, effect, first, here, lessons, health):
    scopes = {"user": (), "project": ("--scope", "project", *shared)}
    second = "project" if first == "user" else "user"
    assert "is configured twice" not in lessons("install", agent, *scopes[first]).out
    assert find_line(health) == []
    output = " ".join(lessons("install", agent, *scopes[second]).out.split())
    assert "is configured twice" in output
    assert effect in output
    (line,) = find_line(health)
    assert effect in line.detail
    command = line.fix.split("`")[1].split()
    assert lessons(*command[1:]).code == 0
    assert find_line(health) == []
    assert (pathlib.Path.home() / f".{agent.split('-')[0]}").is_dir(), "the user's copy stays"


def test_setup_says_so_and_a_file_of_somebody_else_is_no_copy(here, lessons, health):
    (pathlib.Path.home() / ".codex").mkdir()
    skill = here / ".codex" / "skills" / "lesson" / "SKILL.md"
    skill.parent.mkdir(parents=True)
    skill.write_text("---\nname: lesson\ndescription: theirs\n---\n")
    lessons("setup", "--yes")
    assert find_line(health) == []
    lessons("install", "codex", "--scope", "project")
    lessons("uninstall", "codex")
    assert "is configured twice" in " ".join(lessons("setup", "--yes").out.split())


def test_the_offer_removes_the_copy_in_the_project(here, lessons, monkeypatch):
    lessons("install", "codex", "--scope", "project")
    monkeypatch.setattr("lessons_kb.cli.connect_agents.confirm", lambda _question: True)
    assert "removed" in lessons("install", "codex").out
    assert not (here / ".codex" / "skills" / "lesson" / "SKILL.md").exists()
    assert (pathlib.Path.home() / ".codex" / "skills" / "lesson" / "SKILL.md").exists()

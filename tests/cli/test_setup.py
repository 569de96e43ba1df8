"""One command connects what is on this machine, and takes it back byte for byte."""

import json

import pytest


@pytest.fixture
def machine(home):
    """A home with two agents, one of which has settings and the other a file of another syntax."""
    (home / ".gemini").mkdir()
    (home / ".gemini" / "settings.json").write_bytes(b'{\r\n\t"theme": "dark", // mine\r\n}\r\n')
    (home / ".cursor").mkdir()
    return home


def kept(home):
    """Return all that is in a home but for what was observed."""
    files = (path for path in home.rglob("*") if path.is_file())
    return {path: path.read_bytes() for path in files if ".local/state" not in path.as_posix()}


def test_setup_connects_what_is_here_and_undo_restores_every_byte(lessons, machine):
    before = kept(machine)
    done = json.loads(lessons("--json", "setup", "--yes").out)
    assert sorted(one["agent"] for one in done) == ["cursor", "gemini-cli"]
    assert len(kept(machine)) > len(before) + 4
    assert "Nothing to change." in lessons("setup").out
    assert lessons("setup", "--undo", "--yes").code == 0
    assert kept(machine) == before
    assert "Nothing to change." in lessons("setup", "--undo").out


def test_undo_takes_the_first_lesson_of_agents_that_were_uninstalled(lessons, machine):
    before = kept(machine)
    lessons("setup", "--yes")
    lessons("uninstall", "--all")
    assert "nothing of ours in it" in lessons("uninstall", "cursor").out
    assert "Removed " in lessons("setup", "--undo").out
    assert kept(machine) == before


def test_install_all_connects_those_found_and_uninstall_all_restores_them(lessons, machine):
    before = kept(machine)
    done = json.loads(lessons("--json", "install", "--all").out)
    assert sorted(one["agent"] for one in done) == ["cursor", "gemini-cli"]
    (machine / ".gemini" / "commands" / "lesson.toml").unlink()
    assert "lesson.toml: would be created" in lessons("install", "--all", "--dry-run").out
    assert lessons("uninstall", "--all").code == 0
    assert kept(machine) == before


def test_nothing_is_written_without_a_yes(lessons, machine, tmp_path, monkeypatch):
    before = kept(machine)
    done = lessons("setup")
    assert (done.code, "--yes" in done.err) == (2, True)
    assert "~/.gemini/settings.json and" in done.out
    for words in ((), ("cursor", "--all")):
        assert "name one agent" in lessons("install", *words).err
    project = tmp_path / "shop"
    project.mkdir()
    (project / "AGENTS.md").write_text("- Never push to main.\n")
    monkeypatch.chdir(project)
    assert "Not touched: AGENTS.md" in lessons("setup").out
    assert kept(machine) == before


def test_the_prompt_that_it_ends_with_draws_the_first_lesson(lessons, machine, monkeypatch):
    monkeypatch.chdir(machine)
    _told, _found, ask = lessons("setup", "--yes").out.partition("paste this:\n\n")
    assert "The first lesson has arrived" in lessons("preflight", ask.splitlines()[0].strip()).out
    assert "first lesson" not in lessons("preflight", "Fix the failing test of the parser").out
    brain = machine / ".local" / "share" / "lessons-kb"
    (brain / "lessons" / "own.md").write_text("---\ntype: lesson\ntitle: Mine\n---\n")
    lessons("setup", "--undo", "--yes")  # which keeps a brain that is in use
    assert [path.name for path in (brain / "lessons").iterdir()] == ["own.md"]


def test_one_broken_agent_does_not_keep_the_others(lessons, home):
    (home / ".gemini").mkdir()
    (home / ".gemini" / "settings.json").write_text("{,}")
    (home / ".cursor").mkdir()
    done = lessons("setup", "--yes")
    assert (done.code, "gemini-cli: " in done.err, "line 1" in done.err) == (2, True, True)
    assert (home / ".cursor" / "hooks.json").exists()
    assert (home / ".gemini" / "settings.json").read_text() == "{,}"

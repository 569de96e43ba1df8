"""One command alone is loaded where one is named, and help reads none."""

import os
import subprocess
import sys

import pytest
import typer

from lessons_kb.cli.command_table import SUMMARIES
from lessons_kb.cli.main import app

NAMES = list(SUMMARIES)


@pytest.mark.slow
def test_the_table_of_commands_says_what_each_says_itself():
    group = typer.main.get_command(app)
    for name, summary in SUMMARIES.items():
        assert group.get_command(None, name).help.split("\n\n")[0].startswith(summary), name


@pytest.mark.slow
def test_the_modules_of_other_commands_are_not_loaded(tmp_path):
    code = (
        "import sys; from lessons_kb.cli import main\n"
        "sys.argv = ['lessons', '--json', 'list', '--brain', '.']\n"
        "try: main.main()\n"
        "except SystemExit: pass\n"
        "print(sorted(m for m in sys.modules if m.startswith('lessons_kb.cli.')))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    loaded = done.stdout.splitlines()[-1]
    assert "lessons_kb.cli.commands.list_cards" in loaded
    assert "lessons_kb.cli.commands.events" not in loaded


@pytest.mark.parametrize("words", [["-h"], []])
def test_whoever_names_no_command_sees_all_each_on_one_whole_line(lessons, words, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    out = lessons(*words).out
    for name in NAMES:
        assert (f"\n  {name} " in out) is (name != "merge-driver")
    assert "--install-completion" in out
    headings = [line for line in out.splitlines() if line.endswith(":") and line[0] != " "]
    assert headings == ["Options:", "Every day:", "Setup:", "Upkeep:", "For programs:"]
    commands = out.partition("Every day:")[2]
    assert "..." not in commands
    everyday = commands.partition("Setup:")[0]
    assert all(f"\n  {name} " in everyday for name in ("add", "list", "preflight", "review"))


def test_a_command_nobody_knows_is_told_the_nearest(lessons):
    assert "'lint'" in lessons("lnit").err
    assert lessons("no-such").code == 2
    assert lessons("--version").out.startswith("lessons ")


def test_a_shell_completes_the_names_of_all_commands(lessons, monkeypatch):
    monkeypatch.setenv("_LESSONS_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", "lessons ")
    monkeypatch.setenv("COMP_CWORD", "1")
    assert lessons("list").out.split() == [name for name in NAMES if name != "merge-driver"]


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="no process works in a folder that is removed there")
@pytest.mark.parametrize("name", [name for name in NAMES if name != "merge-driver"])
def test_a_working_directory_that_is_gone_is_said_in_one_line(lessons, tmp_path, monkeypatch, name):
    gone = tmp_path / "gone"
    gone.mkdir()
    with monkeypatch.context() as moved:
        moved.chdir(gone)
        gone.rmdir()
        done = lessons(name)
    assert done.code == 2
    assert done.err == (
        "lessons: the working directory cannot be used: No such file or directory; "
        "change to a folder that exists\n"
    )

"""One command alone is loaded where one is named, and help reads none."""

import functools
import json
import os
import re
import shutil
import subprocess
import sys
import time

import pytest
import typer
from rich.cells import cell_len

from lessons_kb import Brain
from lessons_kb.agents.table import AGENTS
from lessons_kb.cli.command_table import EVERY_DAY, GROUPS, HIDDEN, SUMMARIES
from lessons_kb.cli.main import app
from lessons_kb.model import Event
from lessons_kb.store.error_log import log_trouble
from tests.kit import commit, copy_example, git, write

NAMES = list(SUMMARIES)
GIT = shutil.which("git")


@pytest.fixture
def write_card(brain):
    """Write a file of the folder `lessons`: ``write_card(name, text)``."""
    return functools.partial(write, brain / "lessons")


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


@pytest.mark.parametrize("words", [["-h"], ["--help"]])
def test_help_names_each_command_on_one_whole_line(lessons, words, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    out = lessons(*words).out
    for name in NAMES:
        assert (f"\n  {name} " in out) is (name not in HIDDEN)
    assert "-completion" not in out  # the former options are hidden
    headings = [line[:-1] for line in out.splitlines() if line.endswith(":") and line[0] != " "]
    assert headings == ["Options", *GROUPS]
    assert "--watch" in out, "the way to keep the index up to date is in the list"
    commands = out.partition("Every day:")[2]
    assert "..." not in commands


@pytest.mark.parametrize("words", [["add"], ["create"], ["rename"], ["mark"], ["eval"], []])
def test_help_has_its_example_on_one_line(lessons, words, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    (example,) = [line for line in lessons(*words, "--help").out.splitlines() if "Example:" in line]
    assert example.count('"') % 2 == example.count("'") % 2 == 0
    assert f"  Example: lessons {' '.join(words)}" in example


def test_lessons_alone_prints_state_next_step_and_ten_commands(lessons, at_terminal, brain):
    shown = at_terminal()
    assert len(shown) <= 30
    assert all(cell_len(line) <= 80 for line in shown if str(brain) not in line)
    text = "\n".join(shown)
    assert "20 cards, 4 notes in" in text
    assert "Next: `lessons setup`" in text
    commands = text.partition("Every day:\n")[2].splitlines()
    assert [line.split()[0] for line in commands[:10]] == list(GROUPS[EVERY_DAY])
    data = json.loads(lessons("--json").out)
    assert data["brains"] == [{"root": str(brain), "cards": 20, "notes": 4}]
    assert data["last_lesson"] is None


def test_lessons_alone_names_the_last_lesson_and_what_needs_attention(lessons, brain, write_card):
    session = "0b9d7a52"
    assert lessons(
        "preflight", "Add a Telegram command that runs a shell script", "--session", session
    ).out
    write_card(
        "due.md", "---\ntype: lesson\nstale-after: 2020-01-01\n---\n\n# Due\n\n## Fix\n\n- Do it\n"
    )
    log_trouble("codex", "stop", "it failed")
    text = lessons().out
    assert "Last lesson  now: Telegram remote execution must require an allowlist" in text
    assert "1 card may be out of date: `lessons list --stale`" in text
    assert "hooks in the last 7 days: `lessons doctor`" in text
    assert lessons("list", "--stale").out


def test_lessons_alone_names_a_card_with_a_broken_header(lessons, write_card):
    card = "---\ntype: lesson\ntitle: [half written\n---\n\n## Fix\n\n- Write it whole\n"
    write_card("one.md", card)
    problem = "lessons/one.md has a header that YAML cannot read"
    assert f"  {problem}: `lessons lint`" in lessons().out
    write_card("two.md", card.replace("half", "hardly"))
    assert f"  {problem} (and 1 other file): `lessons lint`" in lessons().out


def test_lessons_alone_leads_from_nothing_to_a_brain_that_works(at, lessons, tmp_path):
    first = json.loads(at(tmp_path, "--json").out)
    assert (first["brains"], first["next"]["command"]) == ([], "lessons init")
    assert at(tmp_path).code == 0
    other = copy_example(tmp_path / "cloned")
    cloned = json.loads(at(other, "--json").out)
    assert cloned["attention"][0]["command"] == "lessons trust ."
    assert at(other, "trust", ".").code == 0
    assert json.loads(at(other, "--json").out)["attention"] == []


def test_lessons_alone_proposes_a_folder_of_the_repository(at, home, tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", os.path.dirname(GIT))
    project = tmp_path / "shop"
    git(tmp_path, "init", "-q", "shop")
    (project / "src").mkdir()
    assert json.loads(at(project, "--json").out)["next"]["command"] == "lessons init lessons-brain"
    inside = json.loads(at(project / "src", "--json").out)["next"]["command"]
    assert inside == "lessons init ../lessons-brain"
    for command in ("doctor", "list", "trust"):
        done = at(project, command)
        assert "`lessons init lessons-brain`" in done.out + done.err, command
    assert at(project / "src", "init", "../lessons-brain").code == 0
    assert json.loads(at(project, "--json").out)["brains"]
    assert "do this in the repository of a project" in " ".join(at(home).out.split())


def test_lessons_alone_asks_the_reader_to_read_the_cards(at, home, tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", os.path.dirname(GIT))
    (home / ".gemini").mkdir()
    project = tmp_path / "shop"
    project.mkdir()
    git(project, "init", "-q")
    assert at(project, "init", "cards").code == 0
    at(project, "setup", "--yes")
    assert at(project, "trust", "--revoke", "cards").code == 0
    text = " ".join(at(project).out.split())
    step = "Next: `lessons trust cards`, to let its cards reach your agents; read them first."
    assert step in text


def test_lessons_alone_counts_agents_and_drafts(lessons, brain, home):
    (home / ".gemini").mkdir()
    lessons("setup", "--yes")
    lessons("add", "Floats hold money", "--draft")
    data = json.loads(lessons("--json").out)
    assert data["agents"] == [{"name": "gemini-cli", "last_call": None, "installed": True}]
    assert data["drafts"] == 1
    assert data["next"]["command"] == "lessons review"
    assert "gemini-cli (no call here yet)" in lessons().out


def test_lessons_alone_leads_a_project_without_cards_to_its_first(at, home, tmp_path, monkeypatch):
    (home / ".gemini").mkdir()
    tools = tmp_path / "bin"
    tools.mkdir()
    (tools / "git").symlink_to(GIT)
    monkeypatch.setenv("PATH", str(tools))
    project = tmp_path / "shop"
    project.mkdir()
    at(project, "init")
    at(project, "setup", "--yes")  # which writes a card into the user's own brain
    step = json.loads(at(project, "--json").out)["next"]
    assert step["command"] == 'lessons add "what went wrong"'
    git(project, "init", "-q")
    for number in range(20):
        commit(project, f"Add page {number}", when(number), **{f"page{number}.py": "A = 1\n"})
    text = " ".join(at(project).out.split())
    assert "Next: `lessons mine`, to look for lessons in 20 commits without merges" in text
    assert '`lessons add "what went wrong"` writes a card' in text
    write(project, "lessons/own.md", "---\ntype: lesson\n---\n\n# Own\n\n## Fix\n\n- Do it\n")
    assert "Next: `lessons mine`" in at(project).out
    at(project, "mine")
    assert "There is nothing to do." in at(project).out


def when(day):
    return f"2026-10-{day + 1:02}T10:00:00+00:00"


def test_titles_of_other_people_cannot_draw_on_the_screen(lessons, brain, write_card):
    write_card(
        "a.md", '---\ntype: lesson\ntitle: "Zebra\\e[2J stripes"\n---\n\n## Fix\n\n- Zebra\n'
    )
    lessons("show", "lessons/a.md")
    assert "\x1b" not in lessons().out


def test_a_command_nobody_knows_is_told_the_nearest(lessons):
    assert "'lint'" in lessons("lnit").err
    assert lessons("no-such").code == 2
    assert lessons("--version").out.startswith("lessons ")


def test_a_shell_completes_the_names_of_all_commands(lessons, monkeypatch):
    monkeypatch.setenv("_LESSONS_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", "lessons ")
    monkeypatch.setenv("COMP_CWORD", "1")
    assert lessons("list").out.split() == [name for name in NAMES if name not in HIDDEN]


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="no process works in a folder that is removed there")
@pytest.mark.parametrize("name", [name for name in NAMES if name not in HIDDEN])
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


def test_an_agent_that_was_disconnected_is_not_shown_as_connected(at, brain, home):
    (home / ".gemini").mkdir()
    assert at(brain, "setup", "--yes").code == 0
    with Brain.open(brain) as brains:
        call = Event(at=time.time(), kind="prompt", agent="gemini-cli", session="s", text="x")
        brains.members[0].journal.events.append(call)
    assert "gemini-cli (last call now)" in at(brain).out
    assert at(brain, "setup", "--undo", "--yes").code == 0
    shown = at(brain).out
    assert "gemini-cli (not connected; last call now)" in shown
    assert "Next: `lessons setup`" in shown


def test_an_agent_that_a_plugin_connects_is_connected(at, brain, home):
    with Brain.open(brain) as brains:
        call = Event(at=time.time(), kind="prompt", agent="claude-code", session="s", text="x")
        brains.members[0].journal.events.append(call)
    assert "claude-code (not connected; last call now)" in at(brain).out
    manifest = home / ".claude" / AGENTS["claude-code"].plugin.replace("*", "x")
    manifest.parent.mkdir(parents=True)
    manifest.write_text('{"version": "1"}')
    shown = at(brain).out
    assert "claude-code (last call now)" in shown
    assert "Next: `lessons setup`" not in shown


@pytest.mark.parametrize("name", [name for name in SUMMARIES if name not in HIDDEN])
def test_help_names_no_page_that_an_installed_user_lacks(lessons, name):
    text = lessons(name, "--help").out
    assert "github.io" not in text, "the site has no address yet"
    assert not re.search(r"\bdocs/[a-z-]+\.md", text)

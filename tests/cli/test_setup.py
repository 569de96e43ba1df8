"""One command connects what is on this machine, and takes it back byte for byte."""

import json
import os
import subprocess
import sys

import pytest

from lessons_kb.agents.install.settings_files import expand
from lessons_kb.agents.table import AGENTS
from lessons_kb.brain.make_brain import retire_first_lesson
from lessons_kb.service.daemon_client import STATUS, ask_daemon
from tests.kit import wait_until, write


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


def test_setup_names_a_brain_of_the_project_that_is_not_trusted(lessons, machine, tmp_path):
    project = tmp_path / "project"
    write(project, ".git/HEAD", "ref: refs/heads/main\n")
    write(project, "docs/brain/lessons.toml", "")
    write(project, "docs/brain/lessons/a.md", "# A lesson\n")
    expected = f"run `lessons trust {project}/docs/brain`"
    for _first_or_again in range(2):
        said = lessons("setup", "--yes")
        assert said.code == 0
        assert "no agent gets these cards yet" in said.err
        assert expected in said.err
    assert "Nothing to change." in said.out
    lessons("trust", "docs/brain")
    assert lessons("setup", "--yes").err == ""


def test_setup_lists_every_file_that_it_writes(lessons, machine):
    before = kept(machine)
    listed = set()
    for line in lessons("setup").out.splitlines():
        verb, _, path = line.strip().partition(" ~/")
        if verb in ("create", "change"):
            path = path.removesuffix(", its cache").removesuffix(" (with the MCP server)")
            listed.add((verb, machine / path))
    lessons("setup", "--yes")
    after = kept(machine)
    written = {("change" if path in before else "create", path) for path in after}
    written -= {("change", path) for path in before if before[path] == after[path]}
    cache = machine / ".local" / "share" / "lessons-kb" / ".lessons"
    in_cache = {pair for pair in written if cache in pair[1].parents}
    assert in_cache
    assert written - in_cache | {("create", cache)} == listed


def test_setup_shows_what_changes_in_each_file_on_request(lessons, machine):
    before = kept(machine)
    plain, full = lessons("setup").out, lessons("setup", "--diff").out
    assert "+++" not in plain
    assert "`lessons setup --diff`" in plain
    assert "+++" in full
    assert '"theme": "dark", // mine' in full
    assert kept(machine) == before
    lessons("setup", "--diff", "--yes")
    undone = lessons("setup", "--undo", "--diff").out
    assert "    change ~/.gemini/settings.json\n---" in undone


def test_after_setup_no_command_advises_it(lessons, machine, tmp_path, monkeypatch):
    assert "`lessons setup` connects" in lessons("init", str(tmp_path / "first")).err
    lessons("setup", "--yes")
    assert "setup" not in lessons("init", str(tmp_path / "second")).err
    monkeypatch.chdir(tmp_path / "second")
    lessons("create", "A mistake", "--no-edit")
    assert "lessons setup" not in lessons("stats").err
    assert "lessons setup" not in lessons().out


def test_every_agent_is_connected_at_once_and_undo_restores_every_byte(lessons, home):
    for row in AGENTS.values():
        os.makedirs(expand(row.folder), exist_ok=True)
    (home / ".kimi-code" / "config.toml").write_bytes(
        b'model = "k" # mine\n\n[[hooks]]\nevent = "Stop"'
    )
    (home / ".factory" / "settings.json").write_bytes(b'{ "model": "x" }')
    before = kept(home)
    done = json.loads(lessons("--json", "setup", "--yes").out)
    assert {one["agent"] for one in done} == set(AGENTS)
    assert len(kept(home)) > len(before) + 40
    assert lessons("setup", "--undo", "--yes").code == 0
    assert kept(home) == before


def test_undo_takes_the_first_lesson_of_agents_that_were_uninstalled(lessons, machine):
    before = kept(machine)
    lessons("setup", "--yes")
    lessons("uninstall", "--all")
    assert "has no entries of lessons-kb" in lessons("uninstall", "cursor").out
    assert "Removed " in lessons("setup", "--undo").out
    assert kept(machine) == before


def test_undo_leaves_nothing_of_a_first_lesson_that_was_retired(lessons, machine):
    before = kept(machine)
    lessons("setup", "--yes")
    retire_first_lesson()
    assert lessons("list").out == ""
    assert "Removed " in lessons("setup", "--undo", "--yes").out
    assert kept(machine) == before


@pytest.fixture
def daemon(machine):
    """A daemon that serves this home; its process."""
    command = [sys.executable, "-m", "lessons_kb.service.daemon"]
    with subprocess.Popen(command, env={**os.environ, "LESSONS_DAEMON": "1"}) as process:
        wait_until(lambda: ask_daemon(STATUS))
        yield process
        process.kill()


@pytest.mark.skipif(os.name == "nt", reason="Windows has no daemon")
@pytest.mark.parametrize("connected", [True, False])
def test_undo_stops_the_daemon(lessons, daemon, connected):
    if connected:
        lessons("setup", "--yes")
    done = lessons("setup", "--undo", "--yes")
    assert (done.code, daemon.wait(30)) == (0, 0)
    assert "daemon was stopped" in done.out
    assert "daemon" not in lessons("setup", "--undo", "--yes").out


def test_undo_lists_what_it_removes_and_says_that_cards_stay(lessons, machine):
    lessons("setup", "--yes")
    lessons("completion", "install", "bash")
    brain = machine / ".local" / "share" / "lessons-kb"
    listed = lessons("setup", "--undo").out  # asks, and nobody answers
    assert "    remove ~/.local/share/lessons-kb, which has only the first lesson\n" in listed
    assert "    remove ~/.bashrc\n" in listed
    assert "completion.bash\n" in listed
    assert "Cards that you wrote stay." in listed
    assert (brain / "lessons.toml").exists()
    own = brain / "lessons" / "own.md"
    own.write_text("---\ntype: lesson\ntitle: Mine\n---\n")
    assert "    remove ~/.local/share/lessons-kb/lessons/" in lessons("setup", "--undo").out
    lessons("setup", "--undo", "--yes")
    assert own.exists()
    assert "Cards that you wrote stay." not in lessons("setup", "--undo").out


@pytest.mark.skipif(os.name == "nt", reason="Windows has no daemon")
def test_setup_starts_the_daemon_for_the_first_prompt(lessons, machine, monkeypatch):
    monkeypatch.setenv("LESSONS_DAEMON", "1")
    explained = "To start: the daemon, a process in the background that answers the hooks."
    assert explained in lessons("setup").out
    done = lessons("setup", "--yes").out
    assert done.index(explained) < done.index("The daemon was started")
    wait_until(lambda: ask_daemon(STATUS))
    assert "daemon was stopped" in lessons("setup", "--undo", "--yes").out
    monkeypatch.setenv("LESSONS_DAEMON", "0")
    assert "daemon" not in lessons("setup", "--yes").out


@pytest.mark.skipif(os.name == "nt", reason="Windows has no daemon")
def test_purge_removes_the_state_folder_and_nothing_else(lessons, machine, daemon):
    before = kept(machine)
    lessons("init", "--user")
    brain = machine / ".local" / "share" / "lessons-kb"
    lessons("--brain", str(brain), "create", "Mine")
    mine = kept(brain)
    lessons("setup", "--yes")
    assert (machine / ".local" / "state" / "lessons-kb").is_dir()
    result = lessons("setup", "--undo", "--purge")
    assert (result.code, "~/.local/state/lessons-kb" in result.out) == (2, True)
    assert (machine / ".local" / "state" / "lessons-kb").is_dir()
    done = lessons("setup", "--undo", "--purge", "--yes")
    assert (done.code, daemon.wait(30)) == (0, 0)
    assert not (machine / ".local" / "state" / "lessons-kb").exists()
    assert kept(machine) == before | mine
    again = lessons("setup", "--undo", "--purge", "--yes")
    assert (again.code, again.out.splitlines()[-1]) == (0, "Nothing to change.")


def test_purge_leaves_no_empty_folder(lessons, machine, monkeypatch):
    monkeypatch.setenv("LESSONS_DAEMON", "0")
    before = set(machine.rglob("*"))
    lessons("setup", "--yes")
    assert (machine / ".local/share/lessons-kb").is_dir()
    assert lessons("setup", "--undo", "--purge", "--yes").code == 0
    assert set(machine.rglob("*")) == before


def test_purge_keeps_an_empty_folder_that_existed_before(lessons, machine, monkeypatch):
    monkeypatch.setenv("LESSONS_DAEMON", "0")
    share = machine / ".local" / "share"
    share.mkdir(parents=True)
    lessons("setup", "--yes")
    assert (machine / ".local" / "state").is_dir()
    assert lessons("setup", "--undo", "--purge", "--yes").code == 0
    assert share.is_dir()
    assert not (machine / ".local" / "state").exists()


def test_purge_keeps_the_text_that_the_user_wrote_into_a_command_and_names_the_file(lessons, home):
    (home / ".claude").mkdir()
    lessons("setup", "--yes")
    path = home / ".claude" / "commands" / "lesson.md"
    path.write_text(path.read_text() + "\nMY OWN TEXT\n")
    done = lessons("setup", "--undo", "--purge", "--yes")
    assert done.code == 0, done.err
    assert path.read_text().endswith("MY OWN TEXT\n")
    (line,) = [line for line in done.out.splitlines() if "lesson.md" in line and "kept" in line]
    assert line.startswith("~/.claude/commands/lesson.md: kept, because somebody changed")
    assert list(path.parent.iterdir()) == [path]


def test_purge_waits_until_every_project_is_disconnected(lessons, machine, brain):
    lessons("install", "gemini-cli", "--scope", "project")
    settings = brain / ".gemini" / "settings.json"
    done = lessons("setup", "--undo", "--purge", "--yes")
    assert (done.code, str(settings.parent) in done.err) == (2, True)
    assert "lessons uninstall" in done.err
    assert (machine / ".local" / "state" / "lessons-kb").is_dir()
    lessons("uninstall", "gemini-cli", "--scope", "project")
    assert lessons("setup", "--undo", "--purge", "--yes").code == 0
    assert not (machine / ".local" / "state" / "lessons-kb").exists()


def test_purge_leaves_a_folder_that_a_variable_names(lessons, machine, tmp_path, monkeypatch):
    monkeypatch.setenv("LESSONS_STATE_HOME", str(tmp_path / "elsewhere"))
    lessons("setup", "--yes")
    done = lessons("setup", "--undo", "--purge", "--yes")
    assert (done.code, "LESSONS_STATE_HOME" in done.err) == (2, True)
    assert (tmp_path / "elsewhere").is_dir()


def test_purge_goes_with_undo_alone(lessons, machine):
    done = lessons("setup", "--purge")
    assert (done.code, "--undo --purge" in done.err) == (2, True)


def test_install_all_connects_those_found_and_uninstall_all_restores_them(lessons, machine):
    before = kept(machine)
    done = json.loads(lessons("--json", "install", "--all").out)
    assert sorted(one["agent"] for one in done) == ["cursor", "gemini-cli"]
    (machine / ".gemini" / "commands" / "lesson.toml").unlink()
    assert "lesson.toml: would be created" in lessons("install", "--all", "--dry-run").out
    assert lessons("uninstall", "--all").code == 0
    assert kept(machine) == before


def test_nothing_is_written_without_a_yes(lessons, at_terminal, machine, tmp_path, monkeypatch):
    before = kept(machine)
    done = lessons("setup")
    assert (done.code, "--yes" in done.err) == (2, True)
    assert "    change ~/.gemini/settings.json (with the MCP server)\n" in done.out
    for words in ((), ("cursor", "--all")):
        assert "name one agent" in lessons("install", *words).err
    project = tmp_path / "shop"
    project.mkdir()
    (project / "AGENTS.md").write_text("- Never push to main.\n")
    monkeypatch.chdir(project)
    assert "Not touched: AGENTS.md" in lessons("setup").out
    shown = at_terminal("setup", columns=58)
    folded = shown.index("Not touched: AGENTS.md; `lessons diet` moves rules to")
    assert shown[folded + 1] == "  cards."
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


def test_a_refused_purge_names_the_command_that_helps(lessons, machine, brain):
    (machine / ".claude").mkdir()
    lessons("install", "claude-code", "--scope", "project", "--shared")
    needed = "lessons uninstall claude-code --scope project --shared"
    done = lessons("uninstall", "claude-code", "--scope", "project")
    assert f"`{needed}` in {brain}" in " ".join(done.out.split())
    assert needed in " ".join(lessons("setup", "--undo").out.split())
    refused = lessons("setup", "--undo", "--purge", "--yes")
    assert (refused.code, f"run `{needed}` in {brain}" in refused.err) == (2, True)
    assert "which was kept" in refused.err
    assert "Still connected" not in lessons(*needed.split()[1:]).out
    assert not (brain / ".mcp.json").exists()
    assert lessons("setup", "--undo", "--purge", "--yes").code == 0


@pytest.mark.skipif(os.name == "nt", reason="Windows has no daemon")
def test_a_refused_purge_stops_the_daemon_and_says_so(lessons, machine, brain, daemon):
    lessons("install", "gemini-cli", "--scope", "project")
    refused = lessons("setup", "--undo", "--purge", "--yes")
    assert (refused.code, daemon.wait(30)) == (2, 0)
    assert "The daemon was stopped." in refused.out


def test_a_broken_file_that_was_never_ours_does_not_stop_a_purge(lessons, machine):
    (machine / ".qwen").mkdir()
    broken = machine / ".qwen" / "settings.json"
    broken.write_text("{ broken json")
    lessons("setup", "--yes")
    done = lessons("setup", "--undo", "--purge", "--yes")
    assert done.code == 0
    reason = "it cannot be parsed, and lessons never changed it"
    assert f"Left ~/.qwen/settings.json as it is: {reason}." in done.out
    assert broken.read_text() == "{ broken json"
    assert not (machine / ".local" / "state" / "lessons-kb").exists()


def test_a_broken_file_that_was_ours_stops_a_purge_which_says_what_it_kept(lessons, machine):
    lessons("setup", "--yes")
    settings = machine / ".gemini" / "settings.json"
    settings.write_text("{ broken json")
    done = lessons("setup", "--undo", "--purge", "--yes")
    assert (done.code, "~/.local/state/lessons-kb was kept" in done.err) == (2, True)
    assert settings.read_text() == "{ broken json"


def test_setup_with_one_agent_names_it(lessons, home):
    (home / ".gemini").mkdir()
    assert "Start a new session in gemini-cli and paste this:" in lessons("setup", "--yes").out
    again = lessons("setup")
    assert "0 files" not in again.out + again.err


def test_a_second_setup_does_not_write_the_first_lesson_again(lessons, machine):
    assert "deleted after it has arrived once" in lessons("setup", "--yes").out
    (card,) = machine.rglob("first-lesson.md")
    assert "deletes itself after it has arrived once" in card.read_text()
    retire_first_lesson()
    settings = machine / ".gemini" / "settings.json"
    settings.write_text("{}")  # so that there is something to connect again
    again = lessons("setup", "--yes")
    assert "change ~/.gemini/settings.json" in again.out
    assert "Your own brain" not in again.out
    assert not list(machine.rglob("first-lesson.md"))
    assert "Nothing to change." in lessons("setup").out


def test_a_user_with_a_brain_without_cards_gets_the_first_lesson(lessons, machine):
    lessons("init", "--user")
    assert "create ~/.local/share/lessons-kb/lessons/first-lesson.md" in lessons("setup").out
    lessons("setup", "--yes")
    assert list(machine.rglob("first-lesson.md"))


@pytest.mark.parametrize("agent", ["claude-code", "gemini-cli", "codex", "opencode", "cursor"])
def test_setup_says_which_file_gets_the_mcp_server(lessons, home, agent):
    os.makedirs(expand(AGENTS[agent].folder))
    with_server = [
        line
        for line in lessons("setup").out.splitlines()
        if line.endswith(" (with the MCP server)")
    ]
    assert len(with_server) == 1
    assert "With the MCP server (package `mcp`, installed here)" in lessons("setup").out
    lessons("setup", "--yes")
    assert "MCP server" not in lessons("setup").out

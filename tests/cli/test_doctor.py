"""The doctor on the command line: exit codes, hooks set up anew, what it prints."""

import json
import os
import pathlib
import re
import sqlite3
import subprocess

import pytest

from lessons_kb import __version__
from lessons_kb.service.hook_event import answer_event
from lessons_kb.store.journal import JOURNAL_NAME
from lessons_kb.store.locations import state_home
from lessons_kb.store.state_folder import state_dir
from lessons_kb.store.trust import trust
from tests import kit


@pytest.fixture
def home(monkeypatch):
    """A home without agents, and no program of theirs on the path."""
    monkeypatch.setenv("PATH", os.pathsep.join(["/usr/bin", "/bin"]))
    return pathlib.Path(os.environ["HOME"])


def move_away(path):
    """Let settings call programs of an installation that is gone; return what they held."""
    before = path.read_text()
    path.write_text(re.sub(r'"[^"]*/(lessons(?:-hook)?)\b', r'"/gone/bin/\1', before))
    assert path.read_text() != before
    return before


@pytest.mark.slow
def test_a_hook_whose_program_is_gone_is_set_up_again_and_one_taken_out_is_not(
    lessons, brain, home
):
    (home / ".gemini").mkdir()
    lessons("install", "gemini-cli")
    path = home / ".gemini" / "settings.json"
    before = move_away(path)
    result = lessons("doctor")
    expected = f"✗ agent: gemini-cli: {path} calls /gone/bin/lessons-hook, which no longer exists"
    assert expected in result.out
    assert "or `lessons doctor --fix`" in result.out
    fixed = lessons("doctor", "--fix")
    assert "✓ agent: fixed: gemini-cli: " in fixed.out
    assert "✗" not in fixed.out
    assert path.read_text() == before
    assert "fixed" not in lessons("doctor", "--fix").out
    path.write_text("{}")
    assert "are missing" in lessons("doctor", "--fix").out
    assert path.read_text() == "{}"


@pytest.mark.slow
@pytest.mark.parametrize("via", ["command", "mcp"])
def test_route_and_scope_stay(lessons, brain, home, via):
    if via == "mcp":
        pytest.importorskip("mcp")
    lessons("install", "claude-code", "--scope", "project", "--via", via)
    path = brain / ".claude" / "settings.local.json"
    assert f"– agent: claude-code: hooks by {via}, project: {path}" in lessons("doctor").out
    before = move_away(path)
    lessons("doctor", "--fix")
    assert path.read_text() == before


@pytest.mark.slow
def test_hooks_of_another_version_are_named_and_brought_to_this_one(lessons, brain, home):
    (home / ".gemini").mkdir()
    path = home / ".gemini" / "settings.json"
    module = "lessons_kb.agents.install.install_agent.__version__"
    with pytest.MonkeyPatch.context() as former:
        former.setattr(module, "0.0.9")
        lessons("install", "gemini-cli")
    now = path.read_text()
    assert "0.0.9" not in lessons("doctor").out, "it would write the same"
    path.write_text(now.replace("replace|write_file|run_shell_command", "replace"))
    assert (
        f"⚠ agent: gemini-cli: hooks by command, user: {path}, written by version 0.0.9 → run "
        f"`lessons upgrade` to bring it to {__version__}" in lessons("doctor").out
    )
    assert "✓ agent: fixed: gemini-cli: " in lessons("upgrade").out
    assert path.read_text() == now
    done = lessons("upgrade").out.splitlines()
    assert done[0] == f"✓ agents: hooks, plugins and daemon have version {__version__}"
    assert done[1].endswith("&& lessons upgrade`")
    path.write_text(now.replace("replace|write_file|run_shell_command", "replace"))
    lessons("upgrade")
    assert path.read_text() != now, "of this version the user has changed it"


@pytest.mark.slow
def test_fixes_are_data_too(lessons, brain):
    lessons("index")
    home = pathlib.Path(state_home())
    home.chmod(0o755)
    data = json.loads(lessons("doctor", "--fix", "--json").out)
    private = f"{home} is private again"
    assert data[0] == {"level": "fixed", "what": "state", "detail": private, "fix": ""}
    assert {line["level"] for line in data[1:]} == {"ok", "off"}


@pytest.mark.slow
def test_hooks_are_seen_to_work_once_they_were_called(lessons, brain, home, health):
    (home / ".gemini").mkdir()
    lessons("install", "gemini-cli")
    agent = lambda: [(line.level, line.detail) for line in health("agent")]  # noqa: E731
    path = home / ".gemini" / "settings.json"
    assert agent() == [("off", f"gemini-cli: hooks by command, user: {path}; no call seen yet")]
    assert [line.level for line in health("hooks")] == ["off"]
    event = {"session_id": "s", "hook_event_name": "BeforeAgent", "cwd": str(brain), "prompt": "x"}
    answer_event("gemini-cli", json.dumps(event), {})
    seen = f"gemini-cli: hooks by command, user: {path}; last called now"
    assert agent() == [("ok", seen)]
    (hooks,) = health("hooks")
    assert (hooks.level, hooks.detail) == ("ok", "last called now; no errors logged")
    assert "✓ hooks: last called now" in lessons("doctor").out
    with sqlite3.connect(pathlib.Path(state_dir(str(brain)), JOURNAL_NAME)) as db:
        db.execute("UPDATE events SET at = at - 190")
    assert health("hooks")[0].detail == "last called 3 min ago; no errors logged"


def test_what_is_off_is_not_ticked(lessons, brain):
    marks = {}
    for line in lessons("doctor").out.splitlines():
        mark, _, rest = line.partition(" ")
        marks[rest.partition(":")[0]] = mark
    assert (marks["hooks"], marks["semantic"]) == ("–", "–")
    assert (marks["index"], marks["journal"], marks["trust"]) == ("✓", "✓", "✓")


def test_lines_that_are_the_same_for_two_brains_are_printed_once(lessons, brain, tmp_path):
    lessons("init", str(tmp_path / "other"))
    result = lessons("--brain", str(brain), "--brain", str(tmp_path / "other"), "doctor")
    lines = result.out.splitlines()
    assert sorted(lines) == sorted(set(lines))
    start = lines.index(f"✓ brain: {brain} ({brain.name})")
    assert "✓ files: all files are readable" in lines[:start]
    assert [line for line in lines[start:] if line.startswith("✓ index: ")]


def test_where_no_brain_is_trusted_it_names_the_fix_alone(lessons, brain, tmp_path, monkeypatch):
    lessons("trust", "--revoke")
    result = lessons("doctor")
    assert f"run `lessons trust {brain}`" in result.out
    assert "✗ brain: none that you trust\n" in result.out
    assert "init" not in result.out + result.err
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    result = lessons("doctor")
    assert (result.code, result.err, result.out.count("none here")) == (1, "", 1)
    assert "✗ brain: none here → run `lessons init`" in result.out
    assert lessons("doctor", "--fail-on", "never").code == 0


def test_an_untrusted_brain_beside_the_users_own_is_reported_once(lessons, tmp_path, monkeypatch):
    lessons("init", "--user")
    project = tmp_path / "shop"
    kit.commit(project, **{"docs/brain/lessons.toml": "", "docs/brain/lessons/a.md": "# A\n"})
    for place in (project, project / "docs/brain"):
        monkeypatch.chdir(place)
        done = lessons("doctor")
        assert (done.out + done.err).count("lessons trust") == 1


def test_cards_without_a_brain_beside_the_users_own_are_reported(lessons, tmp_path, monkeypatch):
    lessons("init", "--user")
    monkeypatch.chdir(kit.write(tmp_path / "shop/docs/solutions", "a.md", "# A\n").parents[2])
    assert (
        "⚠ brain: 1 Markdown file in docs/solutions → run `lessons init`" in lessons("doctor").out
    )


def test_an_error_of_the_settings_is_told_once(lessons, brain):
    with (brain / "lessons.toml").open("a") as file:
        file.write("colour = 1\n")
    assert "preflight.colour" in lessons("trust").err
    trust(str(brain))  # as it was where another version could use them
    output = [line for line in lessons("doctor").out.splitlines() if "preflight.colour" in line]
    assert len(output) == 1
    assert output[0].startswith("✗ settings: lessons.toml:")


@pytest.mark.slow
def test_in_a_repository_it_tells_how_cards_are_merged(lessons, brain):
    subprocess.run(["git", "init", "-q"], cwd=brain, check=True)
    assert "– git: merges cards as plain text → run `lessons install git`" in lessons("doctor").out
    lessons("install", "git")
    assert "✓ git: merges cards key by key" in lessons("doctor").out


def call_hook(brain):
    event = {"session_id": "s", "hook_event_name": "BeforeAgent", "cwd": str(brain), "prompt": "x"}
    answer_event("gemini-cli", json.dumps(event), {})


@pytest.fixture
def launcher(lessons, brain, home):
    """The launcher of Gemini CLI's hooks, which were called once."""
    (home / ".gemini").mkdir()
    lessons("install", "gemini-cli")
    call_hook(brain)
    return pathlib.Path(state_home(), "lessons-hook")


BREAKAGES = {
    "which is not executable": lambda path: path.chmod(0o600),
    "which is not the program that `lessons install` wrote": lambda path: path.write_text(
        "#!/bin/sh\nexit 0\n"
    ),
    "which needs /gone/python, which is not there": lambda path: path.write_text(
        re.sub(r"^#!\S+", "#!/gone/python", path.read_text())
    ),
}


@pytest.mark.skipif(os.name == "nt", reason="Windows has no launcher")
@pytest.mark.parametrize("repair", [("doctor", "--fix"), ("install", "gemini-cli")])
@pytest.mark.parametrize("problem", BREAKAGES)
def test_a_launcher_that_cannot_run_is_named_and_repaired(lessons, launcher, problem, repair):
    before = launcher.read_bytes()
    BREAKAGES[problem](launcher)
    result = lessons("doctor")
    assert f"calls {launcher}, {problem}" in result.out
    assert "✓ agent" not in result.out
    assert result.code == 1
    lessons(*repair)
    assert (launcher.read_bytes(), os.access(launcher, os.X_OK)) == (before, True)
    assert "✓ agent: gemini-cli: hooks by command" in lessons("doctor").out


@pytest.mark.parametrize("repair", [("doctor", "--fix"), ("install", "gemini-cli")])
def test_a_misspelt_event_is_named_and_repaired(lessons, launcher, home, repair):
    path = home / ".gemini" / "settings.json"
    before = json.loads(path.read_text())
    path.write_text(path.read_text().replace('"BeforeAgent"', '"BeforeAgentX"'))
    output = lessons("doctor").out
    assert "⚠ agent: gemini-cli: hooks by command" in output
    assert "not as `lessons install` writes them: BeforeAgent, BeforeAgentX" in output
    lessons(*repair)
    assert json.loads(path.read_text()) == before
    assert "✓ agent: gemini-cli: hooks by command" in lessons("doctor").out


def test_an_event_that_the_user_took_out_is_named_and_stays_out(lessons, launcher, home):
    path = home / ".gemini" / "settings.json"
    data = json.loads(path.read_text())
    del data["hooks"]["BeforeAgent"]
    path.write_text(json.dumps(data))
    assert "not as `lessons install` writes them: BeforeAgent →" in lessons("doctor", "--fix").out
    assert json.loads(path.read_text()) == data


@pytest.mark.parametrize(("value", "is_off"), [("0", True), ("1", False)])
def test_switched_off_hooks_are_reported(lessons, brain, monkeypatch, value, is_off):
    monkeypatch.setenv("LESSONS_HOOKS", value)
    out = lessons("doctor").out
    assert ("⚠ hooks: off, because LESSONS_HOOKS is 0" in out) is is_off
    assert ("unset LESSONS_HOOKS" in out) is is_off


@pytest.mark.parametrize("line", ["symptom: [", "title: [unclosed"])
def test_a_card_with_a_broken_header_is_reported(lessons, brain, line):
    card = (
        "---\ntype: lesson\ntitle: A broken header\nLINE\n---\n\n## Root Cause\n\nNobody looked.\n"
    )
    (brain / "lessons/broken.md").write_text(card.replace("LINE", line))
    out = lessons("doctor").out
    assert "⚠ files: 1 card has a header that YAML cannot read, such as lessons/broken.md" in out
    assert "run `lessons lint`" in out
    assert "all files are readable" not in out

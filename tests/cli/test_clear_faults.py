"""What is wrong with the machine or the user's settings is one clear line."""

import json
import os
import pathlib
import subprocess
import sys
import time

import pytest

from lessons_kb.store.locations import user_settings_path
from tests.kit import START, answer_event, read_troubles

FAKETIME = next(pathlib.Path("/usr/lib").glob("*/faketime/libfaketime.so.1"), None)


@pytest.mark.skipif(FAKETIME is None, reason="libfaketime is not installed")
@pytest.mark.parametrize("command", ["list", "doctor", "preflight task", "mcp", "run true"])
def test_a_clock_in_the_far_future_is_one_line(command, tmp_path):
    environment = {
        **os.environ,
        "LD_PRELOAD": str(FAKETIME),
        "FAKETIME": "9998-12-31 12:00:00",
        "FAKETIME_DONT_FAKE_MONOTONIC": "1",
    }
    done = subprocess.run(
        [sys.executable, "-P", "-c", START, *command.split()], cwd=tmp_path, env=environment,
        stdin=subprocess.DEVNULL, capture_output=True, text=True,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "lessons: the system clock shows the year 9998; set it and try again\n"


def test_an_empty_place_to_sync_to_is_one_line(lessons, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert lessons("init").code == 0
    before = sorted(tmp_path.iterdir())
    done = lessons("sync", "--to", "")
    assert done.code == 2
    assert done.err == "lessons: --to names no place; give a folder or the URL of a server\n"
    assert sorted(tmp_path.iterdir()) == before


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "[effct]\nwithhold = 0.1\n",
            "[effct] is not a table of these settings{}did you mean [effect]?",
        ),
        ("effect = 3\n", "effect is not a table of these settings{}did you mean [effect]?"),
        ("[effect]\nwithold = 0.1\n", "[effect] has no key withold{}did you mean withhold?"),
        ("[writer]\ncmd = 'x'\n", "[writer] has no key cmd{}did you mean command?"),
        ("[effect\n", "(at line 1, column 8){}fix or remove the line"),
    ],
)
def test_a_typo_in_the_users_settings_is_one_line(lessons, tmp_path, monkeypatch, text, said):
    monkeypatch.chdir(tmp_path)
    assert lessons("init").code == 0
    path = pathlib.Path(user_settings_path())
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    lines = [line for line in lessons("doctor").out.splitlines() if "settings.toml" in line]
    assert len(lines) == 1
    assert lines[0].startswith(f"✗ user settings: {path}: ")
    assert lines[0].endswith(said.format(" → "))


@pytest.mark.parametrize("table", ["check", "writer"])
def test_a_command_that_cannot_be_split_is_named(lessons, tmp_path, monkeypatch, table):
    monkeypatch.chdir(tmp_path)
    assert lessons("init").code == 0
    path = pathlib.Path(user_settings_path())
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f'[{table}]\ncommand = "judge \'unclosed"\n')
    done = lessons("doctor")
    assert done.code == 1
    (line,) = [line for line in done.out.splitlines() if "unclosed" in line]
    assert line.startswith(f"✗ user settings: {table}.command: ")
    assert line.endswith(" → fix its quotes")


def test_the_hook_log_names_a_clock_in_the_far_future(tmp_path, monkeypatch):
    far = time.struct_time((9998, 12, 31, 0, 0, 0, 0, 1, 0))
    monkeypatch.setattr(time, "localtime", lambda *_: far)
    event = {"hook_event_name": "UserPromptSubmit", "session_id": "s", "cwd": str(tmp_path)}
    printed, line = answer_event("claude-code", json.dumps(event | {"prompt": "x"}), {})
    assert (printed, line) == ("", "")
    (trouble,) = read_troubles()
    expected = "the system clock shows the year 9998; set it and try again"
    assert trouble.message == f"InputError: {expected}"


@pytest.mark.parametrize(("year", "code"), [(2261, 0), (2262, 2)])
def test_the_last_year_that_python_can_count_is_allowed(lessons, monkeypatch, year, code):
    monkeypatch.setattr(
        time, "localtime", lambda *_: time.struct_time((year, 1, 1, 0, 0, 0, 0, 1, 0))
    )
    assert lessons("--version").code == code


def test_a_word_inside_a_cards_name_names_it_and_a_part_suggests_it(lessons, project, monkeypatch):
    monkeypatch.chdir(project)
    assert "Telegram remote execution must require" in lessons("show", "allowlist").out
    done = lessons("show", "allowlis")
    assert done.code == 2
    assert "did you mean lessons/telegram-allowlist.md?" in done.err

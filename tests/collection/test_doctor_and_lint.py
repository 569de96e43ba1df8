"""What the doctor sees, and what it fixes: only what can be made again, and only once."""

import os
import pathlib
import shutil
import time

import pytest

from lessons_kb import Brain
from lessons_kb.model import Event
from lessons_kb.store.error_log import LOG_NAME, log_trouble
from lessons_kb.store.locations import state_home
from lessons_kb.store.state_folder import state_dir
from tests.kit import make_brain


@pytest.fixture
def brain(root, telegram):
    make_brain(str(root), confirm=lambda _root, _count: True)
    opened = Brain.open(root, directory=root)
    opened.refresh()
    return opened


@pytest.fixture
def lines(health, root):
    return lambda check: health(check, root)


@pytest.fixture
def fixed(health, root):
    """Return what `doctor --fix` puts right."""
    return lambda: [line for line in health("", root, "--fix") if line.level == "fixed"]


def snapshot(folder):
    return {str(path): path.read_bytes() for path in folder.rglob("*.md")}


def test_a_sound_brain_has_a_full_report(brain, lines, fixed):
    health = lines("")
    assert {line.what for line in health if line.level == "off"} == {"hooks", "semantic"}
    assert {line.level for line in health} == {"ok", "off"}
    assert [line.what for line in health] == [
        *("hooks", "state", "versions", "brain", "trust", "settings", "index"),
        *("semantic", "files", "write access", "journal", "drafts"),
    ]
    assert lines("trust")[0].detail == "created by you"
    assert lines("index")[0].detail.startswith("1 file: 1 card, 0 notes, 0 unusable; ")
    assert fixed() == []


def test_the_index_says_what_it_had_to_read(brain, write, settle, lines):
    settle()
    brain.refresh()
    assert lines("index")[0].detail.endswith("fresh")
    write("lessons/new.md", "# A new one\n")
    assert lines("index")[0].detail.endswith("1 updated just now")


def test_errors_of_hooks_are_counted_in_words(lines):
    for _ in range(3):
        log_trouble("codex", "Stop", "StorageError: the disk is full; free some space")
    log_trouble("claude-code", "deadline", "no answer within 2 s; nothing was injected")
    log_trouble("daemon", "request", "OSError: no space left")
    problems = {line.detail.partition(":")[0]: line for line in lines("hooks")}
    assert {*problems} == {"daemon request", "claude-code deadline", "codex Stop"}
    times = "codex Stop: the disk is full; free some space (3×, last 2"
    assert problems["codex Stop"].detail.startswith(times)
    assert "without an answer" in problems["codex Stop"].fix
    assert "without an answer" not in problems["daemon request"].fix, "each hook answers by itself"
    log = pathlib.Path(state_home(), LOG_NAME)
    log.write_text(log.read_text().replace(time.strftime("%Y-"), "2001-"))
    (old,) = lines("hooks")
    assert (old.level, old.detail) == ("off", f"5 errors, none in the last week, in {log}")


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such rights")
def test_open_state_folders_are_closed(brain, lines, fixed, root):
    home, mine = state_home(), state_dir(brain.members[0].root)
    os.chmod(home, 0o755)
    os.chmod(mine, 0o750)
    assert lines("state")[0].detail == f"other users can read {home}"
    assert lines("write access")[1].level == "warning"
    assert [line.level for line in fixed()] == ["fixed", "fixed"]
    assert os.stat(home).st_mode & 0o777 == 0o700
    assert os.stat(mine).st_mode & 0o777 == 0o700
    assert fixed() == []


def test_an_index_that_lost_files_is_rebuilt(brain, lines, fixed):
    layer = brain.members[0]
    assert layer.engine is not None
    [(number, _digest)] = layer.catalogue.numbers().values()
    layer.engine.update([], [number])
    brain.close()
    (wrong, _well) = lines("index")
    assert (wrong.level, wrong.detail) == ("error", "the index holds 0 of 1 files")
    done = fixed()
    assert any("rebuilt" in line.detail for line in done)
    assert {line.level for line in lines("index")} == {"ok"}
    assert fixed() == []
    assert brain.search("telegram allowlist")


def test_a_damaged_catalogue_is_rebuilt(brain, fixed):
    brain.close()
    pathlib.Path(brain.members[0].cache, "catalogue.db").write_bytes(b"junk" * 999)
    assert [line.detail for line in fixed()] == ["built; the old one was missing or unusable"]
    assert fixed() == []
    assert brain.search("telegram allowlist")


def test_a_file_in_the_place_of_the_state_folder(monkeypatch, tmp_path, lines, fixed):
    (tmp_path / "state").write_text("x")
    monkeypatch.setenv("LESSONS_STATE_HOME", str(tmp_path / "state"))
    (line,) = lines("state")
    assert (line.level, line.detail) == ("error", f"{tmp_path / 'state'} is not a folder")
    assert fixed() == []


def test_a_command_that_was_killed_is_ended(brain, fixed, root):
    layer = brain.members[0]
    layer.journal.runs.begin(Event(kind="command", at=time.time(), text="sleep 9"))
    shutil.rmtree(os.path.join(state_dir(layer.root), "runs"))  # what a kill leaves: no lock
    layer.close()
    assert [line.detail for line in fixed()] == ["ended 1 command whose process no longer exists"]


def test_open_drafts_are_reported(brain, lines):
    brain.drafts.propose("The total of a cart was hard-coded")
    (line,) = lines("drafts")
    assert (line.level, line.detail, "`lessons review`" in line.fix) == ("ok", "1 draft", True)


def test_a_brain_that_was_only_named_says_that_hooks_are_silent(root, telegram, health):
    report = health("trust", None, "--brain", root)
    assert "hooks are silent here" in report[-1].detail
    assert f"lessons trust {os.path.realpath(root)}" in report[-1].fix


def test_settings_that_cannot_be_read_are_one_line(brain, write, lines):
    write("lessons.toml", "[preflight]\nbudgett = 1\n")
    (line,) = lines("settings")
    assert (line.level, line.detail) == ("error", "lessons.toml:2: unknown key preflight.budgett")
    assert line.fix == "did you mean preflight.budget?"


def test_fixing_never_touches_a_card(brain, root, write, fixed):
    write("lessons/bad.md", "---\ntitle: [\n---\nx\n")
    (root / "lessons/worse.md").write_bytes(b"\xff\xfe")
    before = snapshot(root)
    pathlib.Path(root, ".lessons", ".gitignore").unlink()
    fixed()
    fixed()
    assert snapshot(root) == before

"""`kill -9` at any moment of a diet, and an editor's saves: no rule is lost, none is there twice."""

import os
import pathlib
import random
import shutil
import subprocess
import sys
import threading
import time

import pytest

from tests import kit
from tests.diet.conftest import MOVED, RULES, cards_of, count_rule

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(os.name == "nt", reason="forks and SIGKILL are POSIX"),
]
WORKER = str(pathlib.Path(__file__).with_name("diet_worker.py"))
KILLS = 300


@pytest.fixture
def worker(project):
    """A process whose children apply and undo without end; ``kill(seconds)`` kills the next one."""
    environment = {**os.environ, "PYTHONPATH": str(kit.ROOT)}
    with subprocess.Popen(
        [sys.executable, WORKER, str(project)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1, env=environment,
    ) as process:  # fmt: skip

        def kill(seconds):
            process.stdin.write(f"{seconds:.4f}\n")
            assert process.stdout.readline() == "killed\n"

        yield kill
        process.stdin.close()


def run_once(project, what):
    environment = {**os.environ, "PYTHONPATH": str(kit.ROOT)}
    command = [sys.executable, WORKER, str(project), what]
    return subprocess.run(
        command, capture_output=True, text=True, env=environment, check=True
    ).stdout


def test_a_kill_loses_no_rule_and_the_next_undo_removes_what_it_left(project, worker, at, figure):
    chance = random.Random(7)
    states = set()
    for number in range(KILLS):
        worker(0.12 * chance.random())
        assert all(count_rule(project, rule) >= 1 for rule in MOVED), "a rule is nowhere"
        states.add((len(cards_of(project)), (project / "AGENTS.md").read_text() == RULES))
        if number % 10 == 0:
            at(project, "diet", "--undo")
            left = [path.name for path in project.rglob(".lessons-tmp-*")]
            assert left == []
            assert (project / "AGENTS.md").read_text() == RULES
            assert cards_of(project) == []
    assert len(states) >= 3, f"killed in few states only: {states}"
    figure("kill -9 at a random moment", f"diet: {KILLS} kills, no rule lost, none twice")


def test_an_editor_saves_at_random_moments_and_wins(project, worker):
    chance = random.Random(8)
    saved = []
    stop = threading.Event()

    def edit():
        file = project / "AGENTS.md"
        while not stop.is_set():
            time.sleep(0.2 * chance.random())
            try:
                text = file.read_text()
                new = project / "AGENTS.md.new"
                line = f"- Saved {len(saved)}\n"
                new.write_text(text + line)
                os.replace(new, file)  # as editors do
                saved.append(line)
            except FileNotFoundError:
                continue

    editor = threading.Thread(target=edit)
    editor.start()
    try:
        for _ in range(20):
            worker(0.3 * chance.random())
    finally:
        stop.set()
        editor.join()
    run_once(project, "undo")
    text = (project / "AGENTS.md").read_text()
    assert saved[-1] in text
    for rule in MOVED:
        assert count_rule(project, rule) == 1, rule


def test_an_unfinished_mark_is_removed_by_an_undo_without_a_diet(project, at):
    folder = project / ".git" / "lessons-kb"
    folder.mkdir(exist_ok=True)
    (folder / ".lessons-tmp-diet").write_text("")
    at(project, "diet", "--undo")
    assert list(folder.glob(".lessons-tmp-*")) == []


def test_an_unfinished_mark_behind_a_link_is_left_alone(project, at, tmp_path):
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / ".lessons-tmp-diet").write_text("")
    folder = project / ".git" / "lessons-kb"
    shutil.rmtree(folder, ignore_errors=True)
    folder.symlink_to(elsewhere)
    at(project, "diet", "--undo")
    assert (elsewhere / ".lessons-tmp-diet").exists()

"""A hook reads a few changed files itself and leaves the rest to one detached run."""

import itertools
import os
import pathlib
import subprocess
import sys
import threading
import time

import pytest

from lessons_kb.brain.brain import REFRESHED_FILES
from lessons_kb.process import programs as detached
from lessons_kb.store.locks import hold_writer
from lessons_kb.store.trust import cache_dir
from tests.kit import trust_brain, write

PROMPT = "Add a telegram command that restarts the service"


ADVICE = "Reject every chat id"


@pytest.fixture
def ask(claude):
    """What the prompt of a session brings."""
    return lambda session: claude.prompt(PROMPT, session_id=session).context


@pytest.fixture
def starts(monkeypatch, detached_processes):
    """Commands that would have been started."""
    commands = []

    class Process:
        def __init__(self, command, **_options):
            commands.append(command)

        def wait(self):
            return 0

    monkeypatch.setattr(subprocess, "Popen", Process)
    return commands


def fill(project, count):
    for number in range(count):
        text = f"# Note {number}\n\nSomething else entirely.\n"
        write(project, f"playbooks/{number}.md", text)


@pytest.mark.slow
def test_many_changed_files_start_one_detached_index(project, ask, starts):
    ask("s0")
    fill(project, 3 * REFRESHED_FILES)
    ask("s1")
    ask("s2")
    assert len(starts) == 1
    command = starts[0]
    assert command[0] == sys.executable
    assert "-P" in command
    assert command[-3:] == ["index", "--brain", str(project.resolve())]


def test_the_first_prompt_waits_for_a_watcher_that_indexes_the_brain(project, ask):
    held = threading.Event()

    def index():
        with hold_writer(os.path.join(cache_dir(str(project)), "writer.lock"), patience=9):
            held.set()
            time.sleep(0.2)

    watcher = threading.Thread(target=index)
    watcher.start()
    held.wait()
    assert ADVICE in ask("s1")
    watcher.join()


@pytest.mark.parametrize("trusted", [True, False])
def test_the_first_prompt_of_a_small_brain_reads_all_of_it(project, ask, starts, trusted):
    fill(project, 3 * REFRESHED_FILES)
    (project / "lessons" / "telegram-allowlist.md").rename(project / "lessons" / "zz.md")
    trust_brain(str(project), revoke=not trusted)
    assert (ADVICE in ask("s1")) == trusted
    assert len(starts) == trusted, "one run compares the cards with each other, for contradictions"


@pytest.mark.slow
def test_the_detached_run_finishes_the_index(project, claude, enter, detached_processes):
    def advised(session):
        asked = claude.event("UserPromptSubmit", prompt=PROMPT, session_id=session)
        return ADVICE in str(enter("claude-code", asked)[0])

    advised("s0")
    fill(project, 3 * REFRESHED_FILES)
    (project / "lessons" / "telegram-allowlist.md").rename(project / "lessons" / "zz.md")
    until = time.monotonic() + 30
    sessions = itertools.count(1)
    while not advised(f"s{next(sessions)}"):
        assert time.monotonic() < until
        time.sleep(0.3)


def test_a_mark_that_is_old_does_not_hold_back_the_next_start(project, starts):
    cache = cache_dir(str(project))
    assert detached.start_index(str(project), cache)
    assert not detached.start_index(str(project), cache)
    mark = pathlib.Path(cache, "index.started")
    os.utime(mark, (time.time() - 100, time.time() - 100))
    assert detached.start_index(str(project), cache)
    assert len(starts) == 2

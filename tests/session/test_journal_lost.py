"""A journal that cannot be used costs the memory of a session, never an answer."""

import contextlib
import itertools
import os
import pathlib
import shutil
import signal
import sqlite3
import subprocess
import sys
import time

import pytest

from lessons_kb import Brain
from tests.kit import Said, read_troubles, state_dir

pytestmark = pytest.mark.slow

PROMPT = "Add a telegram command that restarts the service"
ADVICE = "Reject every chat id"
LINE = "lessons: lessons still arrive, but nothing is recorded: "
HOLD = """
import sqlite3, sys, time
db = sqlite3.connect(sys.argv[1], isolation_level=None)
db.execute("BEGIN IMMEDIATE")
db.execute("UPDATE facts SET value = value")
print("held", flush=True)
time.sleep(600)
"""
SOON = 0.3
"""Seconds between two prompts of a quick user."""
TROUBLES = {
    "a stopped process": "database is locked; wait a moment, or end the process that uses it",
    "a read-only disk": "attempt to write a readonly database",
    "a full disk": "database or disk is full",
    "a newer version": "was written by a newer lessons_kb; upgrade this one",
}


@pytest.fixture
def ask(claude, enter):
    """Answer an event through the installed entry, by default the prompt."""

    def ask(session, name="UserPromptSubmit", **fields):
        fields = fields or {"prompt": PROMPT}
        return Said(enter("claude-code", claude.event(name, session_id=session, **fields))[0])

    return ask


@pytest.fixture
def stays(claude):
    """Answer prompts in this process, with one brain that stays open."""
    number = itertools.count()
    with Brain.open(claude.project) as brain:
        claude.how["find"] = lambda _folder: brain

        def stays(session=""):
            name = session or f"s{next(number)}"
            return claude.prompt(PROMPT, next(number), session_id=name)

        stays.brain = brain
        yield stays


@contextlib.contextmanager
def held_by_a_stopped_process(journal):
    command = [sys.executable, "-c", HOLD, str(journal)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        os.kill(holder.pid, signal.SIGSTOP)
        try:
            yield
        finally:
            os.kill(holder.pid, signal.SIGKILL)


@contextlib.contextmanager
def read_only(state, mount):
    mount(state, "--bind", state)
    subprocess.run(["mount", "-o", "remount,bind,ro", str(state)], check=True)
    yield
    subprocess.run(["mount", "-o", "remount,bind,rw", str(state)], check=True)


@contextlib.contextmanager
def full(state):
    ballast = state / "ballast"
    with ballast.open("wb", buffering=0) as file, contextlib.suppress(OSError):
        for size in (1 << 16, 4096, 1):
            with contextlib.suppress(OSError):
                while file.write(b"x" * size):
                    pass
    yield
    ballast.unlink()


@contextlib.contextmanager
def written_by_a_newer_version(journal):
    with contextlib.closing(sqlite3.connect(journal, isolation_level=None)) as db:
        (version,) = db.execute("PRAGMA user_version").fetchone()
        db.execute("PRAGMA user_version = 1000")
        yield
        db.execute(f"PRAGMA user_version = {version}")


@pytest.fixture(params=sorted(TROUBLES))
def lost(request, project, mount, tmp_path, monkeypatch):
    """Take the journal away in one way: (a context, what is said of it)."""
    way = request.param
    state = pathlib.Path(os.environ["HOME"], ".local/state/lessons-kb")
    if way == "a full disk":
        small = mount(tmp_path / "small", "-t", "tmpfs", "-o", "size=400k", "tmpfs")
        state = shutil.copytree(state, pathlib.Path(small, "state"))
        monkeypatch.setenv("LESSONS_STATE_HOME", str(state))
    journal = pathlib.Path(state_dir(str(project)), "journal.db")
    contexts = {
        "a stopped process": lambda: held_by_a_stopped_process(journal),
        "a read-only disk": lambda: read_only(state, mount),
        "a full disk": lambda: full(state),
        "a newer version": lambda: written_by_a_newer_version(journal),
    }
    return contexts[way], TROUBLES[way]


def test_a_prompt_is_answered_and_the_user_told_once(ask, lost):
    without_journal, reason = lost
    assert ADVICE in ask("before").context
    with without_journal():
        said = [ask(f"s{n}") for n in (1, 1, 2)]
        logged = [trouble.message for trouble in read_troubles()]
        assert ADVICE not in ask("before").context, "what it was given is not given again"
    assert [ADVICE in output.context for output in said] == [True] * 3
    assert [LINE in output.line for output in said] == [True, False, True]
    assert reason in said[0].line
    assert said[0].line.count("\n") == 1  # that line, and the names of the lessons
    assert all(reason in line for line in logged)
    assert len(logged) in (0, 2)  # a log on a disk that takes nothing holds nothing


def test_every_other_event_is_survived(project, ask, lost):
    ask("before")
    edit = {"tool_name": "Edit", "tool_use_id": "t1"}
    edit["tool_input"] = {"file_path": f"{project}/bot/a.py", "old_string": "a", "new_string": "b"}
    with lost[0]():
        assert LINE in ask("s", "SessionStart", source="startup").line
        assert ADVICE in ask("s", "PreToolUse", **edit).context
        assert ask("s", "PostToolUse", **edit) == {}
        assert ask("s", "Stop", last_assistant_message="Done.") == {}
        assert ask("s", "SessionEnd", reason="other") == {}
    assert not [t for t in read_troubles() if "no answer within" in t.message]


def test_the_doctor_says_it_and_what_comes_after_is_remembered_again(project, ask, lost, health):
    ask("before")
    with lost[0]():
        assert [line.level for line in health("journal", project)] == ["error"]
        ask("s")
    said = [ask("s") for _ in range(2)]
    assert [ADVICE in output.context for output in said] == [True, False]
    assert LINE not in str(said)


def test_a_process_that_stays_remembers_again(project, stays, monkeypatch):
    monkeypatch.setattr("lessons_kb.store.database._RETRY_SECONDS", 0.0)
    journal = pathlib.Path(state_dir(str(project)), "journal.db")
    assert ADVICE in stays("one").context
    with held_by_a_stopped_process(journal):
        assert ADVICE in stays("two").context
        assert stays("one").context == ""
    assert ADVICE in stays("two").context
    assert stays("two").context == ""
    assert len(stays.brain.journal.events(session="two", kinds=["prompt"])) == 2


def test_a_process_that_stays_says_what_is_wrong_now(project, stays, mount):
    state = pathlib.Path(os.environ["HOME"], ".local/state/lessons-kb")
    journal = pathlib.Path(state_dir(str(project)), "journal.db")

    def hold(*lines):
        for line in lines:
            said = stays()
            assert ADVICE in said.context
            assert line in said.line if line else LINE not in said.line

    hold("")
    with held_by_a_stopped_process(journal):
        hold("database is locked", "database is locked")
    time.sleep(SOON)
    hold("")
    with held_by_a_stopped_process(journal):
        hold("database is locked")
    with read_only(state, mount):
        time.sleep(SOON)
        hold("readonly database")
    time.sleep(SOON)
    hold("")


def test_an_agent_that_shows_no_line_with_a_prompt_shows_it_later(project, session, enter):
    cursor = session("cursor")
    asked = cursor.event("UserPromptSubmit", prompt=PROMPT)
    enter("cursor", asked | {"conversation_id": "before"})
    journal = pathlib.Path(state_dir(str(project)), "journal.db")
    with held_by_a_stopped_process(journal):
        output, _ = enter("cursor", asked)
        assert "remembered" not in str(output)
        assert LINE in str(enter("cursor", cursor.event("PreCompact", trigger="auto"))[0])
    assert len([t for t in read_troubles() if "locked" in t.message]) == 1

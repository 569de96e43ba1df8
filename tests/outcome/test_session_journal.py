"""The noun `brain.journal`: what a session or a workflow engine notes, and how it is looked up."""

import pathlib
import time
from dataclasses import replace

import pytest

from lessons_kb import Brain
from lessons_kb.errors import InputError
from lessons_kb.model import Event
from lessons_kb.outcome import session_journal
from lessons_kb.store.journal import JOURNAL_NAME
from tests.kit import git, state_dir, trust_brain, write

CARD = "# Retry twice\n\n## Fix\n\nSend a key.\n"


@pytest.fixture
def root(tmp_path):
    folder = tmp_path / "shop"
    (folder / "lessons").mkdir(parents=True)
    return folder


@pytest.fixture
def brain(root):
    with Brain.open(root, directory=root) as opened:
        yield opened


@pytest.fixture
def run(lessons, root, monkeypatch):
    """Run a command as `lessons run` does, in the brain; return what it did."""

    def run(*command, options=()):
        monkeypatch.chdir(root)
        return lessons("--brain", root, "run", *options, "--", *command)

    return run


def test_an_event_is_noted_once_with_its_place_and_time(brain):
    event = Event(kind="edit", session="s", id="1", targets=("a.py",))
    assert brain.journal.record(event) is True
    assert brain.journal.record(event) is False
    (stored,) = brain.journal.events()
    assert abs(stored.at - time.time()) < 60
    assert stored == replace(event, at=stored.at, scope=brain.directory)
    with pytest.raises(InputError, match="unknown event 'oops'"):
        brain.journal.record(Event(kind="oops"))


def test_the_session_is_the_one_the_agent_names(brain, monkeypatch):
    monkeypatch.setenv("CODEX_THREAD_ID", "t-1")
    brain.journal.record(Event(kind="stage", stage="TEST", text="2 fail, password=hunter2"))
    brain.journal.record(Event(kind="interrupt", text="no", session="w"))
    (event,) = brain.journal.events(session="t-1")
    assert (event.agent, event.text) == ("codex", "2 fail, password=[redacted password]")
    monkeypatch.setenv("LESSONS_SESSION", "mine")
    brain.journal.record(Event(kind="interrupt", text="no"))
    brain.journal.record(Event(kind="rollback", agent="engine"))
    assert [event.agent for event in brain.journal.events(session="mine")] == ["", "engine"]


@pytest.mark.parametrize(("days", "remaining"), [(7, 2), (-1, 3)], ids=["a week", "unusable"])
def test_retention_is_a_setting(brain, root, days, remaining):
    (root / "lessons.toml").write_text(f"[journal]\nretention_days = {days}\n")
    for age in (10, 5):
        at = time.time() - age * 86_400
        brain.members[0].journal.events.append(Event(kind="prompt", at=at))
    assert brain.journal.record(Event(kind="prompt")) is True
    assert len(brain.journal.events()) == remaining


def test_counts_are_kept_by_card_and_day(brain, root):
    write(root, "lessons/a.md", CARD)
    brain.bump("a")
    brain.bump("a", task="again")
    brain.journal.count("lessons/a.md", "addressed", times=2)
    day = time.strftime("%Y-%m-%d")
    counts = [("lessons/a.md", what, day, 2) for what in ("addressed", "bumped")]
    assert sorted(brain.journal.counts("lessons/a.md")) == counts
    assert brain.journal.counts("other") == []


def test_a_bump_counts_even_where_the_journal_cannot_be_written(brain, root):
    write(root, "lessons/a.md", CARD)
    pathlib.Path(state_dir(brain.members[0].root), JOURNAL_NAME).mkdir()
    assert brain.bump("a")[0].occurrences == 2


def test_a_run_is_one_event_with_its_end(brain, run):
    code = "echo '\033[31mred\033[0m'; printf '10%%\\r100%%\\n'; exit 2"
    ended = run("sh", "-c", code, options=("--session", "s", "--stage", "TEST"))
    assert (ended.code, ended.err) == (2, "")
    (event,) = brain.journal.events()
    assert (event.kind, event.outcome, event.session, event.stage) == (
        *("command", "exec_error", "s", "TEST"),
    )
    assert event.output == "red\n100%\n"
    assert event.scope == brain.directory
    run_record = event.record["run"]
    assert (run_record["state"], run_record["code"]) == ("failed", 2)
    assert run_record["seconds"] >= 0


def test_a_run_that_cannot_be_started_is_not_left_running(brain):
    with pytest.raises(ValueError, match="null byte"):
        session_journal.run(brain, ["a\0b"])
    assert [event.outcome for event in brain.journal.events()] == ["cancelled"]


def test_where_it_ran_is_part_of_what_ran(brain, root, lessons, monkeypatch):
    write(root, "lessons.toml", "")
    git(root, "init", "-q")
    trust_brain(str(root))
    (root / "web app").mkdir()
    monkeypatch.chdir(root / "web app")
    lessons("run", "--", "echo", "a b")
    assert [event.text for event in brain.journal.events()] == ["cd 'web app' && echo 'a b'"]


def test_a_run_goes_on_without_brain_or_journal(brain, run, lessons, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert lessons("run", "echo", "x").code == 0
    pathlib.Path(state_dir(brain.members[0].root), JOURNAL_NAME).mkdir()
    ended = run("echo", "x")
    assert (ended.code, "journal.db" in ended.err) == (0, True)


def test_the_doctor_names_a_journal_that_was_damaged(brain, health):
    path = pathlib.Path(state_dir(brain.members[0].root), JOURNAL_NAME)
    path.write_bytes(b"junk" * 1000)
    assert brain.journal.record(Event(kind="prompt")) is True
    lines = health("journal", None, "--brain", brain.directory)
    assert [line.level for line in lines] == ["ok", "warning"]
    assert "journal.db.damaged-" in lines[1].detail
    assert "a new journal was started" in lines[1].fix

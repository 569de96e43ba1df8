"""A person can read the cards of a cloned brain before trusting it; an agent cannot."""

import json
import os
import pathlib

import pytest

from lessons_kb.store.locations import user_brain
from tests.kit import TELEGRAM, commit, git

TITLE = "Telegram remote execution must require an allowlist"
AGENT_SESSIONS = ("LESSONS_SESSION", "CLAUDE_CODE_SESSION_ID", "CODEX_THREAD_ID")


@pytest.fixture(params=["docs/brain", "."])
def clone(request, tmp_path, at, monkeypatch):
    """A clone, which is the working directory, of a repository with a brain."""
    origin = tmp_path / "origin"
    folder = origin / request.param
    (folder / "lessons").mkdir(parents=True)
    (folder / "lessons/telegram.md").write_text(TELEGRAM)
    git(origin, "init", "-q")
    at(origin, "init", request.param)
    commit(origin)
    git(tmp_path, "clone", "-q", str(origin), str(tmp_path / "clone"))
    monkeypatch.chdir(tmp_path / "clone")
    return tmp_path / "clone"


@pytest.fixture(params=[False, True], ids=["alone", "own brain"])
def own_brain(request, lessons):
    """Whether the user has a brain of their own as well, as after `lessons setup`."""
    if request.param:
        lessons("init", "--user")
    return request.param


@pytest.mark.parametrize(
    "command", [("list",), ("show", "telegram"), ("search", "telegram authorization")]
)
def test_a_person_reads_the_cards_of_an_untrusted_brain(clone, own_brain, command, lessons):
    result = lessons(*command)
    assert result.code == 0
    assert TITLE in result.out
    assert "not trusted" in result.err
    assert "lessons trust" in result.err
    assert "no cards yet" not in result.err
    if command[0] != "show":
        assert f"[not trusted] {TITLE}" in result.out


@pytest.mark.parametrize("name", AGENT_SESSIONS)
@pytest.mark.parametrize(
    "command", [("list",), ("show", "telegram"), ("search", "telegram authorization")]
)
def test_an_agent_does_not_read_them(clone, name, command, lessons, monkeypatch):
    monkeypatch.setenv(name, "s1")
    result = lessons(*command)
    assert result.code == 2
    assert TITLE not in result.out + result.err


def test_reading_them_gives_no_trust(clone, lessons):
    lessons("list")
    lessons("show", "telegram")
    result = lessons("preflight", "Add a Telegram command")
    assert "lessons trust" in result.err
    assert not result.out
    assert not pathlib.Path(".lessons").exists()


def test_trusted_cards_have_no_mark(clone, lessons):
    lessons("trust")
    result = lessons("list")
    assert "not trusted" not in result.out + result.err


def test_trust_prints_the_number_and_the_titles(clone, lessons):
    result = lessons("trust")
    first, second = result.out.splitlines()
    assert first.endswith(" is now trusted, with 1 card:")
    assert second.strip() == TITLE
    assert json.loads(lessons("trust", "--json").out)["cards"] == [TITLE]


def test_trust_of_a_brain_without_cards(tmp_path, at):
    (tmp_path / "lessons.toml").write_text("")
    assert at(tmp_path, "trust").out == f"{tmp_path} is now trusted, with 0 cards\n"


def test_trust_names_at_most_twenty_titles(tmp_path, at):
    (tmp_path / "lessons.toml").write_text("")
    (tmp_path / "lessons").mkdir()
    for number in range(25):
        card = TELEGRAM.replace(TITLE, f"Mistake number {number}")
        (tmp_path / f"lessons/card-{number}.md").write_text(card)
    lines = at(tmp_path, "trust").out.splitlines()
    assert lines[0].endswith("with 25 cards:")
    assert lines[-1] == "  and 5 more; `lessons list --all` shows all"


def test_doctor_fails_although_the_user_has_a_brain(clone, lessons):
    lessons("init", "--user")
    result = lessons("doctor")
    assert result.code == 1
    (line,) = (line for line in result.out.splitlines() if line.startswith("✗ trust"))
    assert "is not trusted yet" in line
    assert "lessons trust" in line
    assert os.path.isdir(user_brain())


def test_the_start_screen_says_that_a_brain_is_there(clone, lessons):
    assert "none that you trust" in lessons().out
    assert "none here" not in lessons().out

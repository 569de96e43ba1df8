"""Two brains side by side in one repository: which one is written to, and whose drafts are seen."""

import json
import os
import time

import pytest

from lessons_kb import Brain
from lessons_kb.brain.discovery import look
from lessons_kb.model import Event
from lessons_kb.session.draft_process import draft_session
from lessons_kb.store.draft_files import DraftFolder
from tests.kit import git, write

LESSON = ("--why", "The gateway takes each request for a new charge, because no key tells it so")
LESSON += ("--do", "Send the same idempotency key on every retry of a charge")
LESSON += ("--symptom", "a payment times out", "--symptom", "customers were charged twice")
TITLE = "Retried the charge without an idempotency key"


@pytest.fixture
def repo(tmp_path, lessons, monkeypatch):
    """A repository with the brains ``docs/second`` and ``lessons-brain``."""
    folder = tmp_path / "repo"
    folder.mkdir()
    git(folder, "init", "-q")
    monkeypatch.chdir(folder)
    for name in ("lessons-brain", "docs/second"):
        assert lessons("init", name).code == 0
    return folder


def cards_in(repo):
    return [str(path.relative_to(repo)) for path in sorted(repo.rglob("lessons/*.md"))]


def propose(root, title):
    with Brain.open(root) as opened:
        return opened.drafts.propose(
            title,
            sections={"Root Cause": "The total was hard-coded to three instead of a sum."},
            prevention=["Cover the total of a cart with two items by a test"],
            symptoms=["the total of the cart is wrong", "change how a cart is summed up"],
            example="Add a discount",
        ).id


@pytest.mark.parametrize(
    "command",
    [
        ("add", TITLE, *LESSON),
        ("add", TITLE, "--draft"),
        ("create", TITLE, "--no-edit"),
        ("mine", "--draft", "3"),
    ],
)
def test_a_write_asks_for_one_of_two_brains(repo, lessons, command):
    refused = lessons(*command)
    assert refused.code == 2
    assert refused.err == (
        "lessons: nothing was written: this repository has 2 brains, docs/second and "
        "lessons-brain; choose one with `--brain docs/second`\n"
    )
    assert cards_in(repo) == []
    assert json.loads(lessons("--json").out)["drafts"] == 0


@pytest.mark.parametrize(
    ("command", "done"),
    [
        (("archive", "--stale", "--yes"), "archived"),
        (("archive", "--gone"), "archived"),
        (("sync", "--to", "cluster"), "pushed"),
        (("config",), "printed"),
    ],
)
def test_a_command_for_one_brain_asks_for_one(repo, lessons, command, done):
    refused = lessons(*command)
    assert refused.code == 2
    assert f"nothing was {done}: this repository has 2 brains" in refused.err
    assert "2 brains" not in lessons(*command, "--brain", "lessons-brain").err


def tell(root, project, kind, text, **more):
    event = Event(
        kind=kind, text=text, outcome="ok", at=time.time(), scope=str(project), session="s", **more
    )
    with Brain.open(root) as opened:
        opened.members[0].journal.events.append(event)


def collect(project):
    """Let the hooks' process draft the mistakes of the session; return the brains with drafts."""
    roots = list(look(str(project)).trusted)
    assert [os.path.basename(root) for root in roots[:2]] == ["second", "lessons-brain"]
    draft_session("mark", "claude-code", "s", str(project), *roots)
    return [os.path.basename(root) for root in roots if DraftFolder(root).ids()]


@pytest.mark.parametrize(
    ("file", "expected"),
    [("src/cart.py", "lessons-brain"), ("docs/pages/cart.md", "second"), ("", "lessons-brain")],
)
def test_a_draft_of_the_hooks_belongs_to_the_brain_near_the_changed_file(repo, file, expected):
    first = repo / "docs/second"
    if file:
        tell(first, repo, "edit", "", targets=(file,))
    tell(first, repo, "prompt", "it broke again: the total of the cart is wrong")
    assert collect(repo) == [expected]
    assert collect(repo) == [expected]  # and once


def test_a_complaint_is_counted_on_a_card_of_either_brain(repo, lessons):
    add = ("add", "The total of a cart was hard-coded to three", "--brain", "lessons-brain")
    add += ("--why", "The total was a constant and nobody had tested a cart of two items")
    add += ("--do", "Cover the total of a cart with two items by a test")
    add += ("--symptom", "the total of the cart is wrong", "--symptom", "change the cart's total")
    assert lessons(*add).code == 0
    tell(repo / "docs/second", repo, "prompt", "it broke again: the total of the cart is wrong")
    assert collect(repo) == []
    (card,) = (repo / "lessons-brain/lessons").glob("*.md")
    assert "occurrences: 2" in card.read_text()


def test_a_write_goes_to_the_named_brain(repo, lessons):
    assert lessons("add", TITLE, *LESSON, "--brain", "lessons-brain").code == 0
    assert [path.partition("/")[0] for path in cards_in(repo)] == ["lessons-brain"]


def test_a_write_goes_to_the_brain_around_the_working_directory(repo, at):
    assert at(repo / "lessons-brain" / "lessons", "add", TITLE, *LESSON).code == 0
    assert [path.partition("/")[0] for path in cards_in(repo)] == ["lessons-brain"]


def test_a_write_goes_to_the_brain_that_the_repository_names(repo, lessons):
    write(repo, "lessons.toml", 'brain = "lessons-brain"\n')
    assert lessons("trust", ".").code == 0
    assert lessons("add", TITLE, *LESSON).code == 0
    assert [path.partition("/")[0] for path in cards_in(repo)] == ["lessons-brain"]


def test_init_of_a_second_brain_says_how_to_write_to_each(repo, lessons):
    (repo / "aa").mkdir()
    assert "--brain aa add" in lessons("init", "aa").err


def test_init_without_a_folder_makes_no_brain_around_another(repo, lessons):
    outcome = lessons("init")
    assert outcome.code == 2
    assert "there is a brain here, lessons-brain" in outcome.err
    assert not (repo / "lessons.toml").exists()
    assert lessons("init", ".").code == 0


def test_the_drafts_of_both_brains_are_counted_and_reviewed(repo, lessons):
    first = propose(repo / "lessons-brain", "The total of a cart was hard-coded")
    second = propose(repo / "docs/second", "The docs were not run")
    assert json.loads(lessons("--json").out)["drafts"] == 2
    assert "2 to review" in lessons().out
    listed = lessons("review", "--list").out
    assert "\tlessons-brain\t" in listed
    assert "\tsecond\t" in listed
    assert {draft["brain"] for draft in json.loads(lessons("review", "--json").out)} == {
        "lessons-brain",
        "second",
    }
    assert lessons("review", "--accept", first).code == 0
    assert [path.partition("/")[0] for path in cards_in(repo)] == ["lessons-brain"]
    assert lessons("review", "--discard", second).out == f"{second} discarded\n"
    assert json.loads(lessons("--json").out)["drafts"] == 0


def test_one_session_reviews_the_drafts_of_both_brains(repo, answer, monkeypatch):
    monkeypatch.setenv("TERM", "dumb")
    propose(repo / "lessons-brain", "The total of a cart was hard-coded")
    propose(repo / "docs/second", "The docs were not run")
    answer("review", typed="accept 1\nundo\naccept 1\naccept 2 new\nquit\n")
    assert sorted(path.rpartition("/lessons/")[0] for path in cards_in(repo)) == [
        "docs/second",
        "lessons-brain",
    ]


def test_a_beginning_that_fits_drafts_of_both_brains_is_refused(repo, lessons):
    propose(repo / "lessons-brain", "The total of a cart was hard-coded")
    propose(repo / "docs/second", "The docs were not run")
    refused = lessons("review", "--discard", "proposed-")
    assert "write more of the id" in refused.err
    assert json.loads(lessons("--json").out)["drafts"] == 2


@pytest.mark.parametrize("option", [(), ("--revoke",)])
def test_trust_asks_for_one_of_two_brains(repo, lessons, option):
    refused = lessons("trust", *option)
    assert refused.code == 2
    command = " ".join(("lessons trust", *option, "docs/second"))
    assert refused.err == (
        "lessons: this repository has 2 brains, docs/second and lessons-brain; name one, as in "
        f"`{command}`\n"
    )
    assert len(json.loads(lessons("--json").out)["brains"]) == 2
    named = lessons("trust", *option, "--brain", "lessons-brain")
    assert named.out.startswith(f"{repo}/lessons-brain is ")
    assert lessons("trust", *option).code == 2  # one is revoked now, and still none is picked


def test_trust_does_not_pick_between_a_trusted_and_an_unknown_brain(repo, lessons):
    write(repo, "other/lessons.toml", "")
    write(repo, "other/lessons/a.md", "# A\n")
    lessons("trust", "--revoke", "docs/second")
    assert "3 brains, docs/second, lessons-brain and other" in lessons("trust").err


def test_advice_to_add_a_card_names_a_brain_that_add_accepts(repo, lessons):
    advice = '`lessons --brain docs/second add "what went wrong"`'
    assert advice in lessons("list").err
    assert advice in lessons("stats").err
    assert lessons("install", "claude-code").code == 0
    step = json.loads(lessons("--json").out)["next"]
    assert f"`{step['command']}`" == advice


def test_list_names_the_brain_of_each_card(repo, lessons, at_terminal):
    lessons("--brain", "docs/second", "add", TITLE, *LESSON)
    assert "BRAIN" not in lessons("list").out
    lessons("--brain", "lessons-brain", "add", "Deployed on a Friday evening", *LESSON)
    header, *rows = [line.split("\t") for line in lessons("list").out.splitlines()]
    assert header[-1] == "BRAIN"
    assert {row[header.index("TITLE")]: row[-1] for row in rows} == {
        TITLE: "second",
        "Deployed on a Friday evening": "lessons-brain",
    }
    for row in json.loads(lessons("list", "--json").out):
        assert lessons("show", f"{row['brain']}:{row['id']}").code == 0
    assert at_terminal("list")[1].endswith("BRAIN")

"""`check --diff` says what a change means for cards; `why` and `show` say what has changed."""

import json

import pytest

from lessons_kb import Brain
from lessons_kb.tui.rows import RowSource
from tests import kit
from tests.kit import commit, git

LOCK = '[[package]]\nname = "pandas"\nversion = "{}"\n'
DAY = "2026-01-02T12:00:00+00:00"


@pytest.fixture
def guarded(shop, write_card):
    kit.write(shop, "src/mail.py", "def send_mail():\n    return 'sent'\n" * 9)
    kit.write(shop, "src/queue.py", "def put():\n    return 'queued'\n" * 9)
    kit.write(shop, "uv.lock", LOCK.format("1.5.3"))
    write_card("mail", "paths: [src/mail.py]\n")
    write_card("both", "paths: [src/mail.py, src/queue.py]\n")
    write_card("frames", "when: pandas<2\n")
    commit(shop, "cards", DAY)
    return shop


def check(at, shop, *more):
    return at(shop, "check", "--diff", *more)


def effects(at, shop, *more):
    found = json.loads(check(at, shop, "HEAD", "--format", "json", *more).out)["effects"]
    return [(effect["rule"], effect["card"]) for effect in found]


def test_a_change_that_deletes_the_last_file_of_a_card_is_named(at, guarded):
    (guarded / "src/mail.py").unlink()
    assert effects(at, guarded) == [("lost-file", "lessons/mail.md")]
    out = check(at, guarded, "HEAD", "--format", "github").out
    (line,) = [line for line in out.splitlines() if "lost-file" in line]
    assert line == (
        "::warning file=lessons/mail.md,title=lessons%3A lost-file,line=5::"
        "this change leaves lesson lessons/mail.md without its file: src/mail.py"
        "; correct or archive the lesson with this change"
    )
    (guarded / "src/queue.py").unlink()
    assert effects(at, guarded) == [
        ("lost-file", "lessons/both.md"),
        ("lost-file", "lessons/mail.md"),
    ]


def test_so_is_one_between_two_commits(at, guarded):
    git(guarded, "rm", "-q", "src/mail.py")
    commit(guarded, "remove", DAY)
    text = check(at, guarded, "HEAD~1..HEAD").out
    assert "lost-file: this change leaves lesson lessons/mail.md without its file" in text


def test_a_file_that_only_moves_is_said_apart(at, guarded):
    git(guarded, "mv", "src/mail.py", "src/post.py")
    assert effects(at, guarded) == [("moved-file", "lessons/mail.md")]
    assert "src/mail.py to src/post.py" in check(at, guarded, "HEAD").out


def test_a_change_that_leaves_the_files_has_no_effect(at, guarded):
    kit.write(guarded, "src/mail.py", "def send_mail():\n    return 'later'\n" * 9)
    kit.write(guarded, "src/new.py", "1\n")
    assert effects(at, guarded) == []


@pytest.mark.parametrize("committed", [False, True])
def test_an_upgrade_that_turns_a_condition_is_named(at, guarded, committed):
    kit.write(guarded, "uv.lock", LOCK.format("2.2.0"))
    revision = "HEAD"
    if committed:
        commit(guarded, "upgrade", DAY)
        revision = "HEAD~1..HEAD"
    text = " ".join(check(at, guarded, revision).out.split())
    assert (
        "turned-condition: pandas<2: uv.lock has pandas 2.2.0 with this change, so that the "
        "condition becomes false and lesson lessons/frames.md falls silent"
    ) in text


def test_an_upgrade_on_one_side_of_the_range_is_not(at, guarded):
    kit.write(guarded, "uv.lock", LOCK.format("1.5.4"))
    assert effects(at, guarded) == []


@pytest.fixture
def changed(at, shop, write_card):
    kit.write(shop, "src/mail.py", "1\n")
    write_card("mail", "paths: [src/mail.py]\nconfirmed: 2026-01-03\n")
    commit(shop, "card", DAY)
    kit.write(shop, "src/mail.py", "2\n")
    commit(shop, "change", "2026-01-05T12:00:00+00:00")
    at(shop, "index")
    return shop


REMARK = "src/mail.py changed in 1 commit since it was confirmed on 2026-01-03"


def test_why_and_show_say_what_changed_since_a_card_was_confirmed(at, changed):
    assert f"    {REMARK}" in at(changed, "why", "mail goes wrong").out.splitlines()
    assert REMARK in at(changed, "show", "mail").err


def test_manage_says_it_too(changed):
    with Brain.open(changed) as brain:
        source = RowSource(brain)
        (row,) = source.load()
        assert REMARK in source.look(row)[1].facts
        assert "changed in" not in brain.preflight("mail goes wrong").text

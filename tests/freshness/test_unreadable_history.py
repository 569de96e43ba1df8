"""A clone that lacks objects: only what the commits without them touched is unknown.

`doctor` says which commits git cannot read, and why.
"""

import os
import shutil
import sys

import pytest

from lessons_kb import Brain
from lessons_kb.freshness.refresh import refresh_standings
from lessons_kb.model import CURRENT
from tests import kit
from tests.kit import git


def edit_and_move(shop, old, new, day):
    git(shop, "mv", old, new)
    text = (shop / new).read_text("utf-8")
    return kit.commit(shop, "move", f"{day}T12:00:00+00:00", **{new: f"{text}# moved\n"})


@pytest.fixture
def lost(shop, write_card):
    """Return the file of an object that git needs to follow a moved file, after its removal."""
    write_card("mail", "paths: [src/mail.py]\n")
    write_card("cart", "paths: [src/cart.py]\n")
    kit.commit(shop, "card", "2026-01-03T12:00:00+00:00")
    blob = git(shop, "rev-parse", "HEAD:src/mail.py").strip()
    edit_and_move(shop, "src/mail.py", "src/post.py", "2026-03-01")
    git(shop, "rm", "-q", "src/cart.py")
    kit.commit(shop, "remove", "2026-03-02T12:00:00+00:00")
    return take_away(shop, blob)


def take_away(shop, name):
    """Move the file of an object out of its repository; return both places."""
    file = shop / ".git/objects" / name[:2] / name[2:]
    away = shop.parent / "object"
    file.rename(away)
    return file, away


def find_lines(lessons, *words):
    return [line for line in lessons("doctor").out.splitlines() if all(map(line.count, words))]


def test_only_what_the_commit_touched_is_unknown(shop, lost, stand):
    standings = stand()
    assert standings["mail"] == CURRENT
    assert standings["cart"].silenced.startswith("src/cart.py (removed in ")


def test_a_commit_without_its_folder_is_unknown_as_well(shop, write_card, stand):
    write_card("mail", "paths: [src/mail.py]\n")
    write_card("cart", "paths: [src/cart.py]\n")
    git(shop, "rm", "-q", "src/cart.py")
    kit.commit(shop, "remove", "2026-03-01T12:00:00+00:00")
    git(shop, "mv", "src/mail.py", "src/post.py")
    kit.commit(shop, "move", "2026-03-02T12:00:00+00:00")
    kit.commit(shop, "next", "2026-03-03T12:00:00+00:00", **{"src/new.py": "1\n"})
    take_away(shop, git(shop, "rev-parse", "HEAD~1:src").strip())
    standings = stand()
    assert standings["mail"] == CURRENT
    assert standings["cart"].silenced.startswith("src/cart.py (removed in ")
    git(shop, "rm", "-q", "src/api/users.py")
    write_card("users", "paths: [src/api/users.py]\n")
    kit.commit(shop, "remove", "2026-03-04T12:00:00+00:00")
    assert stand()["users"].silenced.startswith("src/api/users.py (removed in ")


def test_a_symbol_that_only_an_unreadable_file_may_have_is_not_gone(shop, write_card, stand):
    write_card("cart", cause="`add_item` counts twice.")
    kit.commit(shop, "card", "2026-01-03T12:00:00+00:00")
    kit.write(shop, "src/cart.py", "def put():\n    return 1\n")
    kit.commit(shop, "rename", "2026-03-01T12:00:00+00:00")
    take_away(shop, git(shop, "rev-parse", "HEAD:src/api/users.py").strip())
    assert stand()["cart"] == CURRENT


def test_a_partial_clone_without_network_is_judged_as_far_as_it_goes(shop, write_card, tmp_path):
    write_card("mail", "paths: [src/mail.py]\n")
    write_card("cart", "paths: [src/cart.py]\n")
    write_card("users", "paths: [src/api/users.py]\n")
    write_card("symbol", cause="`add_item` counts twice.")
    kit.commit(shop, "cards", "2026-01-03T12:00:00+00:00")
    edit_and_move(shop, "src/mail.py", "src/post.py", "2026-03-01")
    git(shop, "rm", "-q", "src/cart.py")
    kit.commit(shop, "remove", "2026-03-02T12:00:00+00:00")
    git(shop, "mv", "src/api/users.py", "src/people.py")
    kit.commit(shop, "move", "2026-03-03T12:00:00+00:00")
    git(shop, "config", "uploadpack.allowFilter", "true")
    partial = tmp_path / "partial"
    git(tmp_path, "clone", "-q", "--filter=blob:none", f"file://{shop}", str(partial))
    git(partial, "remote", "set-url", "origin", str(tmp_path / "no-such-repository"))
    with Brain.open(partial) as brain:
        (member,) = brain.members
        member.refresh()
        refresh_standings(member)
        cards = member.read(lambda one: one.catalogue.all_cards())
    standings = {card.id: card.standing for card in cards}
    assert standings["lessons/mail.md"] == CURRENT, "git cannot compare it with src/post.py"
    assert standings["lessons/cart.md"].silenced.startswith("src/cart.py (removed in ")
    assert standings["lessons/users.md"].follows == ("src/people.py",)
    assert standings["lessons/symbol.md"] == CURRENT


def test_doctor_names_the_reason_in_one_line(shop, lost, lessons, monkeypatch):
    monkeypatch.chdir(shop)
    (line,) = find_lines(lessons, "git cannot read")
    assert line.startswith("⚠ freshness: git cannot read 1 commit, so what they moved goes ")
    assert "unable to read" in line
    assert "git fsck" in line


def test_doctor_says_that_git_cannot_read_the_history_at_all(
    shop, write_card, lessons, monkeypatch
):
    write_card("mail", "paths: [src/mail.py]\n")
    monkeypatch.chdir(shop)
    kit.commit(shop, "next", "2026-03-02T12:00:00+00:00", **{"src/new.py": "1\n"})
    take_away(shop, git(shop, "rev-parse", "HEAD~1").strip())
    (line,) = find_lines(lessons, "git cannot read")
    assert line.startswith("⚠ freshness: git cannot read the history, so moved and ")


def test_the_history_is_read_again_by_doctor_alone_or_after_a_commit(
    shop, lost, lessons, monkeypatch
):
    monkeypatch.chdir(shop)
    assert "moved-path" not in lessons("lint").out
    file, away = lost
    away.rename(file)
    assert "moved-path" not in lessons("lint").out
    kit.commit(shop, "next", "2026-03-02T12:00:00+00:00", **{"src/new.py": "1\n"})
    assert "moved-path" in lessons("lint").out


def test_doctor_sees_that_the_history_was_repaired(shop, lost, lessons, monkeypatch):
    monkeypatch.chdir(shop)
    assert find_lines(lessons, "git cannot read")
    file, away = lost
    away.rename(file)
    assert not find_lines(lessons, "git cannot read")
    assert find_lines(lessons, "freshness", "whose files were moved")
    assert "moved-path" in lessons("lint").out


@pytest.mark.skipif(
    sys.platform == "win32", reason="the program that stands in for git is a script"
)
@pytest.mark.parametrize("length", [1, 50, 150, 400])
def test_a_git_that_is_killed_half_way_leaves_all_cards_current(
    shop, write_card, stand, tmp_path, monkeypatch, length
):
    write_card("mail", "paths: [src/mail.py]\n")
    git(shop, "rm", "-q", "src/mail.py")
    kit.commit(shop, "remove", "2026-03-02T12:00:00+00:00")
    real = shutil.which("git")
    script = (
        "#!/bin/sh\n"
        f'case " $* " in *" log "*) {real} "$@" | head -c {length}; kill -9 $$;; esac\n'
        f'exec {real} "$@"\n'
    )
    kit.write(tmp_path, "bin/git", script).chmod(0o755)
    with monkeypatch.context() as patched:
        patched.setenv("PATH", f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}")
        assert stand() == {"mail": CURRENT}
    kit.commit(shop, "next", "2026-03-03T12:00:00+00:00", **{"src/new.py": "1\n"})
    assert stand()["mail"].silenced

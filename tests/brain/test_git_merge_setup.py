"""Brains shared through git: two real clones, real merges, and settings left as they were."""

import pathlib
import sys

import pytest

from lessons_kb import Brain
from lessons_kb.brain.git_merge import build_command, find_sharing, share, unshare
from lessons_kb.errors import BrainNotFound, InputError, StorageError
from tests import kit
from tests.kit import trust_brain

NAME = "lessons/money.md"
CARD = """\
---
type: lesson
title: Money in floats
occurrences: 3
last-seen: 2026-03-01
examples: [Pay out refunds]
---
# Money in floats

## Situation

Totals were off by a cent.

## Fix

Count in cents.

## Prevention Checklist

- Use Decimal
"""
PROGRAM = str(pathlib.Path(sys.executable).with_name("lessons"))
PROJECT = {"scope": "project"}
SHARED = {"scope": "project", "shared": True}


class Clone:
    """A work tree with a brain in it."""

    def __init__(self, root):
        self.root = root
        self.card = root / NAME

    def git(self, *words, fails=False):
        if not fails:
            return kit.git(self.root, *words)
        with pytest.raises(kit.subprocess.CalledProcessError) as refused:
            kit.git(self.root, *words)
        return refused.value.stdout + refused.value.stderr

    def change(self, old, new):
        text = self.card.read_bytes().decode()
        assert old in text
        self.card.write_bytes(text.replace(old, new).encode())
        kit.commit(self.root)

    def bump(self, times, task=None, *, commit_each=False):
        with Brain.open(self.root, directory=self.root) as brain:
            for number in range(times):
                brain.bump("money", task=task and f"{task} {number}")
                if commit_each or number == times - 1:
                    kit.commit(self.root, f"bump {number}")

    def install(self, **more):
        return share([str(self.root)], program=PROGRAM, **more)

    def uninstall(self, **more):
        return unshare([str(self.root)], **more)

    def read(self):
        with Brain.open(self.root) as brain:
            return brain.cards.get(self.card.relative_to(self.root).as_posix())


BYTES = CARD.encode()


def make(root, data=BYTES):
    clone = Clone(root)
    clone.card.parent.mkdir(parents=True)
    clone.card.write_bytes(data)
    (root / "lessons.toml").write_text("")
    clone.git("init", "-q", "-b", "main")
    trust_brain(str(root))
    return clone


@pytest.fixture(autouse=True)
def _identity(monkeypatch):
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")


@pytest.fixture
def clone(tmp_path):
    return make(tmp_path / "a brain")


@pytest.fixture
def clones(request, tmp_path):
    """Two clones of one repository whose attributes are committed, each with the driver."""
    origin = make(tmp_path / "origin", getattr(request, "param", BYTES))
    origin.install(**SHARED)
    kit.commit(origin.root, "begin")
    clones = [Clone(tmp_path / name) for name in ("one", "other")]
    for clone in clones:
        origin.git("clone", "-q", str(origin.root), str(clone.root))
        clone.install(**PROJECT)
        trust_brain(str(clone.root))
    clones[1].git("remote", "add", "one", str(clones[0].root))
    return clones


def meet(one, other, how=("merge", "--no-edit"), *, fails=False):
    other.git("fetch", "-q", "one")
    return other.git(*how, "one/main", fails=fails)


@pytest.mark.slow
@pytest.mark.parametrize("how", [("merge", "--no-edit"), ("rebase", "-q")])
@pytest.mark.parametrize("task", [None, "task"])
def test_bumps_in_each_of_two_clones_add_up(clones, task, how):
    one, other = clones
    one.bump(5, task and f"one {task}", commit_each=True)
    other.bump(5, task and f"other {task}", commit_each=True)
    meet(one, other, how)
    assert other.git("status", "--short") == ""
    assert other.read().occurrences == 3 + 10
    if task:
        assert other.read().examples == tuple(f"other task {n}" for n in range(5))


@pytest.mark.slow
def test_one_section_changed_on_both_sides_is_an_ordinary_conflict(clones):
    one, other = clones
    one.bump(1)
    one.change("Totals were off by a cent.", "Every total was off by a cent.")
    other.bump(1)
    other.change("Totals were off by a cent.", "Some totals were off.")
    said = meet(one, other, fails=True)
    assert f"CONFLICT (content): Merge conflict in {NAME}" in said
    text = other.card.read_text()
    assert "occurrences: 5\n" in text
    assert text.count("<<<<<<< ") == text.count("=======\n") == text.count(">>>>>>> ") == 1
    assert "\nSome totals were off.\n=======\nEvery total was off by a cent.\n>>>>>>> " in text
    assert other.git("status", "--short") == f"UU {NAME}\n"


@pytest.mark.slow
def test_different_sections_and_one_count_are_no_conflict(clones):
    one, other = clones
    one.bump(1)
    one.change("Count in cents.", "Count in cents, with Decimal.")
    other.bump(1)
    other.change("- Use Decimal\n", "- Use Decimal\n- Round once\n")
    meet(one, other)
    assert other.read().checklist == ("Use Decimal", "Round once")
    assert "with Decimal." in other.card.read_text()


@pytest.mark.slow
def test_conflicts_take_the_style_that_git_is_configured_for(clones):
    one, other = clones
    other.git("config", "merge.conflictStyle", "diff3")
    one.change("Count in cents.", "Count in mills.")
    other.change("Count in cents.", "Count in euros.")
    meet(one, other, fails=True)
    assert "\nCount in cents.\n=======\n" in other.card.read_text()


def test_deleted_here_and_bumped_there_is_left_to_the_human(clones):
    one, other = clones
    one.bump(1)
    other.card.unlink()
    kit.commit(other.root)
    assert "CONFLICT (modify/delete)" in meet(one, other, fails=True)
    assert other.card.exists()


@pytest.mark.slow
def test_a_renamed_card_still_adds_up(clones):
    one, other = clones
    one.bump(2)
    other.bump(2)
    other.git("mv", NAME, "lessons/cents.md")
    kit.commit(other.root)
    meet(one, other)
    other.card = other.root / "lessons" / "cents.md"
    assert other.read().occurrences == 7


MARK = b"\xef\xbb\xbf"


@pytest.mark.slow
@pytest.mark.parametrize("clones", [MARK + CARD.replace("\n", "\r\n").encode()], indirect=True)
def test_windows_line_ends_and_byte_order_mark_stay(clones):
    one, other = clones
    one.bump(2)
    other.bump(2)
    meet(one, other)
    merged = other.card.read_bytes()
    assert merged.replace(b"\r\n", b"").count(b"\n") == 0
    assert merged.startswith(MARK + b"---\r\n")
    assert other.read().occurrences == 7


@pytest.mark.slow
@pytest.mark.parametrize("clones", [b"---\ntype: lesson\n---\n\xff\xfe\0\n"], indirect=True)
def test_a_file_that_is_no_text_is_left_as_git_leaves_it(clones):
    for clone, data in zip(clones, (b"\0one", b"\0other"), strict=True):
        clone.card.write_bytes(data)
        kit.commit(clone.root)
    meet(*clones, fails=True)
    assert clones[1].card.read_bytes() == b"\0other"


@pytest.mark.slow
def test_a_clone_without_the_driver_merges_by_lines(clones):
    one, other = clones
    other.git("config", "--remove-section", "merge.lessons")
    one.bump(1)
    other.change("Count in cents.", "Count in mills.")
    meet(one, other)
    assert other.read().occurrences == 4
    one.bump(1)
    other.bump(2)
    meet(one, other, fails=True)
    assert "\noccurrences: 6\n" in other.card.read_text()


def test_a_program_that_is_gone_does_not_hide_the_other_side(clones):
    one, other = clones
    other.git("config", "merge.lessons.driver", build_command("/nowhere/100% lessons"))
    one.bump(1)
    other.bump(2)
    meet(one, other, fails=True)
    assert other.card.read_text().count("<<<<<<<") == 1


@pytest.mark.slow
def test_a_program_may_lie_in_a_folder_with_any_name(clones):
    one, other = clones
    folder = other.root.parent / 'it\'s 100% "mine" $HOME'
    program = kit.write(folder, "lessons", f'#!/bin/sh\nexec {PROGRAM!r} "$@"\n')
    program.chmod(0o755)
    share([str(other.root)], program=str(program), scope="project")
    one.bump(1)
    other.bump(2)
    meet(one, other)
    assert other.read().occurrences == 6


def test_installing_twice_is_once_and_uninstalling_restores_every_byte(clone):
    config, info = clone.root / ".git" / "config", clone.root / ".git" / "info" / "attributes"
    before = config.read_bytes()
    states = set()
    for _ in range(2):
        clone.install(**PROJECT)
        states.add((config.read_bytes(), info.read_bytes()))
    assert len(states) == 1
    assert find_sharing(str(clone.root)) == (True, True)
    clone.uninstall(**PROJECT)
    assert config.read_bytes() == before
    assert not info.exists()
    assert find_sharing(str(clone.root)) == (False, False)
    assert {change.action for change in clone.uninstall(**PROJECT)} == {"unchanged"}


@pytest.mark.parametrize(("text", "later"), [
    ("*.png binary\n", ""), ("a\r\nb\r\n", ""), ("\n", ""), ("*.png binary\n", "*.jpg binary\n"),
])  # fmt: skip
def test_attributes_of_others_stay(clone, text, later):
    file = clone.root / ".gitattributes"
    file.write_bytes(text.encode())
    clone.install(**SHARED)
    assert file.read_bytes().startswith(text.encode())
    file.write_bytes(file.read_bytes() + later.encode())
    clone.install(**SHARED)
    clone.uninstall(**SHARED)
    assert file.read_bytes() == (text + later).encode()


def test_the_user_scope_holds_for_every_clone(clone):
    config = pathlib.Path.home() / ".gitconfig"
    clone.install(scope="user")
    assert "merge-driver" in config.read_text()
    assert find_sharing(str(clone.root)) == (True, True)
    clone.uninstall(scope="user")
    assert not config.exists()


def test_a_dry_run_writes_nothing_and_nothing_of_a_repository_steers_the_terminal(
    clone, monkeypatch, lessons
):
    before = sorted(p.name for p in (clone.root / ".git").rglob("*"))
    changes = clone.install(**PROJECT, dry_run=True)
    assert [change.action for change in changes] == ["created", "created"]
    assert "+**/lessons/**/*.md merge=lessons" in changes[0].diff
    assert sorted(p.name for p in (clone.root / ".git").rglob("*")) == before
    (clone.root / ".gitattributes").write_text("# \x1b]0;title\x07\x1b[2J\n")
    monkeypatch.chdir(clone.root)
    said = lessons("install", "git", "--scope", "project", "--shared", "--dry-run").out
    assert "\\x1b]0;title" in said
    assert "\x1b" not in said


def test_what_the_repository_names_is_not_named_again(clone):
    clone.install(**SHARED)
    clone.install(**PROJECT)
    assert not (clone.root / ".git" / "info" / "attributes").exists()


def test_only_the_folders_of_the_brain_are_named(clone):
    brain = clone.root / "docs" / "our [brain]"
    kit.write(brain, "lessons.toml", '[folders]\n"errors" = "lesson"\n')
    share([str(brain)], program="lessons", scope="project")
    said = clone.git(
        "check-attr", "merge", "docs/our [brain]/errors/a.md", "docs/our [brain]/x/lessons/y/a.md",
        "docs/our [brain]/a.md", "errors/a.md", "lessons/a.md", "docs/our b/errors/a.md",
    )  # fmt: skip
    drivers = [line.rpartition(" ")[2] for line in said.splitlines()]
    assert drivers == ["lessons"] * 2 + ["unspecified"] * 4


def test_a_linked_attributes_file_is_refused(clone, tmp_path):
    target = kit.write(tmp_path, "bashrc", "x\n")
    (clone.root / ".gitattributes").symlink_to(target)
    with pytest.raises(StorageError, match="a symbolic link"):
        clone.install(**SHARED)
    assert target.read_text() == "x\n"


@pytest.mark.parametrize(("error", "match", "how"), [
    (BrainNotFound, "--brain", PROJECT), (InputError, "--scope", {"scope": "team"}),
    (InputError, "--scope project", {"shared": True}),
])  # fmt: skip
def test_what_cannot_be_set_up_says_what_to_do(tmp_path, error, match, how):
    with pytest.raises(error, match=match):
        share([str(tmp_path)], program="lessons", **how)


def test_a_bump_tells_the_time_only_where_git_merges_cards(clone):
    def bump():
        clone.bump(1)
        lines = clone.card.read_text().splitlines()
        return next(line for line in lines if line.startswith("last-seen:"))

    assert len(bump()) == len("last-seen: 2026-03-01")
    clone.install(**PROJECT)
    line = bump()
    assert "T" in line
    assert clone.read().last_seen == line[11:21]


def test_what_is_no_text_is_left_and_said_to_be(tmp_path, lessons):
    paths = [tmp_path / name for name in ("base", "ours", "theirs")]
    for number, path in enumerate(paths):
        path.write_bytes(b"\0\xff%d" % number)
    done = lessons("merge-driver", *paths, "7", "lessons/\x1b[2J.md")
    assert done.code == 2
    assert done.err.startswith("lessons: lessons/\\x1b[2J.md was not merged: ")
    assert "it is not text; merge it by hand" in done.err
    assert paths[1].read_bytes() == b"\0\xff1"

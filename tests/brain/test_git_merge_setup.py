"""Brains shared through git: two real clones, real merges, and settings left as they were."""

import pathlib
import subprocess
import sys

import pytest

from lessons_kb import Brain
from lessons_kb.brain.git_merge import (
    build_command,
    find_sharing,
    share,
    unshare,
)
from lessons_kb.errors import BrainNotFound, InputError, StorageError
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
BYTES = CARD.encode()
PROGRAM = str(pathlib.Path(sys.executable).with_name("lessons"))


class Clone:
    """A work tree with a brain in it."""

    def __init__(self, root):
        self.root = root
        self.card = root / NAME

    def git(self, *words, code=0):
        done = subprocess.run(
            ["git", *words], cwd=self.root, capture_output=True, encoding="utf-8", check=False
        )
        assert done.returncode == code, done.stdout + done.stderr
        return done.stdout + done.stderr

    def commit(self, words="change"):
        self.git("add", "-A")
        self.git("commit", "-qm", words)

    def change(self, old, new):
        text = self.card.read_bytes().decode()
        assert old in text
        self.card.write_bytes(text.replace(old, new).encode())
        self.commit()

    def bump(self, times, task=None, *, commit_each=False):
        with Brain.open(self.root, directory=self.root) as brain:
            for number in range(times):
                brain.bump("money", task=task and f"{task} {number}")
                if commit_each or number == times - 1:
                    self.commit(f"bump {number}")

    def install(self, **more):
        share([str(self.root)], program=PROGRAM, **more)

    def read(self):
        with Brain.open(self.root) as brain:
            return brain.cards.get(self.card.relative_to(self.root).as_posix())


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
    for role in ("AUTHOR", "COMMITTER"):
        monkeypatch.setenv(f"GIT_{role}_NAME", "n")
        monkeypatch.setenv(f"GIT_{role}_EMAIL", "n@example.org")
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")


def two(folder, data=BYTES):
    """Two clones of one repository whose attributes are committed, each with the driver."""
    origin = make(folder / "origin", data)
    origin.install(scope="project", shared=True)
    origin.commit("begin")
    clones = []
    for name in ("one", "other"):
        origin.git("clone", "-q", str(origin.root), str(folder / name))
        clone = Clone(folder / name)
        clone.install(scope="project")
        trust_brain(str(clone.root))
        clones.append(clone)
    clones[1].git("remote", "add", "one", str(clones[0].root))
    return clones[0], clones[1]


@pytest.fixture
def clones(tmp_path):
    return two(tmp_path)


def meet(one, other, code=0):
    other.git("fetch", "-q", "one")
    return other.git("merge", "--no-edit", "one/main", code=code)


@pytest.mark.slow
@pytest.mark.parametrize("task", [None, "task"])
def test_five_bumps_in_each_of_two_clones_are_ten(clones, task):
    one, other = clones
    one.bump(5, task and f"one {task}", commit_each=True)
    other.bump(5, task and f"other {task}", commit_each=True)
    meet(one, other)
    assert other.git("status", "--short") == ""
    assert other.read().occurrences == 3 + 10
    if task:
        assert other.read().examples == tuple(f"other task {n}" for n in range(5))


@pytest.mark.slow
def test_a_rebase_adds_up_too(clones):
    one, other = clones
    one.bump(2, commit_each=True)
    other.bump(2, commit_each=True)
    other.git("fetch", "-q", "one")
    other.git("rebase", "-q", "one/main")
    assert other.read().occurrences == 3 + 4
    assert len(other.git("log", "--format=%h").split()) == 5


@pytest.mark.slow
def test_one_section_changed_on_both_sides_is_an_ordinary_conflict(clones):
    one, other = clones
    one.bump(1)
    one.change("Totals were off by a cent.", "Every total was off by a cent.")
    other.bump(1)
    other.change("Totals were off by a cent.", "Some totals were off.")
    said = meet(one, other, code=1)
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


def test_conflicts_take_the_style_that_git_is_configured_for(clones):
    one, other = clones
    other.git("config", "merge.conflictStyle", "diff3")
    one.change("Count in cents.", "Count in mills.")
    other.change("Count in cents.", "Count in euros.")
    meet(one, other, code=1)
    assert "\nCount in cents.\n=======\n" in other.card.read_text()


def test_deleted_here_and_bumped_there_is_left_to_the_human(clones):
    one, other = clones
    one.bump(1)
    other.card.unlink()
    other.commit()
    assert "CONFLICT (modify/delete)" in meet(one, other, code=1)
    assert other.card.exists()


@pytest.mark.slow
def test_a_renamed_card_still_adds_up(clones):
    one, other = clones
    one.bump(2)
    other.bump(2)
    other.git("mv", NAME, "lessons/cents.md")
    other.commit()
    meet(one, other)
    other.card = other.root / "lessons" / "cents.md"
    assert other.read().occurrences == 7


@pytest.mark.slow
def test_windows_line_ends_and_byte_order_mark_stay(tmp_path):
    mark = b"\xef\xbb\xbf"
    data = mark + CARD.replace("\n", "\r\n").encode()
    one, other = two(tmp_path, data)
    one.bump(2)
    other.bump(2)
    meet(one, other)
    merged = other.card.read_bytes()
    assert merged.replace(b"\r\n", b"").count(b"\n") == 0
    assert merged.startswith(mark + b"---\r\n")
    assert other.read().occurrences == 7


@pytest.mark.slow
def test_a_file_that_is_no_text_is_left_as_git_leaves_it(tmp_path):
    one, other = two(tmp_path, b"---\ntype: lesson\n---\n\xff\xfe\0\n")
    one.card.write_bytes(b"\0one")
    one.commit()
    other.card.write_bytes(b"\0other")
    other.commit()
    meet(one, other, code=1)
    assert other.card.read_bytes() == b"\0other"


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
    meet(one, other, code=1)
    assert "\noccurrences: 6\n" in other.card.read_text()


def test_a_program_that_is_gone_does_not_hide_the_other_side(clones):
    one, other = clones
    other.git("config", "merge.lessons.driver", build_command("/nowhere/100% lessons"))
    one.bump(1)
    other.bump(2)
    meet(one, other, code=1)
    assert other.card.read_text().count("<<<<<<<") == 1


@pytest.mark.slow
def test_a_program_may_lie_in_a_folder_with_any_name(clones):
    one, other = clones
    folder = other.root.parent / 'it\'s 100% "mine" $HOME'
    folder.mkdir()
    program = folder / "lessons"
    program.write_text(f'#!/bin/sh\nexec {PROGRAM!r} "$@"\n')
    program.chmod(0o755)
    share([str(other.root)], program=str(program), scope="project")
    one.bump(1)
    other.bump(2)
    meet(one, other)
    assert other.read().occurrences == 6


def test_installing_twice_is_once_and_uninstalling_restores_every_byte(tmp_path):
    clone = make(tmp_path / "a brain")
    config, info = clone.root / ".git" / "config", clone.root / ".git" / "info" / "attributes"
    before = config.read_bytes()
    clone.install(scope="project")
    first = (config.read_bytes(), info.read_bytes())
    clone.install(scope="project")
    assert (config.read_bytes(), info.read_bytes()) == first
    assert find_sharing(str(clone.root)) == (True, True)
    unshare([str(clone.root)], scope="project")
    assert config.read_bytes() == before
    assert not info.exists()
    assert find_sharing(str(clone.root)) == (False, False)
    changes = unshare([str(clone.root)], scope="project")
    assert {change.action for change in changes} == {"unchanged"}


@pytest.mark.parametrize("text", ["*.png binary\n", "a\r\nb\r\n", "\n"])
def test_attributes_of_others_stay(tmp_path, text):
    clone = make(tmp_path / "brain")
    file = clone.root / ".gitattributes"
    file.write_bytes(text.encode())
    clone.install(scope="project", shared=True)
    assert file.read_bytes().startswith(text.encode())
    unshare([str(clone.root)], scope="project", shared=True)
    assert file.read_bytes() == text.encode()


def test_attributes_edited_since_lose_our_lines_alone(tmp_path):
    clone = make(tmp_path / "brain")
    file = clone.root / ".gitattributes"
    file.write_bytes(b"*.png binary\n")
    clone.install(scope="project", shared=True)
    file.write_bytes(file.read_bytes() + b"*.jpg binary\n")
    clone.install(scope="project", shared=True)
    unshare([str(clone.root)], scope="project", shared=True)
    assert file.read_bytes() == b"*.png binary\n*.jpg binary\n"


def test_the_user_scope_holds_for_every_clone(tmp_path):
    clone = make(tmp_path / "brain")
    config = pathlib.Path.home() / ".gitconfig"
    clone.install(scope="user")
    assert "merge-driver" in config.read_text()
    assert find_sharing(str(clone.root)) == (True, True)
    unshare([str(clone.root)], scope="user")
    assert not config.exists()


def test_a_dry_run_writes_nothing(tmp_path):
    clone = make(tmp_path / "brain")
    before = sorted(p.name for p in (clone.root / ".git").rglob("*"))
    changes = share([str(clone.root)], program="lessons", scope="project", dry_run=True)
    assert [change.action for change in changes] == ["created", "created"]
    assert "+**/lessons/**/*.md merge=lessons" in changes[0].diff
    assert sorted(p.name for p in (clone.root / ".git").rglob("*")) == before


def test_what_the_repository_names_is_not_named_again(tmp_path):
    clone = make(tmp_path / "brain")
    clone.install(scope="project", shared=True)
    clone.install(scope="project")
    assert not (clone.root / ".git" / "info" / "attributes").exists()


def test_only_the_folders_of_the_brain_are_named(tmp_path):
    clone = make(tmp_path / "repo")
    brain = clone.root / "docs" / "our [brain]"
    (brain / "errors").mkdir(parents=True)
    (brain / "lessons.toml").write_text('[folders]\n"errors" = "lesson"\n')
    share([str(brain)], program="lessons", scope="project")
    said = clone.git(
        "check-attr", "merge", "docs/our [brain]/errors/a.md", "docs/our [brain]/x/lessons/y/a.md",
        "docs/our [brain]/a.md", "errors/a.md", "lessons/a.md", "docs/our b/errors/a.md",
    )  # fmt: skip
    assert [line.rpartition(" ")[2] for line in said.splitlines()] == [
        *["lessons"] * 2,
        *["unspecified"] * 4,
    ]


def test_a_linked_attributes_file_is_refused(tmp_path):
    clone = make(tmp_path / "brain")
    target = tmp_path / "bashrc"
    target.write_text("x\n")
    (clone.root / ".gitattributes").symlink_to(target)
    with pytest.raises(StorageError, match="a symbolic link"):
        clone.install(scope="project", shared=True)
    assert target.read_text() == "x\n"


def test_what_cannot_be_set_up_says_what_to_do(tmp_path):
    with pytest.raises(BrainNotFound, match="--brain"):
        share([str(tmp_path)], program="lessons", scope="project")
    with pytest.raises(InputError, match="--scope"):
        share([], program="lessons", scope="team")
    with pytest.raises(InputError, match="--scope project"):
        share([], program="lessons", shared=True)


def test_a_bump_tells_the_time_only_where_git_merges_cards(tmp_path):
    clone = make(tmp_path / "brain")
    clone.bump(1)
    assert len(edit_line(clone)) == len("last-seen: 2026-03-01")
    clone.install(scope="project")
    clone.bump(1)
    assert "T" in edit_line(clone)
    assert clone.read().last_seen == edit_line(clone)[11:21]


def edit_line(clone):
    lines = clone.card.read_text().splitlines()
    return next(line for line in lines if line.startswith("last-seen:"))


def test_nothing_of_a_repository_steers_the_terminal(tmp_path, monkeypatch, lessons):
    clone = make(tmp_path / "brain")
    (clone.root / ".gitattributes").write_text("# \x1b]0;title\x07\x1b[2J\n")
    monkeypatch.chdir(clone.root)
    said = lessons("install", "git", "--scope", "project", "--shared", "--dry-run").out
    assert "\\x1b]0;title" in said
    assert "\x1b" not in said


def test_what_is_no_text_is_left_and_said_to_be(tmp_path, lessons):
    names = [str(tmp_path / name) for name in ("base", "ours", "theirs")]
    for number, name in enumerate(names):
        pathlib.Path(name).write_bytes(b"\0\xff%d" % number)
    done = lessons("merge-driver", *names, "7", "lessons/\x1b[2J.md")
    assert done.code == 2
    said = done.err
    assert said.startswith("lessons: lessons/\\x1b[2J.md was not merged: ")
    assert "it is not text; merge it by hand" in said
    assert pathlib.Path(names[1]).read_bytes() == b"\0\xff1"

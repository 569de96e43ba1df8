"""Brains shared through git: two real clones, real merges, and settings left as they were."""

import pathlib
import sys

import pytest

from lessons_kb import Brain
from lessons_kb.collection.git_merge import find_sharing, share, unshare
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


def git(root, *words, fails=False):
    if not fails:
        return kit.git(root, *words)
    with pytest.raises(kit.subprocess.CalledProcessError) as refused:
        kit.git(root, *words)
    return refused.value.stdout + refused.value.stderr


def change(root, old, new):
    text = (root / NAME).read_bytes().decode()
    assert old in text
    (root / NAME).write_bytes(text.replace(old, new).encode())
    kit.commit(root)


def bump(root, times=1, task=None):
    with Brain.open(root, directory=root) as brain:
        for number in range(times):
            brain.bump("money", task=task and f"{task} {number}")
            kit.commit(root, f"bump {number}")


def read(root, name=NAME):
    with Brain.open(root) as brain:
        return brain.cards.get(name)


def install(root, program=PROGRAM, **more):
    return share([str(root)], program=program, **more)


BYTES = CARD.encode()


def make(root, data=BYTES):
    kit.write(root, "lessons.toml", "")
    kit.write(root, NAME, "").write_bytes(data)
    kit.git(root, "init", "-q", "-b", "main")
    trust_brain(str(root))
    return root


@pytest.fixture(autouse=True)
def _no_settings_of_the_machine(monkeypatch):
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")


@pytest.fixture
def clone(tmp_path):
    return make(tmp_path / "a brain")


@pytest.fixture
def meet(request, tmp_path):
    """Two clones of one repository whose attributes are committed, each with the driver.

    Called, it lets the second one merge what the first has.
    """
    origin = make(tmp_path / "origin", getattr(request, "param", BYTES))
    install(origin, **SHARED)
    kit.commit(origin, "begin")

    def meet(*arguments, fails=False):
        git(meet.other, "fetch", "-q", "one")
        return git(meet.other, *(arguments or ("merge", "--no-edit")), "one/main", fails=fails)

    meet.clones = meet.one, meet.other = tmp_path / "one", tmp_path / "other"
    for clone in meet.clones:
        git(origin, "clone", "-q", str(origin), str(clone))
        install(clone, **PROJECT)
        trust_brain(str(clone))
    git(meet.other, "remote", "add", "one", str(meet.one))
    meet.card = meet.other / NAME
    return meet


@pytest.mark.slow
@pytest.mark.parametrize("arguments", [("merge", "--no-edit"), ("rebase", "-q")])
@pytest.mark.parametrize("task", [None, "task"])
def test_bumps_in_each_of_two_clones_add_up(meet, task, arguments):
    bump(meet.one, 5, task and f"one {task}")
    bump(meet.other, 5, task and f"other {task}")
    meet(*arguments)
    assert git(meet.other, "status", "--short") == ""
    assert read(meet.other).occurrences == 3 + 10
    if task:
        assert read(meet.other).examples == tuple(f"other task {n}" for n in range(5))


@pytest.mark.slow
def test_one_section_changed_on_both_sides_is_an_ordinary_conflict(meet):
    for clone, text in zip(
        meet.clones, ("Every total was off.", "Some totals were off."), strict=True
    ):
        bump(clone)
        change(clone, "Totals were off by a cent.", text)
    assert f"CONFLICT (content): Merge conflict in {NAME}" in meet(fails=True)
    text = meet.card.read_text()
    assert "occurrences: 5\n" in text
    assert text.count("<<<<<<< ") == text.count("=======\n") == text.count(">>>>>>> ") == 1
    assert "\nSome totals were off.\n=======\nEvery total was off.\n>>>>>>> " in text
    assert git(meet.other, "status", "--short") == f"UU {NAME}\n"


@pytest.mark.slow
def test_conflicts_take_the_style_that_git_is_configured_for(meet):
    git(meet.other, "config", "merge.conflictStyle", "diff3")
    change(meet.one, "Count in cents.", "Count in mills.")
    change(meet.other, "Count in cents.", "Count in euros.")
    meet(fails=True)
    assert "\nCount in cents.\n=======\n" in meet.card.read_text()


def test_deleted_here_and_bumped_there_is_left_to_the_human(meet):
    bump(meet.one)
    meet.card.unlink()
    kit.commit(meet.other)
    assert "CONFLICT (modify/delete)" in meet(fails=True)
    assert meet.card.exists()


@pytest.mark.slow
def test_different_sections_and_one_count_are_no_conflict_even_in_a_renamed_card(meet):
    bump(meet.one, 2)
    change(meet.one, "Count in cents.", "Count in cents, with Decimal.")
    bump(meet.other, 2)
    change(meet.other, "- Use Decimal\n", "- Use Decimal\n- Round once\n")
    git(meet.other, "mv", NAME, "lessons/cents.md")
    kit.commit(meet.other)
    meet()
    card = read(meet.other, "lessons/cents.md")
    assert (card.occurrences, card.checklist) == (7, ("Use Decimal", "Round once"))
    assert "with Decimal." in (meet.other / card.id).read_text()


@pytest.mark.slow
@pytest.mark.parametrize("meet", [b"---\ntype: lesson\n---\n\xff\xfe\0\n"], indirect=True)
def test_a_file_that_is_no_text_is_left_as_git_leaves_it(meet):
    for clone, data in zip(meet.clones, (b"\0one", b"\0other"), strict=True):
        (clone / NAME).write_bytes(data)
        kit.commit(clone)
    meet(fails=True)
    assert meet.card.read_bytes() == b"\0other"


@pytest.mark.slow
def test_a_clone_without_the_driver_merges_by_lines(meet):
    git(meet.other, "config", "--remove-section", "merge.lessons")
    bump(meet.one)
    change(meet.other, "Count in cents.", "Count in mills.")
    meet()
    assert read(meet.other).occurrences == 4
    bump(meet.one)
    bump(meet.other, 2)
    meet(fails=True)
    assert "\noccurrences: 6\n" in meet.card.read_text()


@pytest.mark.slow
def test_a_program_that_is_gone_does_not_hide_the_other_side(meet):
    install(meet.other, "/nowhere/100% lessons", **PROJECT)
    bump(meet.one)
    bump(meet.other, 2)
    meet(fails=True)
    assert meet.card.read_text().count("<<<<<<<") == 1


@pytest.mark.slow
def test_a_program_may_lie_in_a_folder_with_any_name(meet, tmp_path):
    folder = tmp_path / 'it\'s 100% "mine" $HOME'
    program = kit.write(folder, "lessons", f'#!/bin/sh\nexec {PROGRAM!r} "$@"\n')
    program.chmod(0o755)
    install(meet.other, str(program), **PROJECT)
    bump(meet.one)
    bump(meet.other, 2)
    meet()
    assert read(meet.other).occurrences == 6


def test_installing_twice_is_once_and_uninstalling_restores_every_byte(clone):
    config, info = clone / ".git" / "config", clone / ".git" / "info" / "attributes"
    before = config.read_bytes()
    states = set()
    for _ in range(2):
        install(clone, **PROJECT)
        states.add((config.read_bytes(), info.read_bytes()))
    assert len(states) == 1
    assert find_sharing(str(clone)) == (True, True)
    unshare([str(clone)], **PROJECT)
    assert config.read_bytes() == before
    assert not info.exists()
    assert find_sharing(str(clone)) == (False, False)
    assert {change.action for change in unshare([str(clone)], **PROJECT)} == {"unchanged"}


@pytest.mark.parametrize(("text", "later"), [
    ("*.png binary\n", ""), ("a\r\nb\r\n", ""), ("\n", ""), ("*.png binary\n", "*.jpg binary\n"),
])  # fmt: skip
def test_attributes_of_others_stay(clone, text, later):
    file = clone / ".gitattributes"
    file.write_bytes(text.encode())
    install(clone, **SHARED)
    assert file.read_bytes().startswith(text.encode())
    file.write_bytes(file.read_bytes() + later.encode())
    install(clone, **SHARED)
    unshare([str(clone)], **SHARED)
    assert file.read_bytes() == (text + later).encode()


def test_the_user_scope_holds_for_every_clone(clone):
    config = pathlib.Path.home() / ".gitconfig"
    install(clone, scope="user")
    assert "merge-driver" in config.read_text()
    assert find_sharing(str(clone)) == (True, True)
    unshare([str(clone)], scope="user")
    assert not config.exists()


def test_the_driver_of_a_clone_goes_with_the_users_own(clone):
    config = clone / ".git" / "config"
    before = config.read_bytes()
    install(clone, **PROJECT)
    install(clone, scope="user")
    unshare([str(clone)], scope="user", dry_run=True)
    assert config.read_bytes() != before
    changes = unshare([str(clone)], scope="user")
    assert config.read_bytes() == before
    assert [change.action for change in changes] == ["removed"] * 3


def test_a_dry_run_writes_nothing_and_nothing_of_a_repository_steers_the_terminal(
    clone, monkeypatch, lessons
):
    before = sorted(p.name for p in (clone / ".git").rglob("*"))
    changes = install(clone, **PROJECT, dry_run=True)
    assert [change.action for change in changes] == ["created", "created"]
    assert "+**/lessons/**/*.md merge=lessons" in changes[0].diff
    assert sorted(p.name for p in (clone / ".git").rglob("*")) == before
    (clone / ".gitattributes").write_text("# \x1b]0;title\x07\x1b[2J\n")
    monkeypatch.chdir(clone)
    output = lessons("install", "git", "--scope", "project", "--shared", "--dry-run").out
    assert "\\x1b]0;title" in output
    assert "\x1b" not in output


def test_what_the_repository_names_is_not_named_again(clone):
    install(clone, **SHARED)
    install(clone, **PROJECT)
    assert not (clone / ".git" / "info" / "attributes").exists()


def test_only_the_folders_of_the_brain_are_named(clone):
    brain = clone / "docs" / "our [brain]"
    kit.write(brain, "lessons.toml", '[folders]\n"errors" = "lesson"\n')
    share([str(brain)], program="lessons", scope="project")
    output = git(
        clone,
        "check-attr", "merge", "docs/our [brain]/errors/a.md", "docs/our [brain]/x/lessons/y/a.md",
        "docs/our [brain]/a.md", "errors/a.md", "lessons/a.md", "docs/our b/errors/a.md",
    )  # fmt: skip
    drivers = [line.rpartition(" ")[2] for line in output.splitlines()]
    assert drivers == ["lessons"] * 2 + ["unspecified"] * 4


def test_a_linked_attributes_file_is_refused(clone, tmp_path):
    target = kit.write(tmp_path, "bashrc", "x\n")
    (clone / ".gitattributes").symlink_to(target)
    with pytest.raises(StorageError, match="a symbolic link"):
        install(clone, **SHARED)
    assert target.read_text() == "x\n"


@pytest.mark.parametrize(("error", "match", "options"), [
    (BrainNotFound, "--brain", PROJECT), (InputError, "--scope", {"scope": "team"}),
    (InputError, "--scope project", {"shared": True}),
])  # fmt: skip
def test_an_impossible_setup_has_advice(tmp_path, error, match, options):
    with pytest.raises(error, match=match):
        share([str(tmp_path)], program="lessons", **options)


def test_a_bump_tells_the_time_only_where_git_merges_cards(clone):
    def seen():
        bump(clone)
        lines = (clone / NAME).read_text().splitlines()
        return next(line for line in lines if line.startswith("last-seen:"))

    assert len(seen()) == len("last-seen: 2026-03-01")
    install(clone, **PROJECT)
    line = seen()
    assert "T" in line
    assert read(clone).last_seen == line[11:21]


def test_what_is_no_text_is_left_and_said_to_be(tmp_path, lessons):
    paths = [tmp_path / name for name in ("base", "ours", "theirs")]
    for number, path in enumerate(paths):
        path.write_bytes(b"\0\xff%d" % number)
    done = lessons("merge-driver", *paths, "7", "lessons/\x1b[2J.md")
    assert done.code == 2
    assert done.err.startswith("lessons: lessons/\\x1b[2J.md was not merged: ")
    assert "it is not text; merge it by hand" in done.err
    assert paths[1].read_bytes() == b"\0\xff1"

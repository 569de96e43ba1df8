import errno
import os
import stat
import sys
import threading
import time
from unittest import mock

import pytest

from lessons_kb.errors import EditRefused, InputError, StorageError
from lessons_kb.store import card_files, locks, trash
from lessons_kb.store import files as disk
from tests.store.one_card import BUMPED, CARD, bump, only_the_card, read, write


@pytest.fixture
def at_exchange(monkeypatch):
    """Let another program do something right before an exchange, and after it."""
    exchange = disk.exchange

    def arrange(*saves, after=lambda _card: None):
        left = list(saves)

        def race(temp, target):
            if left:
                left.pop(0)(target)
            exchange(temp, target)
            after(target)

        monkeypatch.setattr(disk, "exchange", race)

    return arrange


@pytest.fixture
def full_state(monkeypatch):
    """Let the state folder have no room for an entry of the trash."""

    monkeypatch.setattr(trash, "new_entry", mock.Mock(side_effect=OSError(errno.ENOSPC, "full")))


def saves(data):
    return lambda card: write(card, data)


def test_a_rewrite_changes_the_bytes_and_keeps_all_else(root, card):
    os.chmod(card, 0o640)
    if hasattr(os, "setxattr"):
        os.setxattr(card, "user.lessons", b"kept")
    if os.geteuid() == 0:
        os.chown(card, 12, 34)

    def change(data):
        assert only_the_card(root), "no lock lies beside it"
        return bump(data)

    assert card_files.rewrite(root, "lessons/card.md", change) == read(card) == BUMPED
    info = os.stat(card)
    assert stat.S_IMODE(info.st_mode) == 0o640
    if hasattr(os, "getxattr"):
        assert os.getxattr(card, "user.lessons") == b"kept"
    if os.geteuid() == 0:
        assert (info.st_uid, info.st_gid) == (12, 34)
    assert only_the_card(root)


def test_without_a_change_or_with_a_refused_one_nothing_is_written(root, card):
    def refuse(_):
        raise EditRefused("no")

    before = os.stat(card)
    assert card_files.rewrite(root, "lessons/card.md", lambda data: data) == CARD
    with pytest.raises(EditRefused):
        card_files.rewrite(root, "lessons/card.md", refuse)
    after = os.stat(card)
    assert (after.st_ino, after.st_ctime_ns) == (before.st_ino, before.st_ctime_ns)
    assert only_the_card(root)


@pytest.mark.parametrize("path", [".git/hooks/pre-commit", ".lessons/x.md", "a/.GIT/config"])
def test_nothing_is_ever_written_to_git_or_the_cache(root, path):
    for act in (
        lambda: card_files.create(root, path, b"#!/bin/sh\n"),
        lambda: card_files.rewrite(root, path, lambda _: b""),
        lambda: trash.put(root, path),
    ):
        with pytest.raises(InputError):
            act()
    assert os.listdir(root) == ["lessons"]


def test_a_save_while_the_change_is_made_is_read_again(root, card):
    left = [b"occurrences: 10 x", b"occurrences: 20 x"]

    def change(data):
        if left:
            write(card, left.pop(0))
        return bump(data)

    assert card_files.rewrite(root, "lessons/card.md", change) == read(card) == b"occurrences: 21 x"
    assert trash.entries(root) == []
    assert only_the_card(root)


def by_renaming(card, data):
    write(card + ".swp", data)
    os.replace(card + ".swp", card)


def by_backup(card, data):
    os.rename(card, card + "~")
    write(card, data)
    os.unlink(card + "~")


@pytest.mark.parametrize("save", [write, by_renaming, by_backup])
def test_a_save_in_the_very_moment_of_the_exchange_is_neither_lost_nor_undone(
    root, card, system, at_exchange, save
):
    theirs = b"occurrences: 50 # theirs"
    at_exchange(lambda target: save(target, theirs))
    after = card_files.rewrite(root, "lessons/card.md", bump)
    assert after == read(card) == b"occurrences: 51 # theirs"
    (kept,) = trash.entries(root)
    assert (kept.path, kept.size) == ("lessons/card.md", len(theirs))
    assert only_the_card(root)


FIRST, SECOND = b"occurrences: 50 # first", b"occurrences: 60 # second"


@pytest.mark.parametrize(("before", "after", "left", "kept"), [
    ([FIRST, SECOND], [], FIRST.replace(b"0", b"1"), [FIRST, SECOND]),
    ([FIRST], [SECOND], SECOND, [FIRST]),  # upon our change: it is in it, or was left out
])  # fmt: skip
def test_of_two_saves_at_the_worst_moments_none_is_lost(
    root, card, at_exchange, monkeypatch, before, after, left, kept
):
    at_exchange(*map(saves, before), **({"after": saves(after[0])} if after else {}))
    card_files.rewrite(root, "lessons/card.md", bump)
    assert read(card) == left
    later(monkeypatch)
    assert sorted(kept_bytes(root, entry) for entry in trash.entries(root)) == kept


def test_a_save_that_cannot_be_edited_stays_as_it_was_saved(root, card, at_exchange):
    def change(data):
        if b"occurrences" not in data:
            raise EditRefused("no")
        return bump(data)

    at_exchange(saves(b"not a card any more"))
    with pytest.raises(EditRefused):
        card_files.rewrite(root, "lessons/card.md", change)
    assert read(card) == b"not a card any more"
    assert only_the_card(root)


def test_a_full_state_folder_holds_up_no_rewrite_but_in_a_race(root, card, at_exchange, full_state):
    assert card_files.rewrite(root, "lessons/card.md", bump) == read(card) == BUMPED
    assert only_the_card(root)
    at_exchange(saves(b"occurrences: 50 # theirs"))
    with pytest.raises(StorageError, match="disk is full"):
        card_files.rewrite(root, "lessons/card.md", bump)
    assert read(card) == b"occurrences: 50 # theirs"
    assert only_the_card(root)


def test_a_card_that_vanishes_meanwhile_is_not_brought_back(root, card):
    def change(data):
        os.unlink(card)
        return bump(data)

    with pytest.raises(StorageError, match="no such file"):
        card_files.rewrite(root, "lessons/card.md", change)
    assert os.listdir(f"{root}/lessons") == []


def later(monkeypatch, seconds=60):
    now = time.time
    monkeypatch.setattr(trash.time, "time", lambda: now() + seconds)


def kept_bytes(root, entry):
    return read(os.path.join(trash.trash_dir(root), entry.name, "card"))


needs_leases = pytest.mark.skipif(sys.platform != "linux", reason="leases are a Linux call")


@needs_leases
def test_a_save_that_has_begun_is_waited_for(root, card):
    begun = threading.Event()

    def save():
        with open(card, "wb", buffering=0) as file:  # empty now
            file.write(b"occurrences: 7")
            begun.set()
            time.sleep(0.15)
            file.write(b"0 # whole")

    editor = threading.Thread(target=save)
    editor.start()
    begun.wait()
    assert card_files.rewrite(root, "lessons/card.md", bump) == b"occurrences: 71 # whole"
    editor.join()


@needs_leases
def test_what_a_program_writes_into_the_replaced_file_later_is_in_the_trash(
    root, card, monkeypatch
):
    monkeypatch.setattr(card_files, "_PATIENCE_SECONDS", 0.1)
    with open(card, "r+b") as editor:
        card_files.rewrite(root, "lessons/card.md", bump)
        later(monkeypatch)
        assert trash.entries(root) == []  # still open: nothing is decided
        editor.write(b"LATE")
    assert read(card) == BUMPED
    (kept,) = trash.entries(root)
    assert kept_bytes(root, kept) == b"LATE" + CARD[4:]
    assert kept.path == "lessons/card.md"


def test_what_nobody_wrote_to_is_removed_after_a_while(root, card, monkeypatch, home):
    for _ in range(3):
        card_files.rewrite(root, "lessons/card.md", bump)
    later(monkeypatch)
    assert trash.entries(root) == []
    (state,) = (home / "state" / "brains").iterdir()
    assert not any(p.is_file() for p in state.rglob("*"))


def test_leftovers_of_killed_processes_go_to_the_trash_after_a_day(root, card, monkeypatch):
    left = disk.write_temp(f"{root}/lessons", b"perhaps someone's")
    assert not left.endswith((".md", ".markdown"))
    card_files.rewrite(root, "lessons/card.md", bump)
    assert os.path.exists(left)
    later(monkeypatch, 90_000)
    card_files.rewrite(root, "lessons/card.md", bump)
    assert only_the_card(root)
    (kept,) = trash.entries(root)
    assert kept_bytes(root, kept) == b"perhaps someone's"
    assert read(f"{root}/{trash.restore(root, kept.name)}") == b"perhaps someone's"


def test_a_lock_held_too_long_is_one_line(root, card, monkeypatch):
    monkeypatch.setattr(locks, "_LOCK_SECONDS", 0.05)
    with locks.locked(card), pytest.raises(StorageError, match="another lessons process"):
        card_files.rewrite(root, "lessons/card.md", bump)


@needs_leases
def test_across_file_systems_what_is_written_later_is_kept_too(tmp_path, mount, monkeypatch):
    root = mount(tmp_path / "other", "-t", "tmpfs", "tmpfs")
    write(f"{root}/card.md", CARD)
    monkeypatch.setattr(card_files, "_PATIENCE_SECONDS", 0.1)
    with open(f"{root}/card.md", "r+b") as editor:
        card_files.rewrite(root, "card.md", bump)
        editor.write(b"LATE")
    assert read(f"{root}/card.md") == BUMPED
    later(monkeypatch, 90_000)
    card_files.rewrite(root, "card.md", bump)
    contents = {kept_bytes(root, entry) for entry in trash.entries(root)}
    assert b"LATE" + CARD[4:] in contents
    assert os.listdir(root) == ["card.md"]


def test_an_owner_that_cannot_be_kept_is_no_obstacle(root, card, monkeypatch):
    monkeypatch.setattr(os, "fchown", mock.Mock(side_effect=PermissionError(errno.EPERM, "no")))
    if os.geteuid() == 0:
        os.chown(card, 12, 34)
    os.chmod(card, 0o644)
    card_files.rewrite(root, "lessons/card.md", bump)
    assert read(card) == BUMPED
    assert stat.S_IMODE(os.stat(card).st_mode) == 0o644


def test_a_program_that_saves_without_a_pause_cannot_hold_a_rewrite_up(root, card):
    def change(data):
        write(card, b"occurrences: 5 # " + os.urandom(8).hex().encode())
        return bump(data)

    assert card_files.rewrite(root, "lessons/card.md", change).startswith(b"occurrences: 6 # ")
    (kept,) = trash.entries(root)
    assert kept_bytes(root, kept).startswith(b"occurrences: 5 # ")

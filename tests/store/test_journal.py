"""The journal: what a session has in its context, what is counted, what its guards remember."""

import contextlib
import glob
import os
import pathlib
import sqlite3
from concurrent.futures import ThreadPoolExecutor

import pytest

from lessons_kb.errors import StorageError
from lessons_kb.model import Event
from lessons_kb.store.journal import _MIGRATIONS, Journal
from tests.store.conftest import in_processes


def test_what_was_given_is_in_the_context_until_compacted(journal):
    journal.record_injections("s", turn=3, at=1, cards=[("x.md", "1", 9), ("y.md", "2", 9)])
    assert journal.in_context("s", since_turn=3) == {("x.md", "1"), ("y.md", "2")}
    assert journal.in_context("s", since_turn=4) == set()
    assert journal.in_context("other", since_turn=0) == set()
    journal.forget_context("s", ["x.md"])
    assert journal.in_context("s", since_turn=0) == {("y.md", "2")}
    changes = []
    for cards in (None, None, ["x.md"]):  # what is out of it is not written again
        journal.forget_context("s", cards)
        assert journal.in_context("s", since_turn=0) == set()
        changes += journal.run("SELECT total_changes()")
    assert len(set(changes)) == 1


def test_the_last_block_is_known_by_rank(journal):
    assert journal.last_injected(None) == []
    journal.record_injections("a", turn=1, at=5, cards=[("x.md", "", 1)])
    journal.record_injections("b", turn=1, at=6, cards=[("z.md", "", 1), ("y.md", "", 1)])
    assert journal.last_injected(None) == ["z.md", "y.md"]
    assert journal.last_injected("a") == ["x.md"]
    cards = [("x.md", "", 1), ("y.md", "", 1)]
    journal.record_injections("s", turn=1, at=5, cards=cards, ranks=[2, 5])
    journal.next_turn("s")
    assert sorted(journal.injections.ranked("s")) == [(0, 2, "x.md"), (0, 5, "y.md")]
    journal.next_turn("s")
    journal.next_turn("s")
    assert sorted(journal.injections.ranked("s")) == [(2, 2, "x.md"), (2, 5, "y.md")]
    assert journal.injections.ranked("t") == []


def test_a_journal_that_cannot_be_used_is_named_and_not_touched(path):
    with contextlib.closing(sqlite3.connect(path)) as db:
        db.execute("PRAGMA user_version = 99")
    with pytest.raises(StorageError, match="newer"):
        Journal(path)
    os.rename(path, f"{path}.newer")
    os.mkdir(path)
    with pytest.raises(StorageError, match=r"journal\.db is not a file; move it away"):
        Journal(path)
    assert os.path.isdir(path)


def test_a_damaged_journal_is_kept_aside_and_a_fresh_one_begun(path):
    pathlib.Path(path).write_bytes(b"junk" * 1000)
    journal = Journal(path)
    assert journal.next_turn("s") == 1
    assert pathlib.Path(journal.set_aside).read_bytes() == b"junk" * 1000
    assert glob.glob(f"{path}.damaged-*") == [journal.set_aside]
    journal.close()
    again = Journal(path)
    assert (again.set_aside, again.next_turn("s")) == ("", 2)
    again.close()


def test_damage_met_later_is_said_in_one_line_and_the_next_call_works(path):
    journal = Journal(path)
    for number in range(300):
        journal.events.append(Event(kind="prompt", at=1.0, text=f"{number} " * 200))
    journal.close()
    size = os.path.getsize(path)
    with open(path, "r+b") as file:
        file.seek(8192)
        file.write(b"\xff" * (size - 8192))
    journal = Journal(path)
    with pytest.raises(StorageError, match="was damaged and saved as") as error:
        journal.events.find()
    assert "\n" not in str(error.value)
    assert journal.events.append(Event(kind="prompt", at=1.0)) is True
    assert len(journal.events.find()) == 1
    assert os.path.getsize(glob.glob(f"{path}.damaged-*")[0]) == size
    journal.close()


def test_a_journal_of_the_first_version_goes_on(path):
    with contextlib.closing(sqlite3.connect(path)) as db:
        db.executescript(_MIGRATIONS[0])
        db.executescript("INSERT INTO turns VALUES ('s', 4); PRAGMA user_version = 1")
    journal = Journal(path)
    assert journal.next_turn("s") == 5
    assert journal.events.append(Event(kind="prompt")) is True
    journal.close()


def test_what_is_counted_by_day_outlives_what_is_forgotten(journal):
    day = 86_400.0
    journal.record_injections("s", turn=1, at=int(day * 100), cards=[("x.md", "", 1)])
    journal.record_injections("s", turn=2, at=int(day * 100), cards=[("x.md", "", 1)])
    journal.outcomes.count("x.md", "bumped", at=day * 101)
    journal.outcomes.count("y.md", "addressed", at=day * 101, times=3)
    journal.events.append(Event(kind="prompt", at=day * 100))
    journal.events.append(Event(kind="prompt", at=day * 250))
    journal.keep_guard_state("s", "{}")
    journal.prune_daily(lambda: 90, now=day * 260)
    assert [event.at for event in journal.events.find()] == [day * 250]
    assert journal.last_injected(None) == []
    assert journal.guard_state("s") == "{}"
    counts = [(card, what, times) for card, what, _day, times in journal.counts()]
    x = [("x.md", "injected", 2), ("x.md", "sessions", 1), ("x.md", "tokens", 2)]
    assert counts == [*x, ("x.md", "bumped", 1), ("y.md", "addressed", 3)]
    assert len(journal.counts("x.md")) == 4
    assert journal.counts("x.md")[0][2].startswith("1970-04-1")


def test_forgetting_is_asked_for_once_a_day(path):
    asked = []

    def days():
        asked.append(1)
        return 90

    for now in (1e9, 1e9 + 60, 1e9 + 90_000):
        journal = Journal(path)
        journal.prune_daily(days, now=now)
        journal.prune_daily(days, now=now)
        journal.close()
    assert len(asked) == 2


def test_a_transaction_is_all_or_nothing(journal):
    def fail_half_way():
        with journal.transaction():
            journal.events.append(Event(kind="prompt"))
            journal.keep_guard_state("s", "1")
            raise KeyError

    with pytest.raises(KeyError):
        fail_half_way()
    assert (journal.events.find(), journal.guard_state("s")) == ([], "")
    with journal.transaction():
        journal.record_injections("s", turn=1, at=1, cards=[("x.md", "", 1)])
        journal.keep_guard_state("s", "1", part="sub")
    assert (journal.guard_state("s"), journal.guard_state("s", "sub")) == ("", "1")
    assert journal.last_injected("s") == ["x.md"]


def _write(path, writer, times):
    journal = Journal(path)
    for number in range(times):
        with journal.transaction():
            seen = int(journal.guard_state("s") or 0)
            journal.events.append(Event(kind="tool", session=f"s{writer}", id=f"{number}"))
            journal.keep_guard_state("s", str(seen + 1))
        journal.next_turn("s")


@pytest.mark.slow
def test_processes_take_turns(path, journal):
    in_processes(_write, [(path, writer, 100) for writer in range(4)])
    assert journal.guard_state("s") == "400"
    assert len(journal.events.find()) == 400
    assert [journal.next_turn("s"), journal.next_turn("other")] == [401, 1]
    assert os.stat(path).st_mode & 0o077 == 0


def test_threads_take_turns_too(journal):
    def count(_):
        for _ in range(50):
            with journal.transaction():
                journal.keep_guard_state("s", str(int(journal.guard_state("s") or 0) + 1))

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(count, range(4)))
    assert journal.guard_state("s") == "200"

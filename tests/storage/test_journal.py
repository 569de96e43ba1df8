"""The journal of injections: what a session has in its context."""

from __future__ import annotations

import multiprocessing
import os
import pathlib
import sqlite3

import pytest

from lessons_kb.errors import StorageError
from lessons_kb.storage.journal import Journal


@pytest.fixture
def path(tmp_path: pathlib.Path) -> str:
    return str(tmp_path / "journal.db")


def test_turns_count_per_session(path: str) -> None:
    journal = Journal(path)
    assert [journal.next_turn("a"), journal.next_turn("a"), journal.next_turn("b")] == [1, 2, 1]
    journal.close()


def test_what_was_given_is_in_the_context_until_compacted(path: str) -> None:
    journal = Journal(path)
    journal.record_injections("s", turn=3, at=1, cards=[("x.md", "1", 9), ("y.md", "2", 9)])
    assert journal.in_context("s", since_turn=3) == {("x.md", "1"), ("y.md", "2")}
    assert journal.in_context("s", since_turn=4) == set()
    assert journal.in_context("other", since_turn=0) == set()
    journal.forget_context("s", ["x.md"])
    assert journal.in_context("s", since_turn=0) == {("y.md", "2")}
    journal.forget_context("s")
    assert journal.in_context("s", since_turn=0) == set()
    journal.close()


def test_the_last_block_is_known_by_rank(path: str) -> None:
    journal = Journal(path)
    assert journal.last_injected(None) == []
    journal.record_injections("a", turn=1, at=5, cards=[("x.md", "", 1)])
    journal.record_injections("b", turn=1, at=6, cards=[("z.md", "", 1), ("y.md", "", 1)])
    assert journal.last_injected(None) == ["z.md", "y.md"]
    assert journal.last_injected("a") == ["x.md"]
    journal.close()


def test_the_file_is_private(path: str) -> None:
    Journal(path).close()
    assert os.stat(path).st_mode & 0o077 == 0


def test_a_newer_journal_is_left_alone(path: str) -> None:
    db = sqlite3.connect(path)
    db.execute("PRAGMA user_version = 99")
    db.close()
    with pytest.raises(StorageError, match="newer"):
        Journal(path)


def test_a_damaged_journal_is_named_and_not_touched(path: str) -> None:
    pathlib.Path(path).write_bytes(b"junk" * 1000)
    with pytest.raises(StorageError, match="cannot open the journal"):
        Journal(path)
    assert pathlib.Path(path).read_bytes() == b"junk" * 1000


def _count_turns(path: str, times: int) -> None:
    journal = Journal(path)
    for _ in range(times):
        journal.next_turn("s")
    journal.close()


def test_no_turn_is_lost_between_processes(path: str) -> None:
    context = multiprocessing.get_context("spawn")
    workers = [context.Process(target=_count_turns, args=(path, 50)) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    journal = Journal(path)
    assert journal.next_turn("s") == 201
    journal.close()

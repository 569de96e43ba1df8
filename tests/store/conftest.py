import errno
import multiprocessing
import os
from unittest import mock

import pytest

from lessons_kb.store import files as replace_file
from lessons_kb.store.journal import Journal
from tests.store.one_card import CARD


@pytest.fixture(autouse=True)
def home(_own_home, monkeypatch):
    """A user of our own, whose state has a short path."""
    monkeypatch.setenv("LESSONS_STATE_HOME", str(_own_home / "state"))
    return _own_home


@pytest.fixture
def root(tmp_path):
    brain = tmp_path / "brain"
    (brain / "lessons").mkdir(parents=True)
    return os.path.realpath(brain)


@pytest.fixture
def card(root):
    path = os.path.join(root, "lessons", "card.md")
    with open(path, "wb") as file:
        file.write(CARD)
    return path


@pytest.fixture(params=["exchange", "hard link", "copy"])
def system(request, monkeypatch):
    """What the system offers: RENAME_EXCHANGE, only hard links, or neither."""
    if request.param != "exchange":
        monkeypatch.setattr(replace_file, "_renameat2", lambda *_: False)
    if request.param == "copy":
        monkeypatch.setattr(os, "link", mock.Mock(side_effect=OSError(errno.EPERM, "no links")))
    return request.param


@pytest.fixture
def path(tmp_path):
    return str(tmp_path / "journal.db")


@pytest.fixture
def journal(path):
    journal = Journal(path)
    yield journal
    journal.close()


def in_processes(work, each):
    """Call ``work`` with each of some arguments, in processes that run at once."""
    context = multiprocessing.get_context("spawn")
    workers = [context.Process(target=work, args=arguments) for arguments in each]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert [worker.exitcode for worker in workers] == [0] * len(workers)

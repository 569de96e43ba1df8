import errno
import multiprocessing
import os

import pytest

from lessons_kb.store import files as replace_file
from lessons_kb.store.journal import Journal
from tests.store.one_card import CARD


@pytest.fixture(autouse=True)
def home(tmp_path_factory, monkeypatch):
    """A user of our own: nothing of the machine's is seen or touched."""
    home = tmp_path_factory.mktemp("home")
    for name in ("XDG_STATE_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME", "LESSONS_BRAIN"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("LESSONS_STATE_HOME", str(home / "state"))
    return home


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

        def no_links(*_, **__):
            raise OSError(errno.EPERM, "no links here")

        monkeypatch.setattr(os, "link", no_links)
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

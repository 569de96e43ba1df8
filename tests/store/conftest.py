import errno
import os

import pytest

from lessons_kb.store import files as replace_file


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
        file.write(b"---\r\noccurrences: 1 # seen\r\n---\r\n# Card  \r\nbody\n")
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

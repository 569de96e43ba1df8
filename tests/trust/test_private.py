"""What is observed is this user's alone, and no setting can run or write anything."""

import os
import pathlib

import pytest

from lessons_kb import Brain
from lessons_kb.agents.install import Entries, Request, install
from lessons_kb.config import DEFAULTS, flat_settings
from lessons_kb.errors import ModelMissing
from lessons_kb.search.embeddings import find_model
from tests.kit import Claude, answer

pytestmark = pytest.mark.skipif(os.name == "nt", reason="modes are POSIX")


@pytest.fixture
def loose():
    """A user whose umask hides nothing."""
    before = os.umask(0)
    yield
    os.umask(before)


@pytest.mark.slow
def test_all_that_is_kept_of_a_user_is_for_that_user(loose, root, telegram):
    home = pathlib.Path.home()
    claude = Claude(root)
    claude.prompt("Add a telegram command, again broken")
    claude.stop("Done.")
    answer("claude-code", "no JSON")
    (home / ".claude").mkdir()
    (home / ".claude/settings.json").write_text('{"env": {"TOKEN": "x"}}')
    entries = Entries(hook="/opt/lessons-hook", server="/opt/lessons")
    install(Request(agent="claude-code", project=str(root), entries=entries))
    with Brain.open(root) as brain:
        brain.bump("telegram-allowlist")
        brain.cards.delete("telegram-allowlist")
    kept = home / ".local/state/lessons-kb"
    seen = [kept, *kept.rglob("*")]
    assert {path.name for path in seen} >= {"journal.db", "brain.json", "hook.log", "trash"}
    readable = {path for path in seen if path.lstat().st_mode & 0o077}
    # A deleted card keeps its own mode; the folder around it is closed.
    assert {path.name for path in readable} == {"card"}
    assert not {path.parent for path in readable} & readable


def test_no_setting_names_a_command_or_a_place_to_write():
    """Whoever adds a setting that is a text thinks of a cloned repository, and adds it here."""
    texts = {
        name
        for name, value in flat_settings(DEFAULTS).items()
        if isinstance(value, (str, list, tuple)) and not name.startswith("folders.")
    }
    assert texts == {
        "brain",  # a folder of the same repository, and only one that the user trusts
        "language",  # one of a list
        "index.collection",  # a name in a cluster that only the user can name
        "index.engine",  # one of a list
        "project",  # a name that cards are compared with
        "semantic.model",  # a folder that is read, as data; never across a network
        "triggers.patterns",  # regular expressions, bounded
    }


@pytest.mark.parametrize("name", ["//host/share", "\\\\host\\share", "\\/host/share"])
def test_no_model_is_looked_up_across_a_network(root, monkeypatch, name):
    """Windows would tell that host who its user is."""
    asked = []
    monkeypatch.setattr(os.path, "isfile", lambda path: bool(asked.append(str(path))))
    monkeypatch.setattr(os.path, "isdir", lambda path: bool(asked.append(str(path))))
    with pytest.raises(ModelMissing, match="network"):
        find_model(name, root=str(root))
    assert asked == []

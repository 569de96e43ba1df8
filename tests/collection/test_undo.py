"""Every change can be taken back, and nothing of another program's goes with it."""

import pathlib
import time
from types import SimpleNamespace

import pytest

from lessons_kb import Brain
from lessons_kb.collection.undo import Undoing
from lessons_kb.errors import CardNotFound
from lessons_kb.store import trash
from lessons_kb.store.draft_files import DraftFolder
from tests import kit

NAME = "lessons/telegram-allowlist.md"
PROMPT = "Let the Telegram bot run a shell command that a member of the group sends"


@pytest.fixture
def brain(root, telegram):
    return Brain.open(root, directory=root)


@pytest.fixture
def undoing(brain):
    return Undoing(brain)


@pytest.mark.slow
@pytest.mark.parametrize("act", [
    lambda u: u.bump(NAME), lambda u: u.set_status("ignored", NAME),
    lambda u: u.set_status("archived", NAME), lambda u: u.delete(NAME),
], ids=["bump", "ignore", "archive", "delete"])  # fmt: skip
@pytest.mark.parametrize("head", [
    "---\ntype: lesson\ntitle: A b c\n---\n",
    "---\r\ntitle: A b c\r\nstatus: active  # for now\r\noccurrences: 2\r\n---\r\n",
    "\ufeff---\ntitle: `a` breaks: YAML\nlast-seen: 2026-01-01\n---\n",
    "",
], ids=["plain", "crlf", "lenient", "no header"])  # fmt: skip
def test_undo_gives_every_byte_back(undoing, telegram, act, head):
    telegram.write_bytes((head + "\n# A b c\n\nText.  \n").encode())
    before = telegram.read_bytes()
    act(undoing)
    assert not telegram.exists() or telegram.read_bytes() != before
    undone = undoing.undo()
    assert undone.line.startswith("undone: ")
    assert undone.names == (NAME,)
    assert telegram.read_bytes() == before
    assert undoing.undo()[0] == "nothing to undo"


def test_what_changes_nothing_or_was_done_by_the_user_is_no_step(undoing, brain):
    layer = brain.members[0]
    undoing.set_status("active", NAME)
    assert not undoing.edit(layer, NAME, lambda _path: None)
    assert undoing.edit(layer, NAME, lambda path: pathlib.Path(path).unlink())
    assert undoing.undo()[0] == "nothing to undo"


def test_what_was_written_since_is_kept_and_nothing_undone(undoing, brain, telegram):
    undoing.bump(NAME)
    since = telegram.read_text("utf-8").replace("severity: high", "severity: low")
    telegram.write_text(since, encoding="utf-8")
    assert "has changed since then; nothing was undone" in undoing.undo()[0]
    assert telegram.read_text("utf-8") == since
    undoing.bump(NAME)
    brain.bump(NAME)
    line = undoing.undo()[0]
    assert ("not undone" in line, "\n" in line) == (True, False)
    assert brain.cards.get(NAME).occurrences == 8
    undoing.bump(NAME)
    telegram.unlink()
    assert "no longer exists" in undoing.undo()[0]
    assert not telegram.exists()
    assert undoing.undo()[0] == "nothing to undo"


def test_a_draft_is_taken_back_only_as_it_was_left(undoing, brain):
    draft = brain.drafts.propose("Shell open to the whole group")
    path = pathlib.Path(draft.path)
    assert not undoing.edit_draft(draft.id, lambda _path: None)
    for later, text in (("", draft.text), ("edited again", "edited again")):
        assert undoing.edit_draft(draft.id, lambda _path: path.write_text("edited"))
        path.write_text(later or "edited")
        assert ("changed since" in undoing.undo()[0]) == bool(later)
        assert path.read_text() == text
    undoing.discard(draft.id)
    undoing.undo()
    assert path.read_text() == "edited again"
    undoing.edit_draft(draft.id, lambda _path: path.write_text("edited once more"))
    folder = DraftFolder(brain.members[0].root)
    folder.note(draft.id, {**folder.facts_of(draft.id), "seen": 2})  # as when it comes back
    undoing.undo()
    assert brain.drafts.get(draft.id).seen == 2


def test_what_an_undone_edit_wrote_is_in_the_trash(undoing, brain, telegram):
    before, layer = telegram.read_bytes(), brain.members[0]
    assert undoing.edit(layer, NAME, lambda path: pathlib.Path(path).write_text("edited\n"))
    undoing.undo()
    assert telegram.read_bytes() == before
    assert [entry.why for entry in trash.entries(layer.root)] == ["edit undone"]


@pytest.mark.slow
def test_an_undone_bump_takes_its_recurrence_back_but_none_that_was_known_before(undoing, brain):
    brain.preflight(PROMPT, session="now")

    def recurs(act):
        act()
        return brain.stats.effect(NAME).outcomes.get("came back", 0)

    assert recurs(lambda: undoing.bump(NAME)) == 1
    assert recurs(undoing.undo) == 0
    assert {outcome for _day, outcome, _times in brain.stats.history(NAME)} == {"injected"}
    assert [recurs(lambda: undoing.bump(NAME)) for _ in range(2)] == [1, 1]
    assert [recurs(undoing.undo) for _ in range(2)] == [1, 0]
    draft = brain.drafts.propose("Shell open to the whole group")
    assert recurs(lambda: undoing.merge(draft.id, NAME)) == 1
    assert recurs(undoing.undo) == 0


def test_what_was_counted_yesterday_is_taken_back_from_yesterday(undoing, brain, monkeypatch):
    clock = [time.time() - 86_400]
    monkeypatch.setattr("lessons_kb.collection.undo.time", SimpleNamespace(time=lambda: clock[0]))
    undoing.bump(NAME)
    clock[0] += 86_400
    undoing.undo()
    assert brain.stats.history(NAME) == ()


def test_several_brains_are_told_apart(tmp_path):
    near, far = (
        kit.write(tmp_path, f"{n}/lessons/a.md", "# The same name\n") for n in ("near", "far")
    )
    brain = Brain.open(near.parents[1], far.parents[1], directory=tmp_path)
    undoing = Undoing(brain)
    undoing.bump("far:lessons/a.md")
    assert "occurrences" in far.read_text("utf-8")
    assert undoing.undo()[1] == ("far:lessons/a.md",)
    assert "occurrences" not in far.read_text("utf-8")
    with pytest.raises(CardNotFound, match="no card named"):
        undoing.bump("telegramm")

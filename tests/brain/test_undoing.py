"""Every change can be taken back, and nothing of another program's goes with it."""

import pathlib
import time
from types import SimpleNamespace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lessons_kb import Brain
from lessons_kb.brain.undo import Undoing
from lessons_kb.errors import CardNotFound
from lessons_kb.store import trash

NAME = "lessons/telegram-allowlist.md"
PROMPT = "Let the Telegram bot run a shell command that a member of the group sends"


@pytest.fixture
def brain(root, telegram):
    return Brain.open(root, directory=root)


@pytest.mark.parametrize(
    "act",
    [
        lambda u: u.bump(NAME),
        lambda u: u.set_status("ignored", NAME),
        lambda u: u.set_status("archived", NAME),
        lambda u: u.delete(NAME),
    ],
    ids=["bump", "ignore", "archive", "delete"],
)
@pytest.mark.parametrize(
    "head",
    [
        "---\ntype: lesson\ntitle: A b c\n---\n",
        "---\r\ntitle: A b c\r\nstatus: active  # for now\r\noccurrences: 2\r\n---\r\n",
        "\ufeff---\ntitle: `a` breaks: YAML\nlast-seen: 2026-01-01\n---\n",
        "",
    ],
    ids=["plain", "crlf", "lenient", "no header"],
)
def test_undo_gives_every_byte_back(brain, telegram, act, head):
    telegram.write_bytes((head + "\n# A b c\n\nText.  \n").encode())
    before = telegram.read_bytes()
    undoing = Undoing(brain)
    act(undoing)
    assert not telegram.exists() or telegram.read_bytes() != before
    done = undoing.undo()
    assert done.line.startswith("undone: ")
    assert done.names == (NAME,)
    assert telegram.read_bytes() == before
    assert undoing.undo().line == "nothing to undo"


@pytest.mark.slow
@settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=6, deadline=None
)
@given(
    acts=st.lists(st.sampled_from(["bump", "ignored", "archived", "active", "delete"]), max_size=4)
)
def test_any_row_of_changes_is_undone_step_by_step(brain, telegram, acts):
    undoing = Undoing(brain)
    seen = [telegram.read_bytes()]
    for act in acts:
        if not telegram.exists():
            break
        before = len(undoing.steps)
        if act == "bump":
            undoing.bump(NAME)
        elif act == "delete":
            undoing.delete(NAME)
        else:
            undoing.set_status(act, NAME)
        if len(undoing.steps) > before:
            seen.append(telegram.read_bytes() if telegram.exists() else b"")
    for expected in reversed(seen[:-1]):
        undoing.undo()
        assert telegram.read_bytes() == expected
    assert not undoing.steps


def test_a_status_that_holds_already_is_no_step(brain):
    undoing = Undoing(brain)
    undoing.set_status("active", NAME)
    assert not undoing.steps


def test_what_was_written_since_is_kept_and_nothing_undone(brain, telegram):
    undoing = Undoing(brain)
    undoing.bump(NAME)
    since = telegram.read_text("utf-8").replace("severity: high", "severity: low")
    telegram.write_text(since, encoding="utf-8")
    assert "has changed since then; nothing was undone" in undoing.undo().line
    assert telegram.read_text("utf-8") == since


def test_a_key_changed_since_is_left_and_said_to_be(brain, telegram):
    undoing = Undoing(brain)
    undoing.bump(NAME)
    brain.bump(NAME)
    done = undoing.undo()
    assert "not undone" in done.line
    assert "\n" not in done.line
    assert brain.cards.get(NAME).occurrences == 7
    assert undoing.undo().line == "nothing to undo"


def test_a_card_that_is_gone_stays_gone(brain, telegram):
    undoing = Undoing(brain)
    undoing.bump(NAME)
    telegram.unlink()
    assert "no longer exists" in undoing.undo().line
    assert not telegram.exists()


def test_an_edit_is_undone_only_while_it_stands(brain, telegram):
    undoing = Undoing(brain)
    before = telegram.read_bytes()
    layer = brain.layers[0]

    def editor(path):
        pathlib.Path(path).write_text("edited\n", encoding="utf-8")

    assert undoing.edit(layer, NAME, editor)
    assert not undoing.edit(layer, NAME, editor)
    telegram.write_text("edited again\n", encoding="utf-8")
    assert "changed since" in undoing.undo().line
    assert telegram.read_text("utf-8") == "edited again\n"
    telegram.write_bytes(before)
    undoing.edit(layer, NAME, editor)
    undoing.undo()
    assert telegram.read_bytes() == before
    assert [entry.why for entry in trash.entries(layer.root)] == ["edit undone"]


def test_an_editor_may_remove_the_file(brain, telegram):
    undoing = Undoing(brain)
    assert undoing.edit(brain.layers[0], NAME, lambda path: pathlib.Path(path).unlink())
    assert not undoing.steps


def test_an_undone_bump_is_not_counted(brain):
    undoing = Undoing(brain)
    undoing.bump(NAME)
    undoing.undo()
    assert [times for _c, what, _d, times in brain.journal.counts(NAME) if what == "bumped"] == [0]


def test_an_undone_bump_takes_its_recurrence_back(brain):
    brain.preflight(PROMPT, session="now")
    undoing = Undoing(brain)
    undoing.bump(NAME)
    assert brain.stats.effect(NAME).recurrences == 1
    undoing.undo()
    assert brain.stats.effect(NAME).recurrences == 0
    assert {what for _day, what, _times in brain.stats.history(NAME)} == {"injected"}
    undoing.bump(NAME)
    assert brain.stats.effect(NAME).recurrences == 1


def test_a_recurrence_that_was_known_before_the_bump_stays(brain):
    brain.preflight(PROMPT, session="now")
    undoing = Undoing(brain)
    undoing.bump(NAME)
    undoing.bump(NAME)
    undoing.undo()
    assert brain.stats.effect(NAME).recurrences == 1
    undoing.undo()
    assert brain.stats.effect(NAME).recurrences == 0


def test_a_merged_draft_taken_back_takes_its_recurrence_back(brain):
    brain.preflight(PROMPT, session="now")
    draft = brain.drafts.propose("Shell open to the whole group")
    undoing = Undoing(brain)
    undoing.merge(draft.id, NAME)
    assert brain.stats.effect(NAME).recurrences == 1
    undoing.undo()
    assert brain.stats.effect(NAME).recurrences == 0


def test_what_was_counted_yesterday_is_taken_back_from_yesterday(brain, monkeypatch):
    undoing = Undoing(brain)
    clock = [time.time() - 86_400]
    monkeypatch.setattr("lessons_kb.brain.undo.time", SimpleNamespace(time=lambda: clock[0]))
    undoing.bump(NAME)
    clock[0] += 86_400
    undoing.undo()
    assert brain.stats.history(NAME) == ()


def test_several_brains_are_told_apart(tmp_path):
    for name in ("near", "far"):
        (tmp_path / name / "lessons").mkdir(parents=True)
        (tmp_path / name / "lessons" / "a.md").write_text("# The same name\n", encoding="utf-8")
    brain = Brain.open(tmp_path / "near", tmp_path / "far", directory=tmp_path)
    undoing = Undoing(brain)
    undoing.bump("far:lessons/a.md")
    assert "occurrences" in (tmp_path / "far" / "lessons" / "a.md").read_text("utf-8")
    assert undoing.undo().names == ("far:lessons/a.md",)
    assert "occurrences" not in (tmp_path / "far" / "lessons" / "a.md").read_text("utf-8")


def test_what_is_not_there_is_said(brain):
    with pytest.raises(CardNotFound, match="did you mean"):
        Undoing(brain).bump("telegramm")

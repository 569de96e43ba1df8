"""An event that another process noted, and did not get to answer, is answered as if it were new."""

import time

import pytest

from lessons_kb import Brain
from tests.session.test_gated_calls import guarded

__all__ = ["guarded"]

AGAIN = {"LESSONS_HOOK_AGAIN": "1"}
TELEGRAM = "Add a Telegram command that runs a shell script on the server"
ITEM = "Reject every chat id that is not on the allowlist"


def edit(claude, *number, **how):
    return claude.edit("bot/app.py", *number, **how)


def remove(claude, *number, **how):
    return claude.run("rm migrations/001.sql", *number, **how)


@pytest.mark.slow
@pytest.mark.parametrize(("asked", "act", "says"), [
    ("", edit, ITEM), ("", remove, "permission"), (TELEGRAM, edit, "once more:"),
])  # fmt: skip
def test_what_is_said_before_a_call(claude, asked, act, says):
    if asked:
        assert ITEM in claude.prompt(asked).context
    first = act(claude)
    assert says in str(first)
    assert act(claude, environment=AGAIN) == first
    assert act(claude, 2, environment=AGAIN) == {}


def test_a_question_that_nobody_can_answer(claude):
    claude.agent = "codex"
    first = claude.run("rm migrations/001.sql", turn_id="t1")
    assert "nobody can be asked here" in first.context
    assert claude.run("rm migrations/001.sql", turn_id="t1", environment=AGAIN) == first


def test_a_prompt_and_one_that_nothing_was_looked_up_for(claude, monkeypatch):
    first = claude.prompt(TELEGRAM)
    assert ITEM in first.context
    assert claude.prompt(TELEGRAM, environment=AGAIN) == first
    with monkeypatch.context() as patched:
        patched.setattr("lessons_kb.session.prompt.refresh_in_hook", lambda _brain: 1 / 0)
        assert claude.prompt(f"{TELEGRAM}, 2", 2) == {}
    assert claude.prompt(f"{TELEGRAM}, 2", 2, environment=AGAIN).context == ""


def test_an_answer_is_noted_once(claude, monkeypatch):
    claude.prompt(TELEGRAM)
    claude.stop()
    later = time.time() + 1.5
    monkeypatch.setattr(time, "time", lambda: later)
    claude.stop(environment=AGAIN)
    with Brain.discover(claude.project) as brain:
        assert [e.kind for e in brain.journal.events(session="s1")] == ["prompt", "answer"]

"""An event that another process noted, and did not get to answer, is answered as if it were new."""

import pytest

from lessons_kb import Brain
from lessons_kb.session import prompt as prompt_event
from tests.agents.test_gate import asked, before, context, event, guarded

__all__ = ["guarded"]

AGAIN = {"LESSONS_HOOK_AGAIN": "1"}
TELEGRAM = "Add a Telegram command that runs a shell script on the server"
ITEM = "Reject every chat id that is not on the allowlist"


def prompt(project, number):
    fields = {"prompt": f"{TELEGRAM}, {number}", "prompt_id": f"p{number}"}
    return event(project, "UserPromptSubmit", **fields)


def edit(project, file, number=1):
    return before(project, number, "Edit", {"file_path": str(project / file)})


@pytest.mark.parametrize("file", ["bot/app.py", "migrations/001.sql"])
def test_a_guarded_file(project, fire, file):
    first = fire("claude-code", edit(project, file))
    assert ITEM in context(first) or asked(first)
    assert fire("claude-code", edit(project, file), AGAIN) == first
    assert fire("claude-code", edit(project, file, 2), AGAIN) == {}


def test_a_lesson_that_came_with_the_prompt_is_not_repeated(project, fire):
    assert ITEM in context(fire("claude-code", prompt(project, 1)))
    assert fire("claude-code", edit(project, "bot/app.py")) == {}
    assert fire("claude-code", edit(project, "bot/app.py"), AGAIN) == {}


def test_a_prompt(project, fire):
    first = fire("claude-code", prompt(project, 1))
    assert ITEM in context(first)
    assert fire("claude-code", prompt(project, 1), AGAIN) == first
    assert context(fire("claude-code", prompt(project, 2))) == ""
    assert context(fire("claude-code", prompt(project, 2), AGAIN)) == ""


def test_a_prompt_that_nothing_was_looked_up_for(project, fire, monkeypatch):
    assert ITEM in context(fire("claude-code", prompt(project, 1)))
    with monkeypatch.context() as patched:
        patched.setattr(prompt_event, "freshen", lambda _brain: 1 / 0)
        assert fire("claude-code", prompt(project, 2)) == {}
    assert context(fire("claude-code", prompt(project, 2), AGAIN)) == ""


def test_an_answer_is_noted_once(project, fire, monkeypatch):
    fire("claude-code", prompt(project, 1))
    stop = event(project, "Stop", last_assistant_message="finished")
    fire("claude-code", stop)
    import time

    later = time.time() + 1.5
    monkeypatch.setattr(time, "time", lambda: later)
    fire("claude-code", stop, AGAIN)
    with Brain.discover(project) as brain:
        kinds = [e.kind for e in brain.journal.events(session="s1")]
    assert kinds == ["prompt", "answer"]

"""Crush, by payloads as the source of version 0.90 builds them: it was not run here."""

import pytest


@pytest.fixture
def event(project):
    return {"event": "PreToolUse", "session_id": "313909e", "cwd": str(project)}


def edit(path, new="b"):
    arguments = {"file_path": path, "old_string": "a", "new_string": new}
    return {"tool_name": "edit", "tool_input": arguments}


def test_a_lesson_comes_with_the_change_that_it_is_about(event, fire, project):
    given = fire("crush", event | edit(f"{project}/bot/handler.py"))
    assert set(given) == {"context"}, "a decision would spare the user its own question"
    assert "Reject every chat id" in given["context"]
    assert fire("crush", event | edit(f"{project}/bot/handler.py", "c")) == {}
    assert fire("crush", event | edit(f"{project}/README.md")) == {}


def test_a_change_is_refused_once_where_a_card_says_so(event, fire, project):
    card = project / "lessons" / "drop-column.md"
    card.write_text(card.read_text().replace("gate: ask", "gate: once"))
    change = event | edit("migrations/1.sql")
    refused = fire("crush", change)
    assert refused["decision"] == "deny"
    assert "Drop the column one release later" in refused["reason"]
    assert "decision" not in fire("crush", change)

"""Events that clients really sent, run through `lessons-hook` as the client runs it.

`recorded/AGENT-VERSION.jsonl` has one event of each kind, with the paths of a project that the
tests replace by their own.
"""

import json
import pathlib

import pytest

RECORDED = pathlib.Path(__file__).parent / "recorded"
RECORDED_PROJECT = "/home/user/project"
TITLES = "[LESSON_TITLES]"
ITEM = "Reject every chat id"
PROMPT = "Add a telegram command that restarts the service"


class Recorded:
    """The events that one version of an agent sent."""

    def __init__(self, name, project, enter):
        self.agent, _, self.version = name.rpartition("-")
        self.enter = enter
        text = (RECORDED / f"{name}.jsonl").read_text("utf-8")
        text = text.replace(RECORDED_PROJECT, str(project))
        self.events = [json.loads(line) for line in text.splitlines()]

    def find(self, name, tool=""):
        """Return the recorded event of a kind, of a call of ``tool`` if it is named."""
        for event in self.events:
            if name in event.values() and tool in (event.get("tool_name", ""), ""):
                return event
        raise LookupError(f"{name} {tool} was not recorded")

    def send(self, name, tool="", **changed):
        """Send an event with some of its values changed; return what is answered, as text."""
        answer, _log = self.enter(self.agent, self.find(name, tool) | changed)
        return json.dumps(answer, ensure_ascii=False) if answer else ""


@pytest.fixture
def recorded(project, enter):
    return lambda name: Recorded(name, project, enter)


@pytest.mark.parametrize(("fork", "has_titles"), [("none", True), ("all", False), (None, False)])
def test_a_subagent_of_codex_gets_the_lessons_of_its_own_task(fork, has_titles, recorded):
    codex = recorded("codex-0.171.0")
    spawn = codex.find("PreToolUse", "collaborationspawn_agent")
    task = {**spawn["tool_input"], "message": PROMPT, "fork_turns": fork}
    if fork is None:
        del task["fork_turns"]
    assert codex.send("PreToolUse", "collaborationspawn_agent", tool_input=task) == ""
    given = codex.send("SubagentStart")
    assert ITEM in given
    assert (TITLES in given) is has_titles
    assert codex.send("SubagentStart") == "", "reported twice"


def test_a_nested_call_of_codex_in_code_mode_is_refused_like_any_other(recorded, project):
    card = project / "lessons" / "drop-column.md"
    card.write_text(card.read_text().replace("gate: ask", "gate: once"))
    codex = recorded("codex-0.171.0")
    patch = codex.find("PreToolUse", "apply_patch")
    assert patch["tool_use_id"].startswith("exec-")
    text = patch["tool_input"]["command"].replace("bot/handler.py", "migrations/1.sql")
    changed = {"tool_input": {"command": text}}
    assert '"deny"' in codex.send("PreToolUse", "apply_patch", **changed)
    again = codex.send("PreToolUse", "apply_patch", **changed, tool_use_id="exec-2")
    assert '"deny"' not in again

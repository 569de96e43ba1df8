"""Subagents: each is a context of its own, within the user's session."""

import pathlib

import pytest

from lessons_kb import Brain
from tests.kit import state_dir

PROMPT = "Add a telegram command that restarts the service"
ITEM = "Reject every chat id"
AGENT = "a9b9a8eeeffd6322b"


@pytest.fixture(autouse=True)
def _begin(claude):
    claude.prompt("go on")


def ask_for(claude, prompt, number, kind="general-purpose", **fields):
    asked = {"description": "d", "prompt": prompt, "subagent_type": kind}
    return claude.call("Pre", "Agent", asked, number, **fields)


def begin(claude, agent=AGENT, kind="general-purpose"):
    return claude.say("SubagentStart", agent_id=agent, agent_type=kind)


def edit(claude, number, when="Pre", **fields):
    done = {"tool_response": {"filePath": "bot/run.py"}} if when == "Post" else {}
    return claude.edit("bot/run.py", number, when, old=f"{number}", **done, **fields)


def test_a_subagent_gets_what_its_own_prompt_draws(claude):
    assert ask_for(claude, PROMPT, 1) == {}
    assert claude.say("SubagentStart", agent_type="general-purpose") == {}, "it has no name"
    assert ITEM in begin(claude).context
    assert begin(claude) == {}
    ask_for(claude, PROMPT, 2, agent_id=AGENT)
    assert ITEM in begin(claude, "inner").context, "asked by the subagent"
    assert ITEM in claude.prompt(PROMPT, 2).context, "the session itself was not given it"


def test_prompts_are_told_apart_by_kind_and_order_and_those_declined_are_gone(claude):
    ask_for(claude, PROMPT, 0)
    claude.prompt("no, do something else", 2)
    ask_for(claude, "rename the variable", 1)
    ask_for(claude, PROMPT, 2, kind="Explore")
    ask_for(claude, PROMPT, 3)
    started = [("b1", "general-purpose"), ("b2", "Explore"), ("b3", "general-purpose")]
    given = [begin(claude, *one).context for one in started]
    assert [ITEM in text for text in given] == [False, True, True]


def test_a_card_of_a_subagent_s_file_is_not_used_up(claude):
    assert ITEM in edit(claude, 1, agent_id=AGENT).context
    assert ITEM not in edit(claude, 2, agent_id=AGENT).context
    said = edit(claude, 3)
    assert ITEM in said.context
    assert not said.asked
    assert ITEM not in edit(claude, 4).context


def test_the_turn_is_checked_against_its_own_lessons(claude):
    ask_for(claude, PROMPT, 1)
    assert ITEM in begin(claude).context
    edit(claude, 5, "Post", agent_id="other")
    assert claude.stop("I changed the handler.") == {}


def test_the_end_of_a_task_in_the_background_is_no_prompt(claude, project):
    claude.prompt(PROMPT, 2)
    note = "<task-notification>\n<task-id>a9</task-id>\ntelegram</task-notification>"
    assert claude.prompt(note, 2) == {}
    edit(claude, 6, "Post")
    assert ITEM in claude.stop("I changed the handler. I left the tests for a follow-up.").line
    with Brain.discover(project) as brain:
        assert len(brain.journal.events(session="s1", kinds=["prompt"])) == 2


def test_codex_tells_what_a_subagent_is_asked(claude, project):
    claude.agent, claude.session = "codex", "c1"
    assert ITEM in claude.prompt(PROMPT, 1).context
    assert ITEM in claude.prompt(PROMPT, 2, agent_id=AGENT, agent_type="default").context
    assert claude.prompt(PROMPT, 3) == {}, "the session has it still"
    with Brain.discover(project) as brain:
        prompts = brain.journal.events(session="c1", kinds=["prompt"])
        assert [event.id for event in prompts] == ["p1", "p3"]


def test_no_secret_of_what_a_subagent_is_asked_is_kept(claude, project):
    ask_for(claude, f"{PROMPT}, password=hunter2hunter2", 1)
    kept = [path.read_bytes() for path in pathlib.Path(state_dir(str(project))).glob("journal.db*")]
    assert kept
    assert not any(b"hunter2" in data for data in kept)

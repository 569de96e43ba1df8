"""Subagents: each is a context of its own, within the user's session."""

from __future__ import annotations

import pathlib
from collections.abc import Callable
from typing import Any

import pytest

from lessons_kb import Brain
from lessons_kb.store.user_state import state_dir

PROMPT = "Add a telegram command that restarts the service"
ITEM = "Reject every chat id"
AGENT = "a9b9a8eeeffd6322b"

Say = Callable[..., Any]


@pytest.fixture
def say(project: pathlib.Path, fire: Any) -> Say:
    def say(name: str, agent: str = "claude-code", **fields: Any) -> Any:
        common = {"session_id": "s1", "cwd": str(project), "hook_event_name": name}
        return fire(agent, common | fields)

    return say


def context(output: Any) -> str:
    return str(output.get("hookSpecificOutput", {}).get("additionalContext", ""))


def ask_for(
    say: Say, prompt: str, number: int, kind: str = "general-purpose", within: str = ""
) -> Any:
    asked = {"description": "d", "prompt": prompt, "subagent_type": kind}
    call = {"tool_name": "Agent", "tool_input": asked, "tool_use_id": f"toolu_{number}"}
    return say("PreToolUse", **call, **({"agent_id": within} if within else {}))


def edit(say: Say, name: str, number: int, **fields: Any) -> Any:
    change = {"file_path": "bot/run.py", "old_string": f"{number}", "new_string": "b"}
    call = {"tool_name": "Edit", "tool_input": change, "tool_use_id": f"edit_{number}"}
    done = {"tool_response": {"filePath": "bot/run.py"}} if name == "PostToolUse" else {}
    return say(name, **call, **done, **fields)


def test_a_subagent_gets_what_its_own_prompt_draws(say: Say) -> None:
    say("UserPromptSubmit", prompt="go on", prompt_id="p1")
    assert ask_for(say, PROMPT, 1) == {}
    begun = say("SubagentStart", agent_id=AGENT, agent_type="general-purpose")
    assert ITEM in context(begun)
    assert say("SubagentStart", agent_id=AGENT, agent_type="general-purpose") == {}
    drawn = say("UserPromptSubmit", prompt=PROMPT, prompt_id="p2")
    assert ITEM in context(drawn), "the session itself was not given it"


def test_prompts_are_told_apart_by_kind_and_order(say: Say) -> None:
    say("UserPromptSubmit", prompt="go on", prompt_id="p1")
    ask_for(say, "rename the variable", 1)
    ask_for(say, PROMPT, 2, kind="Explore")
    ask_for(say, PROMPT, 3)
    started = [("b1", "general-purpose"), ("b2", "Explore"), ("b3", "general-purpose")]
    given = [context(say("SubagentStart", agent_id=i, agent_type=k)) for i, k in started]
    assert [ITEM in text for text in given] == [False, True, True]


def test_a_card_of_a_subagent_s_file_is_not_used_up(say: Say) -> None:
    say("UserPromptSubmit", prompt="go on", prompt_id="p1")
    assert ITEM in context(edit(say, "PreToolUse", 1, agent_id=AGENT))
    assert ITEM not in context(edit(say, "PreToolUse", 2, agent_id=AGENT))
    assert ITEM in context(edit(say, "PreToolUse", 3))
    assert ITEM not in context(edit(say, "PreToolUse", 4))


def test_the_turn_is_checked_against_its_own_lessons(say: Say) -> None:
    say("UserPromptSubmit", prompt="go on", prompt_id="p1")
    ask_for(say, PROMPT, 1)
    assert ITEM in context(say("SubagentStart", agent_id=AGENT, agent_type="general-purpose"))
    edit(say, "PostToolUse", 5, agent_id="other")
    assert say("Stop", last_assistant_message="I changed the handler.") == {}


def test_the_end_of_a_task_in_the_background_is_no_prompt(say: Say, project: pathlib.Path) -> None:
    say("UserPromptSubmit", prompt=PROMPT, prompt_id="p1")
    note = "<task-notification>\n<task-id>a9</task-id>\ntelegram</task-notification>"
    assert say("UserPromptSubmit", prompt=note, prompt_id="p1") == {}
    edit(say, "PostToolUse", 6)
    said = say("Stop", last_assistant_message="I changed the handler.")
    assert "Reject every chat id" in said["systemMessage"]
    with Brain.discover(project) as brain:
        assert len(brain.journal.events(session="s1", kinds=["prompt"])) == 1


def test_codex_tells_what_a_subagent_is_asked(say: Say, project: pathlib.Path) -> None:
    def ask(prompt: str, turn: str, **more: Any) -> Any:
        return say("UserPromptSubmit", "codex", prompt=prompt, turn_id=turn, **more)

    assert ITEM in context(ask(PROMPT, "t1"))
    assert ITEM in context(ask(PROMPT, "t2", agent_id=AGENT, agent_type="default"))
    assert ask(PROMPT, "t3") == {}, "the session has it still"
    with Brain.discover(project) as brain:
        prompts = brain.journal.events(session="s1", kinds=["prompt"])
        assert [event.id for event in prompts] == ["t1", "t3"]


def test_a_start_without_a_name_is_no_prompt_of_the_user(say: Say) -> None:
    say("UserPromptSubmit", prompt="go on", prompt_id="p1")
    ask_for(say, PROMPT, 1)
    assert say("SubagentStart", agent_type="general-purpose") == {}


def test_no_secret_of_what_a_subagent_is_asked_is_kept(say: Say, project: pathlib.Path) -> None:
    say("UserPromptSubmit", prompt="go on", prompt_id="p1")
    ask_for(say, f"{PROMPT}, password=hunter2hunter2", 1)
    kept = [path.read_bytes() for path in pathlib.Path(state_dir(str(project))).glob("journal.db*")]
    assert kept
    assert not any(b"hunter2" in data for data in kept)


def test_what_the_user_declined_is_not_asked_of_the_next_subagent(say: Say) -> None:
    say("UserPromptSubmit", prompt="go on", prompt_id="p1")
    ask_for(say, PROMPT, 1)
    say("UserPromptSubmit", prompt="no, do something else", prompt_id="p2")
    ask_for(say, "rename the variable", 2)
    begun = say("SubagentStart", agent_id=AGENT, agent_type="general-purpose")
    assert ITEM not in context(begun)


def test_a_subagent_of_a_subagent_gets_what_it_is_asked(say: Say) -> None:
    say("UserPromptSubmit", prompt="go on", prompt_id="p1")
    ask_for(say, "delegate the rest", 1)
    begun = say("SubagentStart", agent_id=AGENT, agent_type="general-purpose")
    assert ITEM not in context(begun)
    ask_for(say, PROMPT, 2, within=AGENT)
    assert ITEM in context(say("SubagentStart", agent_id="inner", agent_type="general-purpose"))

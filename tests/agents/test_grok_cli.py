"""Grok CLI, by payloads that version 1.0.41 sent."""

import json

import pytest

COMMON = {
    "sessionId": "01a21498-3e2e-7953-a8a4-e10c42ffc8cd",
    "session_id": "01a21498-3e2e-7953-a8a4-e10c42ffc8cd",
    "timestamp": "2026-11-25T21:24:11.687746130+00:00",
    "permissionMode": "bypassPermissions",
    "permission_mode": "bypassPermissions",
}
PROMPT = "Add a telegram command that restarts the service"
NAMES = {
    "UserPromptSubmit": "user_prompt_submit", "PreToolUse": "pre_tool_use",
    "PostToolUse": "post_tool_use", "Stop": "stop",
}  # fmt: skip


@pytest.fixture
def say(project, fire):
    """Fire an event as Grok CLI does, for the hooks of an agent, and return the context."""

    def say(name, agent="grok-cli", **fields):
        event = COMMON | {"hook_event_name": name, "hookEventName": NAMES[name], **fields}
        answer = fire(agent, event | {"cwd": str(project), "workspaceRoot": f"{project}/"})
        return answer.get("hookSpecificOutput", {}).get("additionalContext", "") or json.dumps(
            answer
        )

    return say


def call(name, number, **arguments):
    return {"tool_name": name, "tool_input": arguments, "tool_use_id": f"toolu_{number}"}


def test_a_lesson_waits_for_the_result_of_a_call(say):
    assert say("UserPromptSubmit", prompt=PROMPT, promptId="p1") == "{}"
    read = call("read_file", 1, target_file="README.md")
    content = {"content": "1→Hello\n", "raw_output": "Hello\n"}
    result = {"type": "ReadFile", "FileContent": content}
    assert "Reject every chat id" in say("PostToolUse", **read, tool_response=result)


def test_a_command_that_fails_counts_and_so_does_an_edit(say):
    answers = []
    for number in range(3):
        run = call("run_terminal_command", number, command=f"alembic upgrade {number}")
        text = "exit: 1\nno such column\n"
        result = {"type": "Bash", "output": [110, 111], "output_for_prompt": text, "exit_code": 1}
        answers.append(say("PostToolUse", **run, tool_response=result))
    assert "different approach" in answers[-1], answers
    edit = call("search_replace", 9, file_path="a.md", old_string="x", new_string="y")
    result = {"type": "SearchReplace", "FileNotFound": "Error: /w/a.md does not exist."}
    assert say("PostToolUse", **edit, tool_response=result) == "{}"


def test_before_a_change_it_asks_where_a_gate_says_so(project, fire):
    change = call("search_replace", 1, file_path="migrations/1.sql", old_string="a", new_string="b")
    event = COMMON | change | {"hook_event_name": "PreToolUse", "workspaceRoot": f"{project}/"}
    asked = fire("grok-cli", event | {"cwd": str(project), "permission_mode": "default"})
    assert asked["hookSpecificOutput"]["permissionDecision"] == "ask"


@pytest.mark.parametrize("agent", ["claude-code", "cursor", "grok-cli"])
def test_the_hooks_of_others_know_it_and_say_nothing_twice(say, agent):
    say("UserPromptSubmit", agent, prompt=PROMPT, promptId="p1")
    read = call("read_file", 1, target_file="README.md") | {"tool_response": {"type": "ReadFile"}}
    assert "Reject every chat id" in say("PostToolUse", agent, **read)
    assert say("PostToolUse", **read) == "{}"


def test_only_the_stop_of_a_turn_is_one(say):
    stop = {"lastAssistantMessage": "Done.", "stopHookActive": False}
    assert say("Stop", reason="end_turn", **stop) == say("Stop", reason="shutdown") == "{}"

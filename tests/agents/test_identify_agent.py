"""Several agents run hooks that were set up for another one: nothing is said or counted twice."""

import pytest

from lessons_kb.agents.capabilities import find_host

PROMPT = "Add a telegram command that restarts the service"
AT = "2026-08-21T12:00:00.000Z"

SENT = [
    ("claude-code", {"hook_event_name": "Stop", "session_id": "s"}, {}, "claude-code"),
    ("claude-code", {"hook_event_name": "Stop", "session_id": "s", "turn_id": "t"}, {}, "codex"),
    ("claude-code", {"hookEventName": "Stop", "sessionId": "s", "timestamp": AT}, {}, "vscode"),
    (
        "claude-code",
        {"hook_event_name": "Stop", "session_id": "s", "timestamp": AT, "transcript_path": "/t"},
        {},
        "vscode",
    ),
    (
        "claude-code",
        {"hook_event_name": "PostToolUse", "session_id": "s", "timestamp": AT},
        {},
        "copilot-cli",
    ),
    (
        "claude-code",
        {"hook_event_name": "Stop", "timestamp": AT, "transcript_path": "/t", "stop_reason": "x"},
        {},
        "copilot-cli",
    ),
    ("claude-code", {"hook_event_name": "PostToolUse", "cursor_version": "3.7"}, {}, "cursor"),
    ("claude-code", {"hook_event_name": "BeforeAgent", "session_id": "s"}, {}, "gemini-cli"),
    (
        "claude-code",
        {"hook_event_name": "Stop", "session_id": "s"},
        {"CURSOR_VERSION": "3.7", "GEMINI_SESSION_ID": "inherited"},
        "claude-code",
    ),
    ("vscode", {"hook_event_name": "Stop", "session_id": "s", "timestamp": AT}, {}, "vscode"),
    ("copilot-cli", {"hook_event_name": "Stop", "session_id": "s"}, {}, "copilot-cli"),
    (
        "vscode",
        {"hook_event_name": "UserPromptSubmit", "session_id": "s", "timestamp": AT},
        {"COPILOT_HOOK_DIR": "/home/u/.copilot/hooks"},
        "copilot-cli",
    ),
    (
        "vscode",
        {"hookEventName": "Stop", "sessionId": "s", "timestamp": AT},
        {"COPILOT_HOOK_DIR": "/home/u/.copilot/hooks"},
        "vscode",
    ),
    ("gemini-cli", {"hook_event_name": "AfterTool", "timestamp": AT}, {}, "gemini-cli"),
    ("opencode", {"event": "stop"}, {}, "opencode"),
]


@pytest.mark.parametrize(("agent", "payload", "environment", "host"), SENT)
def test_the_host_is_known_by_what_it_sends(agent, payload, environment, host):
    assert find_host(agent, payload, environment) == host


def test_two_installs_under_one_host_say_it_once(project, fire):
    common = {"sessionId": "s", "cwd": str(project), "timestamp": AT}
    prompt = common | {"hookEventName": "UserPromptSubmit", "prompt": PROMPT}
    fire("vscode", prompt)
    assert fire("claude-code", prompt) == {}
    texts = []
    for number in range(1, 4):
        failed = common | {
            "hookEventName": "PostToolUse",
            "tool_name": "run_in_terminal",
            "tool_input": {"command": f"make {number}"},
            "tool_use_id": f"t{number}",
            "tool_response": "Command exited with code 1",
        }
        for agent in ("claude-code", "vscode"):
            said = fire(agent, failed).get("hookSpecificOutput", {})
            texts.append(said.get("additionalContext", ""))
    assert sum("[ACTIVE LESSONS" in text for text in texts) == 1
    assert sum("calls in a row failed" in text for text in texts) == 1
    assert "(exec_error, exec_error, exec_error)" in texts[4]


def test_calls_without_ids_are_told_apart_by_time(project, fire):
    def failed(second):
        return {
            "hook_event_name": "AfterTool",
            "session_id": "g",
            "cwd": str(project),
            "timestamp": f"2026-11-21T21:17:{second:02d}.366Z",
            "tool_name": "run_shell_command",
            "tool_input": {"command": "make"},
            "tool_response": {"llmContent": "Output: (empty)\nExit Code: 2\n"},
        }

    said = [fire("gemini-cli", failed(second)) for second in (1, 1, 1, 2, 2, 3)]
    assert said[:5] == [{}] * 5
    assert "made 3 times in a row" in said[5]["hookSpecificOutput"]["additionalContext"]


def test_context_put_before_a_prompt_by_hooks_is_no_query(project, fire):
    context = f"<hook_context>{PROMPT}</hook_context>\n\n"
    event = {"hook_event_name": "BeforeAgent", "session_id": "g", "cwd": str(project)}
    assert fire("gemini-cli", event | {"prompt": context + "rename this variable"}) == {}
    said = fire("gemini-cli", event | {"prompt": context + PROMPT})
    assert "[ACTIVE LESSONS" in said["hookSpecificOutput"]["additionalContext"]

"""Several agents run hooks that were set up for another one: nothing is said or counted twice."""

import pytest

from lessons_kb.agents.capabilities import find_host

PROMPT = "Add a telegram command that restarts the service"
AT = "2026-08-21T12:00:00.000Z"

STOP = {"hook_event_name": "Stop", "session_id": "s"}
USED = {"hook_event_name": "PostToolUse"}
INHERITED = {"CURSOR_VERSION": "3.7", "GEMINI_SESSION_ID": "inherited"}
COPILOT = {"COPILOT_HOOK_DIR": "/home/u/.copilot/hooks"}
VSCODE = {"hookEventName": "Stop", "sessionId": "s", "timestamp": AT}
SENT = [
    ("claude-code", STOP, {}, "claude-code"),
    ("claude-code", {**STOP, "turn_id": "t"}, {}, "codex"),
    ("claude-code", VSCODE, {}, "vscode"),
    ("claude-code", {**STOP, "timestamp": AT, "transcript_path": "/t"}, {}, "vscode"),
    ("claude-code", {**USED, "session_id": "s", "timestamp": AT}, {}, "copilot-cli"),
    ("claude-code", {**STOP, "timestamp": AT, "transcript_path": "/t", "stop_reason": "x"}, {},
     "copilot-cli"),
    ("claude-code", {**USED, "cursor_version": "3.7"}, {}, "cursor"),
    ("claude-code", {"hook_event_name": "BeforeAgent", "session_id": "s"}, {}, "gemini-cli"),
    ("claude-code", STOP, INHERITED, "claude-code"),
    ("vscode", {**STOP, "timestamp": AT}, {}, "vscode"),
    ("copilot-cli", STOP, {}, "copilot-cli"),
    ("vscode", {**STOP, "hook_event_name": "UserPromptSubmit", "timestamp": AT}, COPILOT,
     "copilot-cli"),
    ("vscode", VSCODE, COPILOT, "vscode"),
    ("gemini-cli", {"hook_event_name": "AfterTool", "timestamp": AT}, {}, "gemini-cli"),
    ("opencode", {"event": "stop"}, {}, "opencode"),
]  # fmt: skip


@pytest.mark.parametrize(("agent", "payload", "environment", "host"), SENT)
def test_the_host_is_known_by_what_it_sends(agent, payload, environment, host):
    assert find_host(agent, payload, environment) == host


def test_two_installs_under_one_host_say_it_once(session, fire):
    vscode = session("vscode")
    asked = vscode.event("UserPromptSubmit", prompt=PROMPT)
    fire("vscode", asked)
    assert fire("claude-code", asked) == {}
    texts = []
    for number in range(1, 4):
        call = {"tool_name": "run_in_terminal", "tool_input": {"command": f"make {number}"}}
        told = {"tool_use_id": f"t{number}", "tool_response": "Command exited with code 1"}
        failed = vscode.event("PostToolUse", **call, **told)
        texts += [fire(agent, failed).context for agent in ("claude-code", "vscode")]
    assert sum("[ACTIVE LESSONS" in text for text in texts) == 1
    assert sum("calls in a row failed" in text for text in texts) == 1
    assert "(exec_error, exec_error, exec_error)" in texts[4]


def test_calls_without_ids_are_told_apart_by_time(session):
    def failed(second):
        told = {"llmContent": "Output: (empty)\nExit Code: 2\n"}
        at = {"timestamp": f"2026-11-21T21:17:{second:02d}.366Z"}
        return gemini.call(
            "Post", "run_shell_command", {"command": "make"}, tool_response=told, **at
        )

    gemini = session("gemini-cli")
    said = [failed(second) for second in (1, 1, 1, 2, 2, 3)]
    assert said[:5] == [{}] * 5
    assert "made 3 times in a row" in said[5].context


def test_context_put_before_a_prompt_by_hooks_is_no_query(session):
    gemini, context = session("gemini-cli"), f"<hook_context>{PROMPT}</hook_context>\n\n"
    gemini.say("SessionStart", source="resume")
    assert "[ACTIVE LESSONS" not in gemini.prompt(context + "rename this variable").context
    assert "[ACTIVE LESSONS" in gemini.prompt(context + PROMPT).context

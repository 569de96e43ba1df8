"""Several agents run hooks that were set up for another one: nothing is said or counted twice."""

import pytest

from lessons_kb.agents.table import find_host

PROMPT = "Add a telegram command that restarts the service"
AT = "2026-08-21T12:00:00.000Z"

STOP = {"hook_event_name": "Stop", "session_id": "s"}
TIMED = {**STOP, "timestamp": AT}
CAMEL = {"hookEventName": "Stop", "sessionId": "s", "timestamp": AT}
RECORDED = {**TIMED, "transcript_path": "/t"}
OF_COPILOT = {"COPILOT_HOOK_DIR": "/home/u/.copilot/hooks"}
INHERITED = {"CURSOR_VERSION": "3.7", "GEMINI_SESSION_ID": "inherited"}


@pytest.mark.parametrize(
    ("agent", "payload", "environment", "host"),
    [
        ("claude-code", STOP, {}, "claude-code"),
        ("claude-code", STOP, INHERITED, "claude-code"),
        ("claude-code", {**STOP, "turn_id": "t"}, {}, "codex"),
        ("claude-code", CAMEL, {}, "vscode"),
        ("claude-code", RECORDED, {}, "vscode"),
        ("claude-code", TIMED, {}, "copilot-cli"),
        ("claude-code", {**RECORDED, "stop_reason": "x"}, {}, "copilot-cli"),
        ("claude-code", {**STOP, "cursor_version": "3.7"}, {}, "cursor"),
        ("claude-code", {**STOP, "hook_event_name": "BeforeAgent"}, {}, "gemini-cli"),
        ("vscode", TIMED, {}, "vscode"),
        ("vscode", TIMED, OF_COPILOT, "copilot-cli"),
        ("vscode", CAMEL, OF_COPILOT, "vscode"),
        ("copilot-cli", STOP, {}, "copilot-cli"),
        ("gemini-cli", {"hook_event_name": "AfterTool", "timestamp": AT}, {}, "gemini-cli"),
        ("opencode", {"event": "stop"}, {}, "opencode"),
    ],
)
def test_the_host_is_identified_by_its_payload(agent, payload, environment, host):
    assert find_host(agent, payload, environment) == host


def test_two_installations_in_one_host_answer_once(session, fire):
    vscode = session("vscode")

    def twice(name, **fields):
        event = vscode.event(name, **fields)
        return [fire(agent, event) for agent in ("claude-code", "vscode")]

    assert twice("UserPromptSubmit", prompt=PROMPT)[1] == {}
    texts = []
    for number in range(1, 4):
        call = {"tool_name": "run_in_terminal", "tool_input": {"command": f"make {number}"}}
        call["tool_response"] = "Command exited with code 1"
        texts += [one.context for one in twice("PostToolUse", tool_use_id=f"t{number}", **call)]
    assert sum("[ACTIVE LESSONS" in text for text in texts) == 1
    assert sum("calls in a row failed" in text for text in texts) == 1
    assert "(exec_error, exec_error, exec_error)" in texts[4]


@pytest.mark.parametrize("source", ["system", "poll_event"])
def test_a_prompt_that_no_user_wrote_gets_no_lesson(claude, source):
    assert claude.prompt(PROMPT, source=source) == {}
    assert "[ACTIVE LESSONS" in claude.prompt(PROMPT, 2, source="user").context


SHELL = ("run_shell_command", {"command": "make"})
FAILED = {"llmContent": "Output: (empty)\nExit Code: 2\n"}


def test_calls_of_gemini_have_no_ids_and_are_distinguished_by_time(session):
    gemini, said = session("gemini-cli"), []
    for second in (1, 1, 1, 2, 2, 3):
        gemini.seconds = second
        said.append(gemini.call("Post", *SHELL, tool_response=FAILED))
    assert said[:5] == [{}] * 5
    assert "made 3 times in a row" in said[5].context


def test_context_that_hooks_put_before_a_prompt_of_gemini_is_no_query(session):
    gemini, context = session("gemini-cli"), f"<hook_context>{PROMPT}</hook_context>\n\n"
    gemini.say("SessionStart", source="resume")
    assert gemini.prompt(context + "rename this variable") == {}
    assert "[ACTIVE LESSONS" in gemini.prompt(context + PROMPT).context


def test_guidance_on_a_failed_call_of_gemini_comes_with_the_next_result(session):
    """Of a result with an error the model is given the error alone."""
    gemini = session("gemini-cli")
    gemini.prompt("go on")
    lost = {"llmContent": "File not found", "error": {"message": "File not found"}}
    names = [{"file_path": name} for name in ("a.py", "b.py", "c.py")]
    said = [gemini.call("Post", "read_file", one, tool_response=lost) for one in names]
    assert "recovery guidance" in said[2].line
    listed = {"llmContent": "Output: a.py"}
    said += [gemini.call("Post", *SHELL, tool_response=listed) for _ in range(2)]
    told = ["3 tool calls in a row failed" in one.context for one in said]
    assert told == [False, False, False, True, False], "with the error the client would drop it"

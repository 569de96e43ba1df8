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
        texts += [fire(agent, failed).context for agent in ("claude-code", "vscode")]
    assert sum("[ACTIVE LESSONS" in text for text in texts) == 1
    assert sum("calls in a row failed" in text for text in texts) == 1
    assert "(exec_error, exec_error, exec_error)" in texts[4]


@pytest.mark.parametrize("source", ["system", "poll_event"])
def test_a_prompt_that_nobody_wrote_draws_nothing(claude, source):
    assert claude.prompt(PROMPT, source=source) == {}
    assert "[ACTIVE LESSONS" in claude.prompt(PROMPT, 2, source="user").context


class TestGemini:
    @pytest.fixture
    def happen(self, project, fire):
        common = {"session_id": "g", "cwd": str(project)}
        seconds = iter(range(60))

        def happen(name, second=None, **fields):
            number = next(seconds) if second is None else second
            at = f"2026-11-21T21:17:{number:02d}.366Z"
            return fire(
                "gemini-cli", {**common, "hook_event_name": name, "timestamp": at, **fields}
            )

        return happen

    def test_calls_without_ids_are_told_apart_by_time(self, happen):
        failed = {
            "tool_name": "run_shell_command",
            "tool_input": {"command": "make"},
            "tool_response": {"llmContent": "Output: (empty)\nExit Code: 2\n"},
        }
        said = [happen("AfterTool", second, **failed) for second in (1, 1, 1, 2, 2, 3)]
        assert said[:5] == [{}] * 5
        assert "made 3 times in a row" in said[5].context

    def test_context_put_before_a_prompt_by_hooks_is_no_query(self, happen):
        context = f"<hook_context>{PROMPT}</hook_context>\n\n"
        happen("SessionStart", source="resume")
        assert happen("BeforeAgent", prompt=context + "rename this variable") == {}
        assert "[ACTIVE LESSONS" in happen("BeforeAgent", prompt=context + PROMPT).context

    def test_guidance_on_a_failed_call_comes_with_the_next_result(self, happen):
        """Of a result with an error the model is given the error alone."""
        lost = {"llmContent": "File not found", "error": {"message": "File not found"}}
        listed = {"tool_name": "run_shell_command", "tool_input": {"command": "ls"}}
        listed["tool_response"] = {"llmContent": "Output: a.py"}
        happen("BeforeAgent", prompt="go on")
        said = [
            happen(
                "AfterTool", tool_name="read_file", tool_input={"file_path": f}, tool_response=lost
            )
            for f in ("a.py", "b.py", "c.py")
        ]
        assert said[:2] == [{}, {}]
        assert "recovery guidance" in said[2].line
        contexts = [said[2].context, *(happen("AfterTool", **listed).context for _ in range(2))]
        told = ["3 tool calls in a row failed" in text for text in contexts]
        assert told == [False, True, False], "with the error the client would drop it"

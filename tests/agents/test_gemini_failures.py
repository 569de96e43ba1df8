"""Of a result with an error Gemini CLI gives its model the error alone: guidance comes later."""

import json

GUIDED = "3 tool calls in a row failed"


def test_guidance_on_a_failed_call_comes_with_the_next_result(project, fire):
    seconds = iter(range(60))

    def happen(name, **fields):
        event = {
            "session_id": "g1", "transcript_path": "", "cwd": str(project),
            "hook_event_name": name, "timestamp": f"2026-11-22T10:00:{next(seconds):02d}.100Z",
        }  # fmt: skip
        return fire("gemini-cli", event | fields)

    def fail(number):
        failed = {"llmContent": "File not found", "error": {"message": "File not found"}}
        asked = {"file_path": f"nothing{number}.py"}
        return happen("AfterTool", tool_name="read_file", tool_input=asked, tool_response=failed)

    def succeed():
        asked = {"tool_name": "run_shell_command", "tool_input": {"command": "ls"}}
        return happen("AfterTool", **asked, tool_response={"llmContent": "Output: a.py"})

    happen("BeforeAgent", prompt="go on")
    assert (fail(1), fail(2)) == ({}, {})
    failed = fail(3)
    assert "recovery guidance" in failed["systemMessage"]
    assert GUIDED not in json.dumps(failed), "the client would drop it"
    assert GUIDED in json.dumps(succeed())
    assert GUIDED not in json.dumps(succeed())

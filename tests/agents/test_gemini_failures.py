"""Of a result with an error Gemini CLI gives its model the error alone: guidance comes later."""

import json

GUIDED = "3 tool calls in a row failed"


def test_guidance_on_a_failed_call_comes_with_the_next_result(session):
    gemini = session("gemini-cli")

    def fail(number):
        failed = {"llmContent": "File not found", "error": {"message": "File not found"}}
        asked = {"file_path": f"nothing{number}.py"}
        return gemini.call("Post", "read_file", asked, tool_response=failed)

    def succeed():
        done = {"llmContent": "Output: a.py"}
        return gemini.call("Post", "run_shell_command", {"command": "ls"}, tool_response=done)

    gemini.prompt("go on")
    assert (fail(1), fail(2)) == ({}, {})
    failed = fail(3)
    assert "recovery guidance" in failed["systemMessage"]
    assert GUIDED not in json.dumps(failed), "the client would drop it"
    assert GUIDED in json.dumps(succeed())
    assert GUIDED not in json.dumps(succeed())

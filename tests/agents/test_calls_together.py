"""Calls of one message fail once, also where no payload names the message."""

from __future__ import annotations

import json
import pathlib
from typing import Any

import pytest

GUIDED = "3 tool calls in a row failed"


class Gemini:
    """Hooks of ours stand before commands and changes, and behind every call."""

    agent = "gemini-cli"

    def __init__(self, project: pathlib.Path) -> None:
        self._chat = project.parent / "session-1.jsonl"
        self._project = project
        self._seconds = 0

    def event(self, name: str, **fields: Any) -> dict[str, Any]:
        self._seconds += 1
        return {
            "session_id": "g1", "transcript_path": str(self._chat), "cwd": str(self._project),
            "hook_event_name": name, "timestamp": f"2026-11-22T10:00:{self._seconds:02d}.100Z",
            **fields,
        }  # fmt: skip

    def prompt(self) -> dict[str, Any]:
        return self.event("BeforeAgent", prompt="go on")

    def begun(self, number: int) -> dict[str, Any]:
        return self.event("BeforeTool", **self._command(number))

    def failed(self, number: int) -> dict[str, Any]:
        printed = {"llmContent": "<untrusted_context>\nOutput: no such file\nExit Code: 1\n"}
        return self.event("AfterTool", **self._command(number), tool_response=printed)

    def wrote(self, message: str) -> None:
        """Let the model end a message, as the record of the chat has it before its calls run."""
        with self._chat.open("a") as file:
            for line in ({"id": message, "type": "gemini", "content": ""}, {"$set": {"x": "y"}}):
                file.write(json.dumps(line) + "\n")

    def not_read(self, number: int) -> dict[str, Any]:
        failed = {"llmContent": "File not found", "error": {"message": "File not found"}}
        asked = {"file_path": f"nothing{number}.py"}
        return self.event(
            "AfterTool", tool_name="read_file", tool_input=asked, tool_response=failed
        )

    def listed(self) -> dict[str, Any]:
        asked = {"tool_name": "run_shell_command", "tool_input": {"command": "ls"}}
        return self.event("AfterTool", **asked, tool_response={"llmContent": "Output: a.py"})

    def _command(self, number: int) -> dict[str, Any]:
        asked = {"command": f"cat nothing{number}.py", "description": "look"}
        return {"tool_name": "run_shell_command", "tool_input": asked}


class Copilot:
    """Its payloads have no ids, and its record is written behind."""

    agent = "copilot-cli"

    def __init__(self, project: pathlib.Path) -> None:
        self._project = project
        self._seconds = 0

    def event(self, name: str, **fields: Any) -> dict[str, Any]:
        self._seconds += 1
        return {
            "hook_event_name": name, "session_id": "c1", "cwd": str(self._project),
            "timestamp": f"2026-11-22T10:00:{self._seconds:02d}.100Z", **fields,
        }  # fmt: skip

    def prompt(self) -> dict[str, Any]:
        return self.event("UserPromptSubmit", prompt="go on")

    def begun(self, number: int) -> dict[str, Any]:
        return self.event("PreToolUse", **self._command(number))

    def failed(self, number: int) -> dict[str, Any]:
        printed = f"no such file\n<shellId: {number} completed with exit code 1>"
        result = {"result_type": "success", "text_result_for_llm": printed}
        return self.event("PostToolUse", **self._command(number), tool_result=result)

    def _command(self, number: int) -> dict[str, Any]:
        return {"tool_name": "Bash", "tool_input": {"command": f"cat nothing{number}.py"}}


@pytest.fixture(params=[Gemini, Copilot])
def client(request: pytest.FixtureRequest, project: pathlib.Path) -> Any:
    return request.param(project)


def is_guided(output: dict[str, Any]) -> bool:
    return GUIDED in json.dumps(output)


def test_calls_that_run_side_by_side_fail_once(client, fire) -> None:
    events = [client.prompt(), *map(client.begun, (1, 2, 3)), *map(client.failed, (2, 1, 3))]
    events += [client.begun(4), client.failed(4), client.begun(5)]
    assert not any(is_guided(fire(client.agent, event)) for event in events)
    assert is_guided(fire(client.agent, client.failed(5)))


def test_calls_made_one_after_the_other_fail_each(client, fire) -> None:
    events = [client.prompt()]
    for number in (1, 2):
        events += [client.begun(number), client.failed(number)]
    events.append(client.begun(3))
    assert not any(is_guided(fire(client.agent, event)) for event in events)
    assert is_guided(fire(client.agent, client.failed(3)))


def test_the_record_names_the_message_of_calls_that_no_hook_precedes(project, fire) -> None:
    client = Gemini(project)
    fire(client.agent, client.prompt())
    client.wrote("m1")
    assert not any(is_guided(fire(client.agent, client.not_read(n))) for n in (1, 2, 3))
    client.wrote("m2")
    assert not is_guided(fire(client.agent, client.not_read(4)))
    client.wrote("m3")
    failed = fire(client.agent, client.not_read(5))
    assert "recovery guidance" in failed["systemMessage"]
    assert not is_guided(failed), "the client would drop it"
    assert is_guided(fire(client.agent, client.listed()))
    assert not is_guided(fire(client.agent, client.listed()))

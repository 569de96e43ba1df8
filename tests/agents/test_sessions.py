"""A session of each agent through the installed entry: what arrives, how often, and what never."""

import contextlib
import json
import os
import pathlib
from collections.abc import Mapping
from dataclasses import replace

import pytest

from lessons_kb.agents.capabilities import AGENTS
from lessons_kb.agents.install import Entries, Request, install, uninstall
from lessons_kb.session.state import turn_state
from lessons_kb.store.journal import open_session_journal
from tests.kit import answer_event, read_output

pytestmark = pytest.mark.slow

GOLDEN = pathlib.Path(__file__).parents[1] / "golden" / "agents"
PROMPT = "Add a telegram command that restarts the service"
ANSWER = (
    "Done: I rejected every chat id that is not on the allowlist. I left the tests for a follow-up."
)
OPEN_ITEM = "Cover the rejection with a test"
GOES_ON = ("decision", "followup_message", "reason", "updatedInput", "prompt")
"""Keys by which some agent would be made to go on, or a call be changed."""


class Script:
    """The payloads of one agent. ``None`` where it has no such event."""

    agent = ""
    variables: Mapping[str, str] = {}

    def __init__(self, project):
        self.project = project
        self.seconds = 0

    def start(self, source): ...
    def prompt(self, text, number): ...
    def edited(self, number): ...
    def failed(self, number): ...
    def stop(self): ...
    def compact(self): ...


class ClaudeCode(Script):
    agent = "claude-code"

    def event(self, name, **fields):
        record = str(self.project / "none.jsonl")
        common = {"session_id": "s1", "transcript_path": record, "cwd": str(self.project)}
        return {**common, "permission_mode": "default", "hook_event_name": name, **fields}

    def call(self, name, number, tool, arguments, **fields):
        named = {"tool_name": tool, "tool_use_id": number, "tool_input": arguments}
        return self.event(name, **named, **fields)

    def start(self, source):
        return self.event("SessionStart", source=source)

    def prompt(self, text, number):
        return self.event("UserPromptSubmit", prompt=text, prompt_id=f"p{number}")

    def edited(self, number):
        path = str(self.project / "a.py")
        change = {"file_path": path, "old_string": f"{number}", "new_string": "x"}
        done = {"tool_response": {"filePath": path}}
        return self.call("PostToolUse", f"e{number}", "Edit", change, **done)

    def failed(self, number):
        command = {"command": f"make build{number}"}
        told = {"error": "Exit code 1\nboom", "is_interrupt": False}
        return self.call("PostToolUseFailure", f"f{number}", "Bash", command, **told)

    def stop(self):
        return self.event("Stop", stop_hook_active=False, last_assistant_message=ANSWER)

    def compact(self):
        compacting = self.event("PreCompact", trigger="auto", custom_instructions=None)
        return [compacting, self.start("compact")]


class Codex(ClaudeCode):
    agent = "codex"

    def event(self, name, **fields):
        extra = {} if name == "SessionStart" else {"turn_id": fields.pop("turn", "t1")}
        return super().event(name, **fields) | {"model": "gpt-5"} | extra

    def prompt(self, text, number):
        return self.event("UserPromptSubmit", prompt=text, turn=f"t{number}")

    def edited(self, number):
        patch = f"*** Begin Patch\n*** Update File: a.py\n@@\n-{number}\n+x\n*** End Patch\n"
        done = "Exit code: 0\nWall time: 0 seconds\nOutput:\nSuccess."
        change = {"command": patch}
        return self.call("PostToolUse", f"e{number}", "apply_patch", change, tool_response=done)

    def failed(self, number):
        call = {"type": "function_call", "name": "exec_command", "call_id": f"f{number}"}
        self._roll(call | {"arguments": json.dumps({"cmd": f"make build{number}"})})
        item = {"type": "CommandExecution", "id": f"f{number}", "exit_code": 3}
        item["command"] = ["/bin/bash", "-lc", f"make build{number}"]
        self._roll({"type": "item_completed", "item": item}, "event_msg")
        command = {"command": f"make build{number}"}
        return self.call("PostToolUse", f"f{number}", "Bash", command, tool_response="")

    def _roll(self, payload, kind="response_item"):
        with (self.project / "none.jsonl").open("a") as file:
            file.write(json.dumps({"type": kind, "payload": payload}) + "\n")


class GeminiCli(Script):
    agent = "gemini-cli"

    def event(self, name, **fields):
        self.seconds += 1
        record = str(self.project / "none.jsonl")
        common = {"session_id": "s1", "transcript_path": record, "cwd": str(self.project)}
        at = f"2026-11-21T21:17:{self.seconds:02d}.366Z"
        return {**common, "hook_event_name": name, "timestamp": at, **fields}

    def call(self, tool, arguments, content, shown=""):
        named = {"tool_name": tool, "tool_input": arguments}
        response = {"llmContent": content, "returnDisplay": shown}
        return self.event("AfterTool", **named, tool_response=response)

    def start(self, source):
        return self.event("SessionStart", source=source)

    def prompt(self, text, number):
        before = "<hook_context>telegram allowlist</hook_context>\n\n" if number == 9 else ""
        return self.event("BeforeAgent", prompt=before + text)

    def edited(self, number):
        change = {"file_path": "a.py", "old_string": f"{number}", "new_string": "x"}
        return self.call("replace", change, "Successfully modified file")

    def failed(self, number):
        content = "<untrusted_context>\nOutput: (empty)\nExit Code: 3\n</untrusted_context>"
        command = {"command": f"make build{number}"}
        return self.call("run_shell_command", command, content, "Command exited with code: 3")

    def stop(self):
        return self.event("AfterAgent", prompt=PROMPT, prompt_response=ANSWER)

    def compact(self):
        left = {"type": "user", "content": [{"text": "<state_snapshot>…</state_snapshot>"}]}
        with (self.project / "none.jsonl").open("a") as file:
            file.write(json.dumps({"$set": {"messages": [left]}}, separators=(",", ":")) + "\n")
        return [self.edited(90)]


class Opencode(Script):
    agent = "opencode"

    def event(self, name, **fields):
        return {"event": name, "sessionID": "ses_1", "cwd": str(self.project), **fields}

    def call(self, name, tool, number, arguments, **fields):
        return self.event(name, tool=tool, callID=number, args=arguments, **fields)

    def start(self, _source):
        return self.event("start")

    def prompt(self, text, number):
        return self.event("prompt", messageID=f"msg_{number}", text=f'"{text}"')

    def edited(self, number):
        change = {"filePath": str(self.project / "a.py"), "oldString": f"{number}"}
        done = {"output": "Edit applied successfully.", "metadata": {"diff": "+x"}}
        return self.call("after", "edit", f"e{number}", change, **done)

    def failed(self, number):
        if number % 2:
            change = {"filePath": str(self.project / "b.py"), "oldString": f"{number}"}
            error = "Could not find oldString in the file. It must match exactly"
            return self.call("failed", "edit", f"f{number}", change, error=error)
        done = {"output": "(no output)", "metadata": {"exit": 3}}
        return self.call("after", "bash", f"f{number}", {"command": f"make build{number}"}, **done)

    def stop(self):
        return self.event("stop", text=ANSWER)

    def compact(self):
        return [self.event("compact")]


class Cursor(Script):
    agent = "cursor"

    def event(self, name, **fields):
        return {
            "conversation_id": "c1", "generation_id": "g1", "model": "m", "hook_event_name": name,
            "cursor_version": "3.7", "workspace_roots": [str(self.project)], "user_email": None,
            "transcript_path": None, **fields,
        }  # fmt: skip

    def call(self, name, number, tool, arguments, **fields):
        named = {"tool_name": tool, "tool_input": arguments, "tool_use_id": number}
        return self.event(name, **named, cwd=str(self.project), **fields)

    def start(self, _source):
        return self.event("sessionStart", session_id="c1", is_background_agent=False)

    def prompt(self, text, number):
        named = {"attachments": [], "generation_id": f"g{number}"}
        return self.event("beforeSubmitPrompt", prompt=text, **named)

    def edited(self, number):
        change = {"file_path": str(self.project / "a.py"), "contents": f"{number}"}
        done = {"tool_output": '{"ok": true}', "duration": 3}
        return self.call("postToolUse", f"e{number}", "Write", change, **done)

    def failed(self, number):
        told = {"error_message": "Command failed with exit code 1", "failure_type": "error"}
        told |= {"duration": 5, "is_interrupt": False}
        command = {"command": f"make build{number}"}
        return self.call("postToolUseFailure", f"f{number}", "Shell", command, **told)

    def stop(self):
        return self.event("afterAgentResponse", text=ANSWER)

    def compact(self):
        return [self.event("preCompact", trigger="auto", message_count=9), self.edited(90)]


class CopilotCli(Script):
    agent = "copilot-cli"

    def event(self, name, **fields):
        self.seconds += 1
        at = f"2026-08-21T12:00:{self.seconds:02d}Z"
        common = {"hook_event_name": name, "session_id": "s1", "cwd": str(self.project)}
        return {**common, "timestamp": at, **fields}

    def start(self, source):
        return self.event("SessionStart", source=source)

    def prompt(self, text, _number):
        return self.event("UserPromptSubmit", prompt=text)

    def edited(self, number):
        change = {"path": str(self.project / "a.py"), "old_str": f"{number}"}
        result = {"result_type": "success", "text_result_for_llm": "done"}
        return self.event("PostToolUse", tool_name="Edit", tool_input=change, tool_result=result)

    def failed(self, number):
        call = {"tool_input": {"command": f"make build{number}"}}
        if number % 2:
            printed = f"boom\n<shellId: {number} completed with exit code 2>"
            result = {"result_type": "success", "text_result_for_llm": printed}
            return self.event("PostToolUse", tool_name="Bash", tool_result=result, **call)
        return self.event("PostToolUseFailure", tool_name="bash", error="exit 1", **call)

    def stop(self):
        record = self.project.parent / "events.jsonl"  # what was answered stands nowhere else
        stop = self.event("Stop", stop_reason="end_turn", transcript_path=str(record))
        answer = {"content": ANSWER, "toolRequests": []}
        said = {"type": "assistant.message", "data": answer, "timestamp": stop["timestamp"]}
        record.write_text(json.dumps(said) + "\n")
        return stop

    def compact(self):
        compacting = self.event("PreCompact", trigger="auto", custom_instructions="")
        return [compacting, self.failed(90)]


class VsCode(Script):
    agent = "vscode"

    def event(self, name, **fields):
        self.seconds += 1
        at = f"2026-08-21T12:00:{self.seconds:02d}.000Z"
        common = {"timestamp": at, "cwd": str(self.project), "sessionId": "s1"}
        record = str(self.project / "none.json")
        return {**common, "hookEventName": name, "transcript_path": record, **fields}

    def call(self, number, tool, arguments, response):
        named = {"tool_name": tool, "tool_input": arguments, "tool_use_id": number}
        return self.event("PostToolUse", **named, tool_response=response)

    def start(self, _source):
        return self.event("SessionStart", source="new")

    def prompt(self, text, _number):
        return self.event("UserPromptSubmit", prompt=text)

    def edited(self, number):
        change = {"filePath": str(self.project / "a.py"), "oldString": f"{number}"}
        return self.call(f"e{number}", "replace_string_in_file", change, "The file was edited.")

    def failed(self, number):
        command = {"command": f"make build{number}"}
        printed = "boom\nCommand exited with code 1"
        return self.call(f"f{number}", "run_in_terminal", command, printed)

    def stop(self):
        return self.event("Stop", stop_hook_active=False, last_assistant_message=ANSWER)

    def compact(self):
        return [self.event("PreCompact", trigger="auto"), self.edited(90)]


SCRIPTS = [ClaudeCode, Codex, GeminiCli, Opencode, Cursor, CopilotCli, VsCode]
BLOCK_WITH = {"cursor": "edit", "vscode": "edit"}
"""Where the block of a prompt reaches the model, if not with the prompt."""
NO_LINE_AT_STOP = ("cursor",)
"""Its answer to a stop shows the user nothing: the line goes to standard error."""
STARTS_ANEW = ("opencode", "cursor", "copilot-cli", "vscode")
"""Its sessions that are resumed have none of the start's text, or nothing tells them apart."""
FORGETS = ("opencode",)
"""What it was given with a prompt is gone with the turn: the next prompt brings it again."""


def context(output):
    texts = [output.get("additional_context"), output.get("additionalContext")]
    texts += [output.get("context"), output.get("hookSpecificOutput", {}).get("additionalContext")]
    return next((text for text in texts if text), "")


def message(output, stderr):
    shown = (output.get(key) for key in ("systemMessage", "message", "progress"))
    return next((text for text in shown if text), stderr)


@pytest.fixture(params=SCRIPTS, ids=[script.agent for script in SCRIPTS])
def script(request, project):
    return request.param(project)


def test_a_whole_session(script, enter):
    outputs = []

    def fire(label, payload):
        output, stderr = enter(script.agent, payload)
        outputs.append((label, output, stderr))
        return output, stderr

    fire("start", script.start("startup"))
    fire("prompt", script.prompt(PROMPT, 1))
    fire("edit", script.edited(1))
    fire("edit", script.edited(2))
    fire("failure", script.failed(1))
    fire("failure", script.failed(2))
    third, _ = fire("failure", script.failed(3))
    after, _ = fire("edit", script.edited(3))
    stop, stderr = fire("stop", script.stop())

    blocks = [label for label, output, _ in outputs if "Reject every chat id" in context(output)]
    assert blocks == [BLOCK_WITH.get(script.agent, "prompt")]
    nudges = [label for label, output, _ in outputs if "calls in a row failed" in context(output)]
    assert len(nudges) == 1
    assert "calls in a row failed" in context(third) + context(after)
    assert OPEN_ITEM in message(stop, stderr)
    assert (not stop) is (script.agent in NO_LINE_AT_STOP)
    assert not context(stop)

    outputs.clear()
    for payload in script.compact():
        fire("compact", payload)
    again = [context(output) for _, output, _ in outputs if context(output)]
    assert len(again) == 1
    assert "## Files Modified\n- a.py" in again[0]
    assert "Reject every chat id" in again[0]

    outputs.clear()
    fire("resume", script.start("resume"))
    fire("prompt", script.prompt(PROMPT, 9))
    resumed = [script.agent in STARTS_ANEW, script.agent in FORGETS]
    assert [bool(context(output)) for _, output, _ in outputs] == resumed


@pytest.mark.parametrize("scope", ["user", "project"])
def test_uninstall_silences_the_sessions_that_run(script, scope, project, fire):
    """An agent goes on with the hooks that it read when it started, and is not to be told."""
    request = Request(
        agent=script.agent,
        project=os.path.realpath(project),
        entries=Entries(hook="lessons-hook", server="lessons"),
        scope=scope,
    )
    happens = [script.start("startup"), script.prompt(PROMPT, 1), script.edited(1)]
    happens += [script.failed(number) for number in (1, 2, 3)] + [script.stop()]

    def said():
        return [output for payload in happens if (output := fire(script.agent, payload))]

    install(request)
    fire(script.agent, script.start("startup"))
    uninstall(replace(request, scope="user" if scope == "project" else "project"))  # nothing there
    uninstall(request)
    assert said() == []
    install(request)
    assert said()


@pytest.mark.parametrize("agent", BLOCK_WITH)
def test_a_lesson_that_no_call_could_carry_comes_with_the_next_turn(agent, project, fire):
    script = next(script for script in SCRIPTS if script.agent == agent)(project)
    happened = [script.prompt(PROMPT, 1), script.stop(), script.prompt(PROMPT, 2), script.edited(1)]
    given = [context(fire(agent, payload)) for payload in happened]
    assert ["Reject every chat id" in text for text in given] == [False, False, False, True]


@pytest.mark.parametrize(
    ("agent", "source", "given"),
    [
        # Where SessionStart gives context, Gemini CLI drops the user's first prompt on --resume.
        ("gemini-cli", "startup", "after"),
        ("gemini-cli", "resume", "after"),
        ("gemini-cli", "clear", "after"),
        # What the chat that is resumed holds already would stand in it twice.
        ("claude-code", "resume", "after"),
        ("codex", "resume", "after"),
        ("claude-code", "startup", "start"),
        ("claude-code", "clear", "start"),
        ("codex", "clear", "start"),
        # There the text of the resume takes the place of the old one.
        ("copilot-cli", "resume", "start"),
    ],
)
def test_what_waits_when_a_session_starts(agent, source, given, project, fire):
    """Text is due, for the call before which it was found brought none to the model."""
    script = next(script for script in SCRIPTS if script.agent == agent)(project)
    fire(agent, script.prompt("Go on.", 1))
    journal = open_session_journal(str(project))
    with contextlib.closing(journal), turn_state(journal, "s1") as state:
        state.waiting.append(["files", "## Files Modified\n- a.py"])
    outputs = {"start": fire(agent, script.start(source)), "after": fire(agent, script.edited(1))}
    assert [when for when, output in outputs.items() if "a.py" in context(output)] == [given]


def test_lessons_that_a_compaction_could_not_carry_come_with_the_next_prompt(project, fire):
    script = next(script for script in SCRIPTS if script.agent == "copilot-cli")(project)
    happened = [script.prompt(PROMPT, 1), script.stop(), script.compact()[0]]
    happened += [script.stop(), script.compact()[0], script.prompt("Go on.", 2)]
    given = [context(fire("copilot-cli", payload)) for payload in happened]
    assert [text.count("Reject every chat id") for text in given] == [1, 0, 0, 0, 0, 1]


def test_a_brain_that_nobody_trusts_is_silent(script, project, monkeypatch, tmp_path):
    monkeypatch.setenv("LESSONS_STATE_HOME", str(tmp_path / "of somebody else"))
    happened = [script.start("startup"), script.prompt(PROMPT, 1), script.edited(1)]
    happened += [script.failed(number) for number in range(1, 5)]
    happened += [script.stop(), *script.compact(), script.prompt(PROMPT, 2)]
    before = sorted(project.rglob("*"))
    outputs = [answer_event(script.agent, json.dumps(payload), {}) for payload in happened]
    assert [line for _output, line in outputs if line] == []
    silence = AGENTS[script.agent].silence
    told = [n for n, (output, _line) in enumerate(outputs) if output != silence]
    # Gemini CLI shows a line of the start twice: it is told with the first prompt.
    first = {"gemini-cli": 1, "opencode": 1, "cursor": 8}
    assert told[:1] == ([first.get(script.agent, 0)] if AGENTS[script.agent].lines else [])
    hold_one_hint([outputs[n][0] for n in told], script.agent)
    assert sorted(project.rglob("*")) == before


def test_every_output_is_as_it_was(script, project, drafted, request):
    lines = []

    def fire(label, payload):
        output, line = answer_event(script.agent, json.dumps(payload), {})
        told = read_output(output)
        assert not [key for key in GOES_ON if key in told]
        assert "decision" not in told.get("hookSpecificOutput", {})
        shown = json.dumps(told, ensure_ascii=False, indent=1) if output else "-"
        lines.append(f"== {label}\n{shown}" + (f"\nstderr: {line}" if line else ""))

    fire("start", script.start("startup"))
    fire("prompt", script.prompt(PROMPT, 1))
    for number in range(1, 4):
        fire(f"edit {number}", script.edited(number))
    for number in range(1, 7):
        fire(f"failure {number}", script.failed(number))
    fire("edit 4", script.edited(4))
    fire("stop", script.stop())
    drafted()
    for number, payload in enumerate(script.compact(), 1):
        fire(f"compaction {number}", payload)
    fire("resume", script.start("resume"))
    fire("prompt again", script.prompt(PROMPT, 9))
    text = "\n".join(lines) + "\n"
    golden = GOLDEN / f"{script.agent}.txt"
    if request.config.getoption("--update"):
        golden.write_text(text, encoding="utf-8")
    assert text == golden.read_text(encoding="utf-8")


def hold_one_hint(told, agent):
    """Hold that the user, and nobody else, was told once why nothing is said, if that can be."""
    assert len(told) == bool(AGENTS[agent].lines)
    for output in told:
        (message,) = read_output(output).values()
        assert "not trusted" in message
        assert "lessons trust" in message


def test_without_any_brain_all_is_silent(script, fire, tmp_path):
    script.project = tmp_path / "elsewhere"
    script.project.mkdir()
    for payload in (script.prompt(PROMPT, 1), script.failed(1), script.stop()):
        assert fire(script.agent, payload) == {}

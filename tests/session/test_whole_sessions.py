"""A session of each agent: what arrives, how often, and what never."""

import contextlib
import json
import os
import pathlib
import re
from dataclasses import replace

import pytest

from lessons_kb.agents.install import Entries, Request, install, uninstall
from lessons_kb.agents.table import AGENTS
from tests.kit import answer_event, open_journal, read_output
from tests.sessions import Session, context_of, record_failure

pytestmark = pytest.mark.slow

GOLDEN = pathlib.Path(__file__).parents[1] / "golden" / "agents"
PROMPT = "Add a telegram command that restarts the service"
ANSWER = (
    "Done: I rejected every chat id that is not on the allowlist. I left the tests for a follow-up."
)
GOES_ON = ("decision", "followup_message", "reason", "updatedInput", "prompt")
"""Keys by which some agent would be made to go on, or a call be changed."""


EDITS = {
    "claude-code": ("Edit", {"file_path": "a.py", "old_string": "{n}", "new_string": "x"}, {}),
    "codex": (
        "apply_patch",
        {"command": "*** Begin Patch\n*** Update File: a.py\n@@\n-{n}\n+x\n*** End Patch\n"},
        {"tool_response": "Exit code: 0\nWall time: 0 seconds\nOutput:\nSuccess."},
    ),
    "gemini-cli": ("replace", {"file_path": "a.py", "old_string": "{n}", "new_string": "x"}, {
        "tool_response": {"llmContent": "Successfully modified file", "returnDisplay": ""}}),
    "opencode": ("edit", {"filePath": "a.py", "oldString": "{n}"}, {
        "output": "Edit applied successfully.", "metadata": {"diff": "+x"}}),
    "cursor": ("Write", {"file_path": "a.py", "contents": "{n}"}, {
        "tool_output": '{"ok": true}', "duration": 3}),
    "copilot-cli": ("Edit", {"path": "a.py", "old_str": "{n}"}, {
        "tool_result": {"result_type": "success", "text_result_for_llm": "done"}}),
    "vscode": ("replace_string_in_file", {"filePath": "a.py", "oldString": "{n}"}, {
        "tool_response": "The file was edited."}),
}  # fmt: skip
"""Agent → the tool of an edit, its arguments, and what the event after it says."""


DONE, FAILED = "PostToolUse", "PostToolUseFailure"
FAILURES = {
    "claude-code": [(FAILED, "Bash", {"error": "Exit code 1\nboom", "is_interrupt": False})],
    "codex": [(DONE, "Bash", {"tool_response": ""})],
    "gemini-cli": [(DONE, "run_shell_command", {"tool_response": {
        "llmContent": "<untrusted_context>\nOutput: (empty)\nExit Code: 3\n</untrusted_context>",
        "returnDisplay": "Command exited with code: 3"}})],
    "opencode": [
        (DONE, "bash", {"output": "(no output)", "metadata": {"exit": 3}}),
        (FAILED, "edit", {"error": "Could not find oldString in the file. It must match exactly"}),
    ],
    "cursor": [(FAILED, "Shell", {
        "error_message": "Command failed with exit code 1", "failure_type": "error", "duration": 5,
        "is_interrupt": False})],
    "copilot-cli": [
        (FAILED, "bash", {"error": "exit 1"}),
        (DONE, "Bash", {"tool_result": {"result_type": "success", "text_result_for_llm":
            "boom\n<shellId: 1 completed with exit code 2>"}}),
    ],
    "vscode": [(DONE, "run_in_terminal", {"tool_response": "boom\nCommand exited with code 1"})],
}  # fmt: skip
"""Agent → how it tells that a command failed, in one way or in two by turns."""


class Script(Session):
    """The payloads of one agent's session."""

    def __init__(self, project, agent):
        super().__init__(project, agent)
        self.transcript = project / "none.jsonl"

    def _call(self, name, number, tool, arguments, **fields):
        named = {"tool_name": tool, "tool_use_id": number, "tool_input": arguments}
        return self.event(name, **named, **fields)

    def start(self, source):
        return self.event("SessionStart", source=source)

    def asked(self, text, number):
        if self.agent == "gemini-cli" and number == 9:
            text = f"<hook_context>telegram allowlist</hook_context>\n\n{text}"
        if self.agent == "opencode":
            return self.event("UserPromptSubmit", prompt=f'"{text}"', messageID=f"msg_{number}")
        turn = {"codex": ("turn_id", "t"), "cursor": ("generation_id", "g")}
        key, letter = turn.get(self.agent, ("prompt_id", "p"))
        return self.event("UserPromptSubmit", prompt=text, **{key: f"{letter}{number}"})

    def edited(self, number):
        tool, arguments, done = EDITS[self.agent]
        arguments = {key: text.replace("{n}", f"{number}") for key, text in arguments.items()}
        return self._call("PostToolUse", f"e{number}", tool, arguments, **done)

    def failed(self, number):
        arguments, odd = {"command": f"make build{number}"}, bool(number % 2)
        name, tool, told = FAILURES[self.agent][odd % len(FAILURES[self.agent])]
        if self.agent == "codex":
            record_failure(self, f"f{number}", arguments["command"])
        if tool == "edit":
            arguments = {"filePath": str(self.project / "b.py"), "oldString": f"{number}"}
        return self._call(name, f"toolu_f{number}", tool, arguments, **told)

    def stopped(self):
        if self.agent == "gemini-cli":
            return self.event("Stop", prompt=PROMPT, prompt_response=ANSWER)
        if self.agent != "copilot-cli":
            return self.event("Stop", last_assistant_message=ANSWER)
        record = self.project.parent / "events.jsonl"  # what was answered stands nowhere else
        stop = self.event("Stop", stop_reason="end_turn", transcript_path=str(record))
        answer = {"content": ANSWER, "toolRequests": []}
        said = {"type": "assistant.message", "data": answer, "timestamp": stop["timestamp"]}
        record.write_text(json.dumps(said) + "\n")
        return stop

    def compact(self):
        """The events of a compaction, and the next that can carry something."""
        if self.agent == "gemini-cli":
            left = {"type": "user", "content": [{"text": "<state_snapshot>…</state_snapshot>"}]}
            line = json.dumps({"$set": {"messages": [left]}}, separators=(",", ":"))
            with self.transcript.open("a") as file:
                file.write(f"{line}\n")
            return [self.edited(90)]
        compacting = self.event("PreCompact", trigger="auto")
        if self.agent in ("claude-code", "codex"):
            return [compacting, self.start("compact")]
        next_one = {"opencode": [], "copilot-cli": [self.failed(90)]}
        return [compacting, *next_one.get(self.agent, [self.edited(90)])]


WITHOUT_CONTEXT = ("cursor", "vscode")
"""They take no context with a prompt: its block reaches the model with the next result."""


@pytest.fixture(params=EDITS)
def script(request, project):
    return Script(project, request.param)


@pytest.mark.parametrize(("scope", "named"), [("user", False), ("project", False), ("user", True)])
def test_uninstall_silences_the_sessions_that_run(script, scope, named, project, fire):
    """An agent goes on with the hooks that it read when it started, and is not to be told."""
    entries = Entries(hook="lessons-hook", server="lessons")
    place = os.path.realpath(project)
    request = Request(agent=script.agent, project=place, entries=entries, scope=scope)
    happens = [script.start("startup"), script.asked(PROMPT, 1), script.edited(1)]
    happens += [script.failed(number) for number in (1, 2, 3)] + [script.stopped()]

    environment = dict.fromkeys(AGENTS[script.agent].project if named else (), str(project))

    def said():
        return [one for payload in happens if (one := fire(script.agent, payload, environment))]

    install(request)
    fire(script.agent, script.start("startup"), environment)
    uninstall(replace(request, scope="user" if scope == "project" else "project"))  # nothing there
    uninstall(request)
    assert said() == []
    install(request)
    assert said()


@pytest.mark.parametrize("agent", WITHOUT_CONTEXT)
def test_a_lesson_that_no_call_could_carry_comes_with_the_next_turn(agent, project, fire):
    script = Script(project, agent)
    happened = [script.asked(PROMPT, 1), script.stopped(), script.asked(PROMPT, 2)]
    happened += [script.edited(1)]
    given = [context_of(fire(agent, payload)) for payload in happened]
    assert [text.count("Reject every chat id") for text in given] == [0, 0, 0, 1]


@pytest.mark.parametrize(("agent", "source", "given"), [
    # Where SessionStart gives context, Gemini CLI drops the user's first prompt on --resume.
    *(("gemini-cli", source, "after") for source in ("startup", "resume", "clear")),
    # What the chat that is resumed holds already would stand in it twice.
    ("claude-code", "resume", "after"),
    ("codex", "resume", "after"),
    *(("claude-code", source, "start") for source in ("startup", "clear")),
    ("codex", "clear", "start"),
    # There the text of the resume takes the place of the old one.
    ("copilot-cli", "resume", "start"),
])  # fmt: skip
def test_what_waits_when_a_session_starts(agent, source, given, project, fire):
    """Text is due, for the call before which it was found brought none to the model."""
    script = Script(project, agent)
    fire(agent, script.asked("Go on.", 1))
    journal = open_journal(project)
    with contextlib.closing(journal):
        state = json.loads(journal.guard_state("s1", "hook"))
        state["waiting"] = [["files", "## Files Modified\n- a.py"]]
        journal.keep_guard_state("s1", json.dumps(state), "hook")
    outputs = {"start": fire(agent, script.start(source)), "after": fire(agent, script.edited(1))}
    assert [when for when, output in outputs.items() if "a.py" in context_of(output)] == [given]


def test_lessons_that_a_compaction_could_not_carry_come_with_the_next_prompt(project, fire):
    script = Script(project, "copilot-cli")
    happened = [script.asked(PROMPT, 1), script.stopped(), script.compact()[0]]
    happened += [script.stopped(), script.compact()[0], script.asked("Go on.", 2)]
    given = [context_of(fire("copilot-cli", payload)) for payload in happened]
    assert [text.count("Reject every chat id") for text in given] == [1, 0, 0, 0, 0, 1]


def test_a_brain_that_nobody_trusts_is_silent(script, project, monkeypatch, tmp_path):
    monkeypatch.setenv("LESSONS_STATE_HOME", str(tmp_path / "of somebody else"))
    happened = [script.start("startup"), script.asked(PROMPT, 1), script.edited(1)]
    happened += [script.failed(number) for number in range(1, 5)]
    happened += [script.stopped(), *script.compact(), script.asked(PROMPT, 2)]
    before = sorted(project.rglob("*"))
    outputs = [answer_event(script.agent, json.dumps(payload), {}) for payload in happened]
    assert [line for _output, line in outputs if line] == []
    silence = AGENTS[script.agent].silence
    told = [n for n, (output, _line) in enumerate(outputs) if output != silence]
    # Gemini CLI shows a line of the start twice: it is told with the first prompt.
    first = {"gemini-cli": 1, "opencode": 1, "cursor": 8}
    assert told[:1] == ([first.get(script.agent, 0)] if AGENTS[script.agent].lines_at else [])
    assert len(told) == bool(AGENTS[script.agent].lines_at), "one hint, if it can be shown"
    for number in told:
        (message,) = read_output(outputs[number][0]).values()
        assert "not trusted" in message
        assert "lessons trust" in message
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
    fire("prompt", script.asked(PROMPT, 1))
    for number in range(1, 4):
        fire(f"edit {number}", script.edited(number))
    for number in range(1, 7):
        fire(f"failure {number}", script.failed(number))
    fire("edit 4", script.edited(4))
    fire("stop", script.stopped())
    drafted()
    for number, payload in enumerate(script.compact(), 1):
        fire(f"compaction {number}", payload)
    fire("resume", script.start("resume"))
    fire("prompt again", script.asked(PROMPT, 9))
    text = "\n".join(lines) + "\n"
    text = re.sub(r"cache-\w+-\d+/titles-\w+", "cache-…/titles-…", text)  # random
    golden = GOLDEN / f"{script.agent}.txt"
    if request.config.getoption("--update"):
        golden.write_text(text, encoding="utf-8")
    assert text == golden.read_text(encoding="utf-8")


def test_without_any_brain_all_is_silent(script, fire, tmp_path):
    script.project = tmp_path / "elsewhere"
    script.project.mkdir()
    for payload in (script.asked(PROMPT, 1), script.failed(1), script.stopped()):
        assert fire(script.agent, payload) == {}

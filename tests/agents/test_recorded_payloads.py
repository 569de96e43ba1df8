"""Qwen Code 0.24.4 and Grok CLI 1.0.41 by payloads that they sent; Crush and Antigravity by those
that their source and documents show: these two were not run."""

import json
import pathlib

import pytest

from lessons_kb.agents.install import Entries, Request, install

PROMPT = "Add a telegram command that restarts the service"
ITEM = "Reject every chat id"
COMMON = {
    "qwen-code": {
        "session_id": "7657721c-f174-4477-b519-6209ee95a5cb",
        "transcript_path": "/home/ann/.qwen/projects/-shop/chats/7657721c.jsonl",
        "timestamp": "2026-11-25T18:23:40.643Z", "permission_mode": "yolo",
        "prompt_id": "7657721c-f174-4477-b519-6209ee95a5cb########0",
    },
    "grok-cli": {
        "sessionId": "01a21498-3e2e-7953-a8a4-e10c42ffc8cd",
        "session_id": "01a21498-3e2e-7953-a8a4-e10c42ffc8cd",
        "timestamp": "2026-11-25T21:24:11.687746130+00:00", "permission_mode": "default",
    },
    "crush": {"event": "PreToolUse", "session_id": "313909e"},
}  # fmt: skip


@pytest.fixture
def say(project, fire):
    """Fire an event as an agent does, for its own hooks or those of another."""

    def say(agent, name, hooks="", **fields):
        event = COMMON[agent] | {"cwd": str(project), "hook_event_name": name, **fields}
        event |= {"workspaceRoot": f"{project}/"} if agent == "grok-cli" else {}
        return fire(hooks or agent, event)

    return say


def call(name, number=1, **arguments):
    return {"tool_name": name, "tool_input": arguments, "tool_use_id": f"toolu_{number}"}


def test_qwen_code_submits_results_of_calls_as_a_prompt_without_text(say):
    asked = {"prompt": PROMPT, "submitted_prompt": PROMPT}
    assert ITEM in say("qwen-code", "UserPromptSubmit", **asked).context
    assert say("qwen-code", "UserPromptSubmit", prompt="") == {}


def test_qwen_code_prints_results_as_gemini_cli_does(say):
    shell = call("run_shell_command", command="alembic upgrade head")
    response = {"llmContent": "Command: alembic upgrade head\nOutput: ok\nExit Code: 0"}
    assert say("qwen-code", "PostToolUse", **shell, tool_response=response) == {}
    error = "Command: alembic upgrade head\nOutput: no such column\nError: (none)\nExit Code: 1"
    failed = {**shell, "error": error, "is_interrupt": False}
    names = [{"tool_use_id": f"toolu_{number}"} for number in range(2, 5)]
    said = [say("qwen-code", "PostToolUseFailure", **failed | one) for one in names]
    assert "different approach" in said[-1].context


READ = call("read_file", target_file="README.md") | {"tool_response": {"type": "ReadFile"}}


@pytest.mark.parametrize("hooks", ["claude-code", "cursor", "grok-cli"])
def test_a_lesson_of_grok_cli_waits_for_the_result_of_a_call_by_whosever_hooks(say, hooks):
    assert say("grok-cli", "UserPromptSubmit", hooks, prompt=PROMPT, promptId="p1") == {}
    assert ITEM in say("grok-cli", "PostToolUse", hooks, **READ).context
    assert say("grok-cli", "PostToolUse", **READ) == {}


def test_the_shape_of_a_grok_cli_result_shows_that_a_call_failed(say):
    said = []
    for number in range(3):
        run = call("run_terminal_command", number, command=f"alembic upgrade {number}")
        text = "exit: 1\nno such column\n"
        result = {"type": "Bash", "output": [110, 111], "output_for_prompt": text, "exit_code": 1}
        said.append(say("grok-cli", "PostToolUse", **run, tool_response=result).context)
    assert "different approach" in said[-1]
    edit = call("search_replace", 9, file_path="a.md", old_string="x", new_string="y")
    result = {"type": "SearchReplace", "FileNotFound": "Error: /w/a.md does not exist."}
    assert say("grok-cli", "PostToolUse", **edit, tool_response=result) == {}


def test_grok_cli_asks_if_a_gate_requires_it_and_its_session_ends_with_another_stop(say):
    change = call("search_replace", file_path="migrations/1.sql", old_string="a", new_string="b")
    assert say("grok-cli", "PreToolUse", **change).asked
    for reason in ("end_turn", "shutdown"):
        assert say("grok-cli", "Stop", reason=reason, lastAssistantMessage="Done.") == {}


def test_crush_is_given_a_lesson_with_the_change_that_it_is_about_or_refused(say, project):
    def edit(path, new="b"):
        path = f"{project}/{path}"
        change = call("edit", file_path=path, old_string="a", new_string=new)
        return say("crush", "PreToolUse", **change)

    given = edit("bot/handler.py")
    assert set(given) == {"context"}, "a decision would spare the user its own question"
    assert ITEM in given["context"]
    assert edit("bot/handler.py", "c") == edit("README.md") == {}
    card = project / "lessons" / "drop-column.md"
    card.write_text(card.read_text().replace("gate: ask", "gate: once"))
    refused = edit("migrations/1.sql")
    assert refused["decision"] == "deny"
    assert "Drop the column one release later" in refused["reason"]
    assert "decision" not in edit("migrations/1.sql")


class Antigravity:
    """A session whose record grows as that of version 1.2 does."""

    def __init__(self, project, fire):
        self.path = project.parent / "transcript.jsonl"
        self.fire = fire
        self.event = {
            "conversationId": "0b8ab9d1-8ab6-4ddc-a3a5-7a3be4da95f6",
            "workspacePaths": [str(project)], "transcriptPath": str(self.path),
        }  # fmt: skip

    def record(self, kind, source, content):
        number = len(self.path.read_text().splitlines()) if self.path.exists() else 0
        row = {"step_index": number, "type": kind, "source": source, "status": "DONE"}
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps({**row, "content": content}) + "\n")

    def ask(self, text):
        wrapped = f"<USER_REQUEST>\n{text}\n</USER_REQUEST>\n<ADDITIONAL_METADATA>\nNow: 9:00\n"
        self.record("USER_INPUT", "USER_EXPLICIT", wrapped)

    def call(self, number=0, *, how=None, **fields):
        """Return what is put in front of a call of the model; the answer has no other key."""
        event = self.event | {"invocationNum": number, **fields}
        answer = self.fire("antigravity", event, **how or {})
        if not answer:
            return ""
        assert (*answer, *answer["injectSteps"][0]) == ("injectSteps", "ephemeralMessage")
        return answer["injectSteps"][0]["ephemeralMessage"]


@pytest.fixture
def antigravity(project, fire):
    return Antigravity(project, fire)


def test_antigravity_gets_the_lessons_of_the_prompt_at_each_call_of_the_model(antigravity):
    assert antigravity.call() == "", "there is no record yet"
    antigravity.ask(PROMPT)
    first = antigravity.call()
    assert ITEM in first
    antigravity.record("PLANNER_RESPONSE", "MODEL", "I shall look at the handler.")
    assert [antigravity.call(1), antigravity.call(2)] == [first, first]
    stop = {"executionNum": 0, "terminationReason": "NO_TOOL_CALL", "fullyIdle": True}
    assert antigravity.fire("antigravity", antigravity.event | stop) == {}
    antigravity.ask("thanks, that is all")
    assert [antigravity.call(0), antigravity.call(1)] == ["", ""]
    antigravity.ask(PROMPT + " now")
    assert ITEM in antigravity.call(), "gone with its turn, it comes again"


def test_a_damaged_record_and_other_events_of_antigravity_are_silence(antigravity):
    antigravity.ask(PROMPT)
    with antigravity.path.open("ab") as file:
        file.write(b'{"type":"USER_INPUT","source":"USER_EXPLICIT","conte\n[]\n\xff\n')
    assert ITEM in antigravity.call()
    other = antigravity.event | {"toolCall": {"name": "run_command"}}
    assert antigravity.fire("antigravity", other) == {}
    assert antigravity.call(transcriptPath="/nowhere") == antigravity.call(transcriptPath=3) == ""
    assert antigravity.call(how={"posted_by": "bob"}) == "", "a path of another machine"


def test_the_file_of_antigravity_names_events_that_carry_handlers_alone(project):
    """`{name: {event: [handler]}}`: groups belong to tools, and an unknown key costs the file."""
    entries = Entries(hook="lessons-hook", server="lessons")
    changes = install(Request(agent="antigravity", project=str(project), entries=entries))
    ((key, hooks),) = json.loads(pathlib.Path(changes[0].path).read_text()).items()
    assert (key, set(hooks)) == ("lessons", {"PreInvocation", "Stop"})
    assert all(set(one) == {"type", "command", "timeout"} for (one,) in hooks.values())

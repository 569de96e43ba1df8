"""Events that clients really sent, run through `lessons-hook` as the client runs it.

`recorded/AGENT-VERSION.jsonl` has one event of each kind, with the paths of a project that the
tests replace by their own.
"""

import itertools
import json
import pathlib

import pytest

from lessons_kb.service.hook_event import answer_event
from tests import kit

RECORDED = pathlib.Path(__file__).parent / "recorded"
RECORDED_PROJECT = "/home/user/project"
TITLES = "[LESSON_TITLES]"
ITEM = "Reject every chat id"
GATE = """\
---
type: lesson
title: The file of gates has an owner
paths: [gate.py]
gate: once
severity: high
---

## Mistake / Risk

It was changed in passing, and the release stopped.

## Checklist

- [ ] Ask the owner
"""
PROMPT = "Add a telegram command that restarts the service"


class Recorded:
    """The events that one version of an agent sent."""

    def __init__(self, name, project, enter):
        self.agent, _, self.version = name.rpartition("-")
        self.enter = enter
        text = (RECORDED / f"{name}.jsonl").read_text("utf-8")
        text = text.replace(RECORDED_PROJECT, str(project))
        self.events = [json.loads(line) for line in text.splitlines()]

    def find(self, name, tool=""):
        """Return the recorded event of a kind, of a call of ``tool`` if it is named."""
        for event in self.events:
            called = event.get("tool_name") or event.get("tool")
            if name in event.values() and tool in (called, ""):
                return event
        raise LookupError(f"{name} {tool} was not recorded")

    def send(self, name, tool="", **changed):
        """Send an event with some of its values changed; return what is answered, as text."""
        answer, _log = self.enter(self.agent, self.find(name, tool) | changed)
        return json.dumps(answer, ensure_ascii=False) if answer else ""


@pytest.fixture
def recorded(project, enter):
    return lambda name: Recorded(name, project, enter)


@pytest.mark.parametrize(("fork", "has_titles"), [("none", True), ("all", False), (None, False)])
def test_a_subagent_of_codex_gets_the_lessons_of_its_own_task(fork, has_titles, recorded):
    codex = recorded("codex-0.171.0")
    spawn = codex.find("PreToolUse", "collaborationspawn_agent")
    task = {**spawn["tool_input"], "message": PROMPT, "fork_turns": fork}
    if fork is None:
        del task["fork_turns"]
    assert codex.send("PreToolUse", "collaborationspawn_agent", tool_input=task) == ""
    given = codex.send("SubagentStart")
    assert ITEM in given
    assert (TITLES in given) is has_titles
    assert codex.send("SubagentStart") == "", "reported twice"


def test_a_nested_call_of_codex_in_code_mode_is_refused_like_any_other(recorded, project):
    card = project / "lessons" / "drop-column.md"
    card.write_text(card.read_text().replace("gate: ask", "gate: once"))
    codex = recorded("codex-0.171.0")
    patch = codex.find("PreToolUse", "apply_patch")
    assert patch["tool_use_id"].startswith("exec-")
    text = patch["tool_input"]["command"].replace("bot/handler.py", "migrations/1.sql")
    changed = {"tool_input": {"command": text}}
    assert '"deny"' in codex.send("PreToolUse", "apply_patch", **changed)
    again = codex.send("PreToolUse", "apply_patch", **changed, tool_use_id="exec-2")
    assert '"deny"' not in again


GUIDANCE = "3 tool calls in a row failed"


def test_claude_code_reports_an_edit_that_found_no_text_only_with_its_batch(recorded):
    claude = recorded("claude-code-2.1.332")
    batches = [event for event in claude.events if event["hook_event_name"] == "PostToolBatch"]
    failed = [event for event in batches if "<tool_use_error>" in json.dumps(event)]
    tools = [event["tool_calls"][0]["tool_name"] for event in failed]
    assert tools == ["Edit", "Nonexistent", "Read"]
    given = [json.dumps(claude.enter("claude-code", event)[0]) for event in failed]
    assert [GUIDANCE in text for text in given] == [False, False, True]


def test_a_failure_that_has_an_event_of_its_own_counts_once_beside_its_batch(recorded):
    claude = recorded("claude-code-2.1.332")
    assert claude.send("PostToolUseFailure") == ""
    batch = claude.find("PostToolBatch")
    call = {**claude.find("PostToolUseFailure"), "tool_response": "Exit code 3"}
    names = ("tool_name", "tool_input", "tool_use_id", "tool_response")
    again = {**batch, "tool_calls": [{name: call[name] for name in names}]}
    assert claude.enter("claude-code", again)[0] == {}
    edit = claude.find("PostToolBatch")["tool_calls"][0]
    for number in (1, 2):
        calls = [{**edit, "tool_use_id": f"toolu_{number}"}]
        given = json.dumps(claude.enter("claude-code", {**batch, "tool_calls": calls})[0])
        assert (GUIDANCE in given) is (number == 2), "the third failure in a row"


def test_qwen_code_names_a_failed_call_twice_and_it_counts_once(recorded):
    qwen = recorded("qwen-code-0.24.4")
    failure = qwen.find("PostToolUseFailure")
    (call,) = [
        call
        for event in qwen.events
        for call in event.get("tool_calls", ())
        if call["status"] == "error"
    ]
    batch = next(event for event in qwen.events if call in event.get("tool_calls", ()))
    assert failure["tool_use_id"] != call["tool_use_id"]
    given = []
    for number in range(3):
        name = f"toolu_{number}"
        event = {**failure, "tool_call_id": name, "tool_use_id": f"{name}_x"}
        given.append(json.dumps(qwen.enter("qwen-code", event)[0]))
        calls = [{**call, "tool_call_id": name, "tool_use_id": name}]
        given.append(json.dumps(qwen.enter("qwen-code", {**batch, "tool_calls": calls})[0]))
    assert [GUIDANCE in text or "same call" in text for text in given] == [
        *(False, False, False, False, True, False),
    ]


def test_a_failed_call_that_qwen_code_reports_with_its_batch_alone(recorded):
    qwen = recorded("qwen-code-0.24.4")
    batch = next(e for e in qwen.events if '"error"' in json.dumps(e.get("tool_calls", "")))
    given = []
    for number in range(3):
        call = {**batch["tool_calls"][0], "tool_call_id": f"toolu_{number}"}
        call["tool_input"] = {**call["tool_input"], "old_string": str(number)}
        given.append(json.dumps(qwen.enter("qwen-code", {**batch, "tool_calls": [call]})[0]))
    assert [GUIDANCE in text for text in given] == [False, False, True]


def test_a_subagent_of_qwen_code_gets_the_lessons_of_its_task_with_its_first_result(recorded):
    qwen = recorded("qwen-code-0.24.4")
    task = {**qwen.find("PreToolUse", "agent")["tool_input"], "prompt": PROMPT}
    assert qwen.send("PreToolUse", "agent", tool_input=task) == ""
    assert qwen.send("SubagentStart") == "", "the client drops what it is given here"
    result = next(
        e for e in qwen.events if e["hook_event_name"] == "PostToolUse" and "agent_id" in e
    )
    given = json.dumps(qwen.enter("qwen-code", result)[0])
    assert ITEM in given
    assert TITLES in given


def test_qwen_code_gets_nothing_with_a_prompt_without_text(recorded):
    qwen = recorded("qwen-code-0.24.4")
    assert ITEM in qwen.send("UserPromptSubmit", prompt=PROMPT)
    empty = next(event for event in qwen.events if event.get("prompt") == "")
    for _batch in range(2):
        assert qwen.enter("qwen-code", empty)[0] == {}


def find_start(qwen, source):
    """Return the recorded start of a session of Qwen Code with this source."""
    return next(event for event in qwen.events if event.get("source") == source)


def test_a_resumed_session_of_qwen_code_gets_the_titles_again(recorded):
    """Their text is in the system prompt, which a new process builds without it."""
    qwen = recorded("qwen-code-0.24.4")
    assert TITLES in qwen.send("SessionStart")
    assert ITEM in qwen.send("UserPromptSubmit", prompt=PROMPT)
    given = json.dumps(qwen.enter("qwen-code", find_start(qwen, "resume"))[0])
    assert TITLES in given
    assert ITEM not in given, "the chat has the lesson"


def test_the_start_after_a_compaction_of_qwen_code_brings_titles_and_lessons(recorded):
    qwen = recorded("qwen-code-0.24.4")
    assert TITLES in qwen.send("SessionStart")
    assert ITEM in qwen.send("UserPromptSubmit", prompt=PROMPT)
    assert qwen.send("PostCompact") == "", "the client drops what it is given here"
    given = json.dumps(qwen.enter("qwen-code", find_start(qwen, "compact"))[0])
    assert TITLES in given
    assert ITEM in given


def test_a_new_process_of_qwen_code_has_the_lessons_of_the_last_compaction(recorded):
    """They were in the system prompt of the former process, and the chat lacks them."""
    qwen = recorded("qwen-code-0.24.4")
    qwen.send("SessionStart")
    qwen.send("UserPromptSubmit", prompt=PROMPT)
    qwen.send("PostCompact")
    qwen.enter("qwen-code", find_start(qwen, "compact"))
    resumed = find_start(qwen, "resume") | {"session_id": qwen.find("SessionStart")["session_id"]}
    for prompt in ("rename the variable", "rename it back"):
        given = json.dumps(qwen.enter("qwen-code", resumed)[0])
        qwen.send("UserPromptSubmit", prompt=prompt)
        assert ITEM in given
        assert TITLES in given


def make_gate(project, path):
    """Let the card about migrations hold back a change of another file once."""
    card = project / "lessons" / "drop-column.md"
    text = card.read_text().replace("gate: ask", "gate: once")
    card.write_text(text.replace("migrations/*.sql", path))


def test_droid_gets_titles_a_lesson_with_the_result_of_an_edit_and_a_gate(recorded, project):
    make_gate(project, "gate.py")
    droid = recorded("droid-0.215.0")
    assert TITLES in droid.send("SessionStart")
    edit = droid.find("PreToolUse", "Edit")["tool_input"]
    gated = {**edit, "file_path": str(project / "gate.py")}
    refusal = droid.send("PreToolUse", "Edit", tool_input=gated)
    assert '"permissionDecision": "deny"' in refusal
    assert "Drop the column one release later" in refusal
    assert droid.send("PreToolUse", "Edit") == "", "its text would be dropped"
    assert ITEM in droid.send("PostToolUse", "Edit")
    for name in ("Stop", "SessionEnd"):
        assert "additionalContext" not in droid.send(name)


def test_droid_gets_the_titles_again_with_a_resumed_session_whose_chat_lacks_them(recorded):
    droid = recorded("droid-0.215.0")
    assert TITLES in droid.send("SessionStart")
    assert TITLES in droid.send("resume")


def test_a_resumed_session_of_droid_gets_its_lessons_again_because_the_chat_lacks_them(recorded):
    droid = recorded("droid-0.215.0")
    droid.send("SessionStart")
    droid.send("PreToolUse", "Edit")
    assert ITEM in droid.send("PostToolUse", "Edit")
    resumed = droid.send("resume")
    assert resumed.count(ITEM) == 1
    assert resumed.count(TITLES) == 1
    assert ITEM not in droid.send("PostToolUse", "Edit"), "it is in the chat again"


def test_droid_shows_the_user_no_json_of_a_hook(recorded):
    droid = recorded("droid-0.215.0")
    started = droid.find("SessionStart")
    output = json.loads(answer_event("droid", json.dumps(started), {})[0])
    assert output["suppressOutput"] is True
    assert TITLES in output["hookSpecificOutput"]["additionalContext"]
    prompt = {**started, "hook_event_name": "UserPromptSubmit", "prompt": PROMPT}
    output, _log = answer_event("droid", json.dumps(prompt), {})
    assert output.startswith("[ACTIVE LESSONS")


def answer_droid(event):
    """Return what droid is answered: with a prompt plain text, else JSON."""
    return answer_event("droid", json.dumps(event), {})[0]


def test_droid_gets_a_lesson_with_a_prompt_of_the_terminal(recorded):
    """`droid exec` sends no event for a prompt."""
    droid = recorded("droid-0.215.0")
    prompt = droid.find("UserPromptSubmit")
    droid.send("SessionStart", session_id=prompt["session_id"])
    given = answer_droid(prompt)
    assert ITEM in given
    assert TITLES not in given


def test_a_subagent_of_droid_is_a_session_that_gets_titles_and_the_lesson_of_its_task(recorded):
    droid = recorded("droid-0.215.0")
    prompt = droid.find("UserPromptSubmit")
    droid.send("SessionStart", session_id=prompt["session_id"])
    assert ITEM in answer_droid(prompt)
    (child,) = [event for event in droid.events if "calling_session_id" in event]
    events = [event for event in droid.events if event["session_id"] == child["session_id"]]
    given = {event["hook_event_name"]: answer_droid(event) for event in events}
    assert [name for name, text in given.items() if TITLES in text] == ["SessionStart"]
    assert [name for name, text in given.items() if ITEM in text] == ["UserPromptSubmit"]
    assert droid.send("SubagentStop") == droid.send("PostToolUse", "Task") == ""


def test_the_end_of_a_background_task_of_droid_is_no_prompt_of_the_user(recorded):
    droid = recorded("droid-0.215.0")
    notice = droid.find("UserPromptSubmit") | {"message_id": droid.events[-1]["message_id"]}
    assert notice["message_id"].startswith("task-completion:")
    assert answer_droid(notice) == ""


def test_droid_gets_no_empty_object_which_it_would_give_to_the_model():
    event = {"hook_event_name": "SessionStart", "session_id": "s1", "cwd": "/", "source": "startup"}
    assert answer_event("droid", json.dumps(event), {}) == ("", "")


def test_what_a_compaction_of_droid_removed_comes_with_the_next_result(recorded, tmp_path):
    chat = tmp_path / "chat.jsonl"
    chat.write_text('{"type":"session_start","id":"s1"}\n')
    droid = recorded("droid-0.215.0")
    assert TITLES in droid.send("SessionStart", transcript_path=str(chat))
    assert droid.send("PostToolUse", "Read", transcript_path=str(chat)) == ""
    with chat.open("a") as file:
        file.write('{"type":"compaction_state","summaryText":"We read a file.","removedCount":1}\n')
    assert TITLES in droid.send("PostToolUse", "Read", transcript_path=str(chat))
    assert TITLES not in droid.send("PostToolUse", "Read", transcript_path=str(chat))


def test_kimi_gets_titles_and_lessons_with_a_prompt_in_its_own_form_and_a_gate(recorded, project):
    make_gate(project, "gate.py")
    kimi = recorded("kimi-2.1.0")
    assert kimi.send("SessionStart") == ""
    parts = [{"type": "text", "text": PROMPT}, {"type": "image_url", "image_url": {"url": "x"}}]
    answer, _log = kimi.enter("kimi", kimi.find("UserPromptSubmit") | {"prompt": parts})
    assert set(answer) == {"message"}
    assert ITEM in answer["message"]
    assert TITLES in answer["message"]
    edit = kimi.find("PreToolUse", "Edit")["tool_input"]
    gated = {"tool_input": {**edit, "path": "gate.py"}}
    answer, _log = kimi.enter("kimi", kimi.find("PreToolUse", "Edit") | gated)
    assert set(answer) == {"hookSpecificOutput"}
    decision = answer["hookSpecificOutput"]
    assert decision["permissionDecision"] == "deny"
    assert "Drop the column one release later" in decision["permissionDecisionReason"]
    assert kimi.send("PostToolUse", "Edit") == kimi.send("Stop") == ""


def test_what_a_compaction_of_kimi_removed_comes_with_the_next_prompt(recorded):
    kimi = recorded("kimi-2.1.0")
    session = {"session_id": kimi.find("PostCompact")["session_id"]}
    kimi.send("SessionStart", **session)
    assert ITEM in kimi.send("UserPromptSubmit", prompt=PROMPT, **session)
    assert ITEM not in kimi.send("UserPromptSubmit", prompt="rename the variable", **session)
    assert kimi.send("PostCompact") == "", "the client drops what it is given here"
    given = kimi.send("UserPromptSubmit", prompt="rename it back", **session)
    assert ITEM in given
    assert TITLES in given


def test_cline_gets_titles_and_lessons_with_the_result_of_a_call(recorded, project):
    cline = recorded("cline-3.0.65")
    assert cline.send("agent_start") == "", "its text would be dropped"
    before = cline.find("tool_call")
    edit = {"id": "call_1", "name": "run_commands", "input": {"commands": ["touch bot/run.py"]}}
    roots = {"workspaceRoots": [str(project)]}
    answer, _log = cline.enter("cline", before | {"tool_call": edit} | roots)
    assert set(answer) == {"contextModification"}
    assert ITEM in answer["contextModification"]
    assert TITLES in answer["contextModification"]
    result = cline.find("tool_result")
    failed = []
    for number in range(3):
        call = {**result["tool_result"], "id": f"f{number}"}
        call["input"] = {"commands": [f"make {number}"]}
        call["output"] = [{"query": "make", "result": "boom", "success": False}]
        failed.append(json.dumps(cline.enter("cline", result | {"tool_result": call} | roots)[0]))
    assert [GUIDANCE in text for text in failed] == [False, False, True]
    assert cline.send("agent_end") == ""


def test_a_failed_edit_of_cline_has_one_result_and_no_list(recorded):
    cline = recorded("cline-3.0.65")
    failed = cline.events[-1]
    assert failed["tool_result"]["output"]["success"] is False
    texts = []
    for number in range(3):
        arguments = failed["tool_result"]["input"] | {"old_text": f"NOPE {number}"}
        call = failed["tool_result"] | {"id": f"call_{number}", "input": arguments}
        texts.append(json.dumps(cline.enter("cline", failed | {"tool_result": call})[0]))
    assert [GUIDANCE in text for text in texts] == [False, False, True]


def test_a_resumed_session_of_cline_is_the_same_session(recorded, project):
    """Its task has a new id, and its chat has the lessons."""
    cline = recorded("cline-3.0.65")
    roots = {"workspaceRoots": [str(project)]}
    edit = {"id": "call_1", "name": "run_commands", "input": {"commands": ["touch bot/run.py"]}}
    cline.send("agent_start")
    assert ITEM in cline.send("tool_call", tool_call=edit, **roots)
    resumed = {"taskId": "conv_2", "agent_id": "agent_2", **roots}
    assert cline.send("tool_call", tool_call=edit | {"id": "call_2"}, **resumed) == ""


def test_a_subagent_of_cline_gets_the_titles_with_its_first_result(recorded, project):
    cline = recorded("cline-3.0.65")
    roots = {"workspaceRoots": [str(project)]}
    cline.send("agent_start")
    assert TITLES in cline.send("tool_result", **roots)
    child = {"taskId": "conv_2", "agent_id": "agent_2", "parent_agent_id": "agent_1", **roots}
    cline.send("agent_start", **child)
    call = {**cline.find("tool_result")["tool_result"], "id": "call_2"}
    assert TITLES in cline.send("tool_result", tool_result=call, **child)


def test_copilot_gets_titles_and_lessons_by_its_recorded_events(recorded):
    copilot = recorded("copilot-cli-1.0.102")
    assert TITLES in copilot.send("new")
    given = copilot.send("UserPromptSubmit")
    assert ITEM in given
    assert TITLES not in given
    for name in ("PreToolUse", "PostToolUse", "Stop", "SessionEnd"):
        assert "dditionalContext" not in copilot.send(name)


def test_copilot_gets_a_lesson_from_before_a_call_again_after_a_resume(recorded, project):
    kit.write(project, "lessons/gate.md", GATE)
    copilot = recorded("copilot-cli-1.0.102")
    calls = itertools.count()

    def run(command):
        """Send the event of a command, as if its clock showed another time for each."""
        stamp = f"2026-11-30T01:50:{next(calls):02}.000Z"
        return copilot.send("PreToolUse", tool_input={"command": command}, timestamp=stamp)

    copilot.send("new", initial_prompt="rename a variable")
    assert ITEM in run("touch bot/run.py")
    assert run("touch bot/run.py") == ""
    assert "Ask the owner" in run("touch gate.py")
    copilot.send("resume")
    assert ITEM in run("touch bot/run.py"), "the chat no longer has it"
    assert "Ask the owner" not in run("touch gate.py"), "the chat has the reason of the refusal"


def test_gemini_gets_titles_and_lessons_with_its_first_prompt(recorded):
    gemini = recorded("gemini-cli-0.61.0")
    assert gemini.send("SessionStart") == "", "with context, a resume drops the first prompt"
    given = gemini.send("BeforeAgent")
    assert ITEM in given
    assert TITLES in given
    for name in ("BeforeTool", "AfterTool", "AfterAgent", "SessionEnd"):
        assert "additionalContext" not in gemini.send(name)


def test_kilo_gets_titles_and_a_lesson_with_its_prompt(recorded):
    kilo = recorded("kilo-7.7.7")
    assert TITLES in kilo.send("start")
    given = kilo.send("prompt")
    assert ITEM in given
    assert TITLES not in given
    assert "context" not in kilo.send("stop")


def test_kilo_gets_the_lesson_of_an_edit_once_and_a_gate(recorded, project):
    """What is answered before a call is added to its result by the plugin."""
    kit.write(project, "lessons/gate.md", GATE)
    kilo = recorded("kilo-7.7.7")
    kilo.send("start")
    failed = kilo.find("failed", "edit")
    gated = {name: failed[name] for name in ("args", "callID")}
    answer, _log = kilo.enter("kilo", kilo.find("before", "edit") | gated)
    assert "Ask the owner" in answer["refuse"]
    assert "context" not in answer
    assert GUIDANCE not in kilo.send("failed", "edit")
    answer, _log = kilo.enter("kilo", kilo.find("before", "edit"))
    assert set(answer) == {"context"}
    assert ITEM in answer["context"]
    assert ITEM not in kilo.send("after", "edit")


def test_a_subagent_of_kilo_gets_titles_and_the_lesson_of_its_task(recorded):
    kilo = recorded("kilo-7.7.7")
    kilo.send("start")
    kilo.send("prompt")
    child = kilo.find("subagent")
    assert TITLES in kilo.send("subagent")
    _own, task = [event for event in kilo.events if event["event"] == "prompt"]
    assert task["sessionID"] == child["sessionID"]
    given = json.dumps(kilo.enter("kilo", task)[0])
    assert ITEM in given
    assert TITLES not in given
    assert ITEM not in kilo.send("after", "task")


def test_failed_commands_of_kilo_end_with_an_exit_code_and_count(recorded):
    kilo = recorded("kilo-7.7.7")
    result = kilo.find("after", "bash")
    assert result["metadata"]["exit"] == 2
    given = []
    for number in range(3):
        ids = {"callID": f"toolu_{number}", "messageID": f"msg_{number}"}
        arguments = {**result["args"], "command": f"make {number}"}
        given.append(kilo.send("after", "bash", args=arguments, **ids))
    assert [GUIDANCE in text for text in given] == [False, False, True]


def test_a_compaction_of_kilo_brings_the_lessons_again_and_so_does_a_new_process(recorded):
    """The plugin keeps them in the system prompt, which a new process builds from its start."""
    kilo = recorded("kilo-7.7.7")
    session = {"sessionID": kilo.find("compact")["sessionID"]}
    assert ITEM not in kilo.send("start", **session)
    assert ITEM in kilo.send("prompt", **session)
    answer, _log = kilo.enter("kilo", kilo.find("compact"))
    assert set(answer) == {"context"}
    assert "[ACTIVE LESSONS" in answer["context"]
    assert ITEM in answer["context"]
    assert TITLES not in answer["context"], "they still stand in the system prompt"
    started = kilo.send("start", **session)
    assert ITEM in started
    assert TITLES in started

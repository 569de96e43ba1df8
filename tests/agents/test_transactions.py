"""While one hook holds the journal, all others wait: nothing slow is done in a transaction."""

import json
import os
import pathlib
import subprocess
import sys

import pytest

from lessons_kb import Brain
from lessons_kb.agents.table import AGENTS
from tests.kit import make_brain, read_troubles

pytestmark = pytest.mark.slow

PROMPT = "Add a telegram command that restarts the service"
WORKER = pathlib.Path(__file__).with_name("transaction_worker.py")
HOOK = "from lessons_kb.service.fallback import main; main()"
RACERS = 32


def watch(project, *events):
    done = subprocess.run(
        [sys.executable, str(WORKER), json.dumps(events)],
        capture_output=True,
        text=True,
        cwd=project,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def payload(project, agent, name, number=0):
    """Return an event with what any agent sends, under the names that each of them uses."""
    cwd = str(project)
    bash = {"command": f"make build{number}"}
    edit = {"file_path": cwd + "/bot/a.py", "old_string": f"{number}", "new_string": "x"}
    before = AGENTS[agent].events[name] == "before"
    called = {"tool_name": "Edit", "tool_input": edit} if before else {"tool_name": "Bash"}
    event = {
        "cwd": cwd, "session_id": "s", "prompt": PROMPT, "last_assistant_message": "Left it out.",
        "transcript_path": cwd + "/record.jsonl", "tool_input": bash, "tool_use_id": f"c{number}",
        "tool_response": "", "error": "Exit code 1\nboom", "source": "startup", **called,
        "hook_event_name": name,
    }  # fmt: skip
    if agent == "opencode":
        ours = {"sessionID": "s", "callID": f"c{number}", "event": name, "text": PROMPT}
        call = {"tool": "bash", "args": bash, "output": "boom"}
        if before:
            call = {"tool": "edit", "args": {"filePath": edit["file_path"]}}
        return event | ours | call
    if agent == "cursor":
        named = {"conversation_id": "s", "generation_id": "g", "workspace_roots": [cwd]}
        return event | named | {"command": f"rm bot/{number}.py"}
    if agent == "codex":
        return event | {"turn_id": "t"}
    if agent == "antigravity":
        row = {"type": "USER_INPUT", "source": "USER_EXPLICIT", "content": f"{PROMPT} {number}"}
        (project / "record.jsonl").write_text(json.dumps(row) + "\n")
        return event | {"transcriptPath": event["transcript_path"]}
    at = {"timestamp": f"2026-11-21T21:17:{number:02d}Z"}
    return event if agent == "claude-code" else event | at


def occasion(project, agent, name, number):
    """Return an event, after the call that asks for the subagent which it begins with."""
    event = payload(project, agent, name, number)
    if name != "SubagentStart":
        return [(agent, event)]
    asked = {"subagent_type": "scout", "prompt": PROMPT}
    call = event | {"hook_event_name": "PreToolUse", "tool_name": "Agent", "tool_input": asked}
    return [(agent, call), (agent, event | {"agent_type": "scout", "agent_id": f"a{number}"})]


def record(project, agent, numbers):
    """Write what the agent's own record tells of calls that failed."""
    with (project / "record.jsonl").open("a", encoding="utf-8") as file:
        for number in numbers:
            line = {"command": f"make other{number}"}
            if agent == "codex":
                call = {"type": "function_call", "name": "exec_command", "call_id": f"r{number}"}
                call["arguments"] = json.dumps({"cmd": line["command"]})
                item = {"type": "CommandExecution", "id": f"r{number}", "exit_code": 3}
                ended = {"type": "item_completed", "item": item}
                entries = [("response_item", call), ("event_msg", ended)]
                lines = [{"type": kind, "payload": what} for kind, what in entries]
            else:
                used = {"type": "tool_use", "id": f"r{number}", "name": "Bash", "input": line}
                told = {"type": "tool_result", "tool_use_id": f"r{number}", "is_error": True}
                told["content"] = "Exit code 3"
                blocks = [("assistant", used), ("user", told)]
                lines = [
                    {"type": role, "uuid": f"u{role}{number}", "message": {"content": [block]}}
                    for role, block in blocks
                ]
            file.writelines(json.dumps(one) + "\n" for one in lines)


@pytest.fixture
def two_brains(project):
    """The project's, and the user's own: each has a journal of its own."""
    from lessons_kb.store.user_state import user_brain

    make_brain(user_brain())
    guard = (
        (project / "lessons" / "drop-column.md").read_text().replace("migrations/*.sql", "bot/**")
    )
    pathlib.Path(user_brain(), "lessons", "of-my-own.md").write_text(guard)
    (project / "record.jsonl").write_text("{}\n")
    return project


@pytest.mark.parametrize("agent", AGENTS)
def test_no_event_sleeps_or_touches_a_file_while_it_holds_the_journal(agent, two_brains):
    """Each event in a process of its own, as in life: what it imports it imports then."""
    with Brain.discover(two_brains) as brain:
        brain.refresh()
    events = [name for name, what in AGENTS[agent].events.items() if what != "end"]
    for number, name in enumerate([*events, *events]):
        if agent in ("codex", "claude-code"):
            record(two_brains, agent, range(5 * number, 5 * number + 5))
        told = watch(two_brains, *occasion(two_brains, agent, name, number))
        assert told["broken"] == [], name
        assert told["entered"], (name, read_troubles())
    failures = [payload(two_brains, agent, events[-1], n) for n in range(90, 99)]
    assert watch(two_brains, *((agent, one) for one in failures))["broken"] == []


def test_the_law_can_be_broken(two_brains, monkeypatch):
    """The worker sees what is forbidden: else the test above could not fail."""
    code = WORKER.read_text().replace(
        "    for agent, payload in json.loads(sys.argv[1]):\n",
        "    with Journal(sys.argv[2]).transaction():\n"
        "        open(os.devnull).close(), time.sleep(0), os.stat('/'), os.listdir('/')\n"
        "        import colorsys, subprocess; subprocess.run(['true'])\n"
        "    for agent, payload in []:\n",
    )
    done = subprocess.run(
        [sys.executable, "-c", code, "[]", str(two_brains / "any.db")],
        capture_output=True,
        text=True,
        check=True,
    )
    seen = {line.split()[0] for line in json.loads(done.stdout)["broken"]}
    assert {"open", "time.sleep", "os.stat", "os.listdir", "import", "subprocess.Popen"} <= seen


def test_of_32_parallel_calls_none_is_lost(project, enter):
    """Codex tells how a call ended in its record alone: each hook waits for it to be written."""
    enter("codex", payload(project, "codex", "UserPromptSubmit"))
    environment = {**os.environ, "LESSONS_HOOK_DEADLINE": "60"}
    racing = []
    for number in range(RACERS):
        process = subprocess.Popen(
            [sys.executable, "-c", HOOK, "codex"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            cwd=project,
            env=environment,
        )
        assert process.stdin is not None
        racing.append((process, payload(project, "codex", "PostToolUse", number)))
    for process, event in racing:
        assert process.stdin is not None
        process.stdin.write(json.dumps(event).encode())
        process.stdin.close()
    for process, _event in racing:
        assert process.stdout is not None
        process.stdout.read()
        process.stdout.close()
        assert process.wait(timeout=90) == 0
    with Brain.discover(project) as brain:
        calls = brain.journal.events(session="s", kinds=["command"])
    assert {call.id for call in calls} == {f"c{number}" for number in range(RACERS)}
    assert [trouble.message for trouble in read_troubles()] == []


COMMANDS = """\
    import pathlib
    from lessons_kb import Brain
    from lessons_kb.brain.health import check_health, apply_fixes
    from lessons_kb.model import Event
    with Brain.discover(os.getcwd()) as brain:
        brain.journal.record(Event(kind="prompt", session="s", text="token = " + "aB3" * 20))
        brain.preflight("Add a telegram command that restarts the service", session="s")
        brain.bump("telegram-allowlist", task="again")
        brain.stats.mark("telegram-allowlist", "helpful", session="s")
        runs = brain.layers[0].journal.runs
        runs.end(runs.begin(Event(kind="test", at=1.0)), Event(kind="test", at=2.0))
        check_health(brain, os.getcwd()), apply_fixes(brain)
"""


def test_no_command_does_either(project):
    begin = "    for agent, payload in"
    code = WORKER.read_text().replace(begin, COMMANDS + begin)
    done = subprocess.run(
        [sys.executable, "-c", code, "[]"], capture_output=True, text=True, cwd=project
    )
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["broken"] == []
    assert told["entered"] >= 4

"""While one hook holds the journal, all others wait: nothing slow is done in a transaction."""

import json
import pathlib
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from lessons_kb import Brain
from lessons_kb.agents.table import AGENTS
from lessons_kb.store.locations import user_brain
from tests.kit import make_brain, read_troubles
from tests.sessions import record_failure

pytestmark = pytest.mark.slow

PROMPT = "Add a telegram command that restarts the service"
WORKER = pathlib.Path(__file__).with_name("transaction_worker.py")
RACERS = 32


def watch(project, events, code=""):
    """Answer events in a fresh process; return what was done while it held the journal."""
    words = [sys.executable, *(["-c", code] if code else [str(WORKER)]), json.dumps(events)]
    words += [str(project / "any.db")]
    done = subprocess.run(words, capture_output=True, text=True, cwd=project)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def happen(session, name, number=0):
    """Return an event, after the call that asks for the subagent which it begins with."""
    agent, edit = session.agent, {"old_string": f"{number}", "new_string": "x"}
    edit["filePath" if agent in ("opencode", "kilo", "pi") else "file_path"] = (
        f"{session.project}/bot/a.py"
    )
    before = AGENTS[agent].events[name] == "before"
    ends = AGENTS[agent].events[name] == "stop"
    fields = {
        **({"last_assistant_message": "Left it out."} if ends else {"prompt": PROMPT}),
        "tool_name": "Edit" if before else "Bash", "tool_use_id": f"toolu_{number}",
        "tool_input": edit if before else {"command": f"make build{number}"}, "source": "startup",
        "tool_response": "", "error": "Exit code 1\nboom", "output": "boom", "command": f"rm bot/{number}.py",
    }  # fmt: skip
    if AGENTS[agent].events[name] == "batch":
        failed = {"tool_name": "Edit", "tool_use_id": f"t{number}", "tool_call_id": f"t{number}"}
        response = "<tool_use_error>boom</tool_use_error>"
        failed |= {"tool_input": edit, "status": "error"}
        fields["tool_calls"] = [
            {**failed, "tool_response": response if agent == "claude-code" else {"error": "boom"}}
        ]
    if agent == "antigravity":
        row = {"type": "USER_INPUT", "source": "USER_EXPLICIT", "content": f"{PROMPT} {number}"}
        session.transcript.write_text(json.dumps(row) + "\n")
        fields["transcriptPath"] = str(session.transcript)
    if name != "SubagentStart":
        return [(agent, session.event(name, **fields))]
    asked = {"tool_name": "Agent", "tool_input": {"subagent_type": "scout", "prompt": PROMPT}}
    call = session.event("PreToolUse", **fields | asked)
    begun = session.event(name, **fields, agent_type="scout", agent_id=f"a{number}")
    return [(agent, call), (agent, begun)]


@pytest.fixture
def two_brains(project):
    """The project's, and the user's own: each has a journal of its own."""
    make_brain(user_brain())
    guard = (project / "lessons" / "drop-column.md").read_text()
    own = pathlib.Path(user_brain(), "lessons", "of-my-own.md")
    own.write_text(guard.replace("migrations/*.sql", "bot/**"))
    (project / "transcript.jsonl").write_text("{}\n")
    return project


@pytest.mark.parametrize("agent", AGENTS)
def test_no_event_sleeps_or_touches_a_file_while_it_holds_the_journal(agent, two_brains, session):
    """Each event in a process of its own, as in life: what it imports it imports then."""
    with Brain.discover(two_brains) as brain:
        brain.refresh()
    session = session(agent)
    events = [name for name, what in AGENTS[agent].events.items() if what != "end"]
    for number, name in enumerate([*events, *events]):
        if agent in ("codex", "claude-code"):
            for one in range(5 * number, 5 * number + 5):
                record_failure(session, 100 + one)
        told = watch(two_brains, happen(session, name, number))
        assert told["broken"] == [], name
        assert told["entered"], (name, read_troubles())
    failures = [one for n in range(90, 99) for one in happen(session, events[-1], n)]
    assert watch(two_brains, failures)["broken"] == []


def test_the_law_can_be_broken(two_brains, monkeypatch):
    """The worker sees what is forbidden: else the test above could not fail."""
    code = WORKER.read_text().replace(
        "    for agent, payload in json.loads(sys.argv[1]):\n",
        "    with Journal(sys.argv[2]).transaction():\n"
        "        open(os.devnull).close(), time.sleep(0), os.stat('/'), os.listdir('/')\n"
        "        import colorsys, subprocess; subprocess.run(['true'])\n"
        "    for agent, payload in []:\n",
    )
    seen = {line.split()[0] for line in watch(two_brains, [], code)["broken"]}
    assert {"open", "time.sleep", "os.stat", "os.listdir", "import", "subprocess.Popen"} <= seen


def test_of_32_parallel_calls_none_is_lost(project, session, enter):
    """Codex tells how a call ended in its record alone: each hook waits for it to be written."""
    codex = session("codex")
    codex.transcript.write_text("{}\n")
    enter(*happen(codex, "UserPromptSubmit")[0])
    events = [happen(codex, "PostToolUse", number)[0] for number in range(RACERS)]
    with ThreadPoolExecutor(RACERS) as pool:
        list(pool.map(lambda one: enter(*one, LESSONS_HOOK_DEADLINE="60"), events))
    with Brain.discover(project) as brain:
        calls = brain.journal.events(session="s1", kinds=["command"])
    assert {call.id for call in calls} == {f"toolu_{number}" for number in range(RACERS)}
    assert [trouble.message for trouble in read_troubles()] == []


COMMANDS = """\
    import pathlib
    from lessons_kb import Brain
    from lessons_kb.collection.doctor import check_health, apply_fixes
    from lessons_kb.model import Event
    with Brain.discover(os.getcwd()) as brain:
        brain.journal.record(Event(kind="prompt", session="s", text="token = " + "aB3" * 20))
        brain.preflight("Add a telegram command that restarts the service", session="s")
        brain.bump("telegram-allowlist", task="again")
        brain.stats.mark("telegram-allowlist", "helpful", session="s")
        runs = brain.members[0].journal.runs
        runs.end(runs.begin(Event(kind="test", at=1.0)), Event(kind="test", at=2.0))
        check_health(brain, os.getcwd()), apply_fixes(brain)
"""


def test_no_command_does_either(project):
    begin = "    for agent, payload in"
    code = WORKER.read_text().replace(begin, COMMANDS + begin)
    told = watch(project, [], code)
    assert told["broken"] == []
    assert told["entered"] >= 4

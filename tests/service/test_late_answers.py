"""What the deadline cuts off: gates are decided in time all the same, the rest comes next, once."""

import json
import os
import pathlib
import signal
import sys
import threading

import pytest

from lessons_kb.hook_gates import LATE_LINE
from lessons_kb.service.fallback import _start_daemon
from tests.kit import Said, commit, wait_until
from tests.sessions import card

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform == "win32", reason="the client forks"),
]

SLUGGISH = """\
import os, sys, time
if sys.argv[-1:] == ["packed"]:
    time.sleep(float(os.environ.get("SLUGGISH", "0")))
pause = __file__ + ".daemon"
if "lessons_kb.service.daemon" in sys.orig_argv and os.path.exists(pause):
    time.sleep(3)
"""
TELEGRAM = "Telegram remote execution must require an allowlist"
GATED = card(
    "Never widen the rate limit by hand", "Change the table of limits", "Run the limits test",
    cause="A hand-made limit took the gateway down.", gate="once", paths='["limits/*.toml"]',
)  # fmt: skip
PRINTS = card(
    "Use the logger", "Log through app.log", cause="Output was lost.", gate="once",
    detect=r"[{regex: '\bprint\(', files: ['src/*.py'], unless: 'noqa'}]",
)  # fmt: skip
SYNTAX = card(
    "Never compare a password with ==", "Use compare_digest", cause="Timing told it.",
    gate="once", detect="[{ast: 'password == $A'}]",
)  # fmt: skip


class Agent:
    """A session of an agent on a machine where a fresh process is slow, or is not."""

    def __init__(self, installation, session="s1"):
        self.installation, self.session, self.calls = installation, session, 0

    def say(self, name, *, slow=0.0, environment=None, **fields):
        """Fire an event; ``slow`` is how many seconds a process sleeps that answers it."""
        event = self.installation.event(name, self.session) | fields
        how = {"SLUGGISH": str(slow), "LESSONS_HOOK_DEADLINE": "1.5" if slow else "50"}
        printed = self.installation.hook(
            event, **{"LESSONS_DAEMON": "0", **how, **(environment or {})}
        )
        return Said(json.loads(printed or "{}"))

    def edit(self, path, *, new="b", old="a", **how):
        self.calls += 1
        change = {"file_path": str(self.installation.project / path)}
        change |= {"old_string": old, "new_string": new}
        fields = {"tool_name": "Edit", "tool_use_id": f"t{self.calls}", "tool_input": change}
        return self.say("PreToolUse", **fields, **how)

    def prompt(self, text="Add a Telegram command that runs a shell script", **how):
        return self.say("UserPromptSubmit", prompt=text, **how)


@pytest.fixture
def sluggish(installation):
    """An installation whose fresh processes can be slowed down, with a trusted brain with gates."""
    (packages,) = installation.python.parent.parent.glob("lib/*/site-packages")
    (packages / "sluggish.py").write_text(SLUGGISH)
    (packages / "sluggish.pth").write_text("import sluggish\n")
    for name, text in (("limits", GATED), ("prints", PRINTS), ("syntax", SYNTAX)):
        (installation.brain / f"lessons/{name}.md").write_text(text)
    commit(installation.brain)
    installation.lessons("trust", str(installation.brain))
    installation.lessons("index")
    for path in ("limits/api.toml", "src/app.py", "src/login.py"):
        file = installation.project / path
        file.parent.mkdir(exist_ok=True)
        file.write_text("a = 1\n")
    return installation


@pytest.fixture
def agent(sluggish):
    return Agent(sluggish)


def finish(agent):
    """Wait until no process of the installation answers an event any more."""
    python = os.fsencode(agent.installation.python)

    def is_running():
        for process in pathlib.Path("/proc").glob("[0-9]*"):
            try:
                line = (process / "cmdline").read_bytes()
            except OSError:
                continue
            if line.startswith(python) and (b"hook_client" in line or b"fallback" in line):
                return True
        return False

    wait_until(lambda: not is_running())


@pytest.mark.parametrize(("first", "second"), [(3, 0), (0, 3)], ids=["cold first", "warm first"])
def test_a_gate_refuses_once_whichever_path_answers(agent, first, second):
    refused = agent.edit("limits/api.toml", slow=first).refused
    assert "Never widen the rate limit by hand" in refused
    assert "limits/api.toml is changed" in refused
    assert "A hand-made limit took the gateway down." in refused
    assert "- [ ] Change the table of limits" in refused
    finish(agent)
    assert agent.edit("limits/api.toml", slow=second).refused == ""
    finish(agent)
    assert "limits/other.toml" in agent.edit("limits/other.toml", slow=second).refused
    assert agent.edit("src/app.py", slow=3).refused == ""


def test_a_prompt_waits_for_a_daemon_that_is_starting(sluggish):
    (packages,) = sluggish.python.parent.parent.glob("lib/*/site-packages")
    (packages / "sluggish.py.daemon").touch()
    assert TELEGRAM in sluggish.prompt("first"), "a fresh process answers, and starts a daemon"
    assert TELEGRAM in sluggish.prompt("second", LESSONS_HOOK_DEADLINE="40")
    assert wait_until(sluggish.status)["answered"] == 1, "the second waited for it"


def test_a_process_ends_only_after_the_start_of_the_daemon_that_its_watch_began(
    tmp_path, monkeypatch
):
    begun, may_go_on, ended = threading.Event(), threading.Event(), []

    def start_daemon(environment, *, directory):
        if not begun.is_set():  # a second start is too early, and returns at once
            begun.set()
            assert may_go_on.wait(60)
        ended.append(directory)
        return True

    monkeypatch.setattr("lessons_kb.service.daemon_client.start_daemon", start_daemon)
    monkeypatch.delenv("LESSONS_DAEMON", raising=False)
    event = json.dumps({"cwd": str(tmp_path)}).encode()
    watch, main = (threading.Thread(target=_start_daemon, args=([event],)) for _ in range(2))
    watch.start()
    assert begun.wait(60)
    main.start()
    main.join(0.5)
    assert main.is_alive(), "its return would end the process, and with it the start"
    may_go_on.set()
    main.join(60)
    assert ended == [str(tmp_path)] * 2


def test_a_gate_is_looked_at_even_if_the_time_is_up_before(agent):
    how = {"LESSONS_HOOK_DEADLINE": "0.001"}
    for number in range(3):
        said = agent.edit(f"limits/{number}.toml", slow=3, environment=how)
        assert "Never widen the rate limit by hand" in said.refused


@pytest.mark.parametrize("deadline", ["0.4", "1.2"])
def test_a_daemon_that_does_not_answer_leaves_time_for_the_gates(deadline, agent, sluggish):
    assert TELEGRAM in sluggish.prompt("first"), "a fresh process answers, and starts a daemon"
    daemon = wait_until(sluggish.status)["pid"]
    os.kill(daemon, signal.SIGSTOP)
    how = {"LESSONS_DAEMON": "1", "LESSONS_HOOK_DEADLINE": deadline}
    try:
        said = agent.edit("limits/api.toml", slow=3, environment=how)
    finally:
        os.kill(daemon, signal.SIGCONT)
    assert "Never widen the rate limit by hand" in said.refused


@pytest.mark.parametrize("bytes_written", [None, 60, 200])
def test_an_event_whose_end_does_not_arrive_is_never_passed_in_silence(bytes_written, sluggish):
    change = {"file_path": str(sluggish.project / "limits/api.toml")}
    change |= {"old_string": "a", "new_string": "b"}
    event = sluggish.event("PreToolUse", "open") | {
        "tool_name": "Edit", "tool_use_id": "t1", "tool_input": change,
    }  # fmt: skip
    with sluggish.start_hook(LESSONS_HOOK_DEADLINE="0.5") as process:
        process.stdin.write(json.dumps(event).encode()[:bytes_written])
        process.stdin.flush()  # the pipe stays open
        said = Said(json.loads(process.stdout.read() or "{}"))
    if bytes_written is None:
        assert "Never widen the rate limit by hand" in said.refused
    else:
        assert "not checked before this call" in said.line


def test_a_call_whose_gates_cannot_be_looked_at_in_time_is_called_not_checked(agent):
    gates = agent.installation.package / "hook_gates.py"
    gates.write_text("import time\ntime.sleep(30)\n")  # as on a machine that is far too busy
    said = agent.edit("limits/api.toml", slow=3)
    assert said.refused == ""
    assert "not checked before this call" in said.line


def test_a_gate_refuses_an_event_that_is_too_long_to_answer(agent):
    said = agent.edit("limits/api.toml", new="b" * 33_000_000)
    assert "Never widen the rate limit by hand" in said.refused


def test_a_mistake_in_the_text_is_found_by_the_second_stage(agent):
    assert agent.edit("src/app.py", new="print(1)  # noqa", slow=3) == {}
    assert agent.edit("src/app.md", new="print(1)", slow=3) == {}
    assert "Use the logger" in agent.edit("src/app.py", new="print(1)", slow=3).refused


def test_what_it_cannot_decide_is_called_not_checked(agent):
    said = agent.edit("src/login.py", new="if password == given: pass", slow=3)
    assert said.refused == ""
    assert "not checked before this call" in said.line
    assert "Never compare a password with ==" in said.line
    finish(agent)
    after = agent.say("PostToolUse", tool_name="Read", tool_input={}, tool_response={})
    assert "Use compare_digest" in after.context
    assert after.line.count("Never compare a password") == 0, "it was said already"
    refused = agent.edit("src/login.py", new="if password == given: pass").refused
    assert "Never compare a password with ==" in refused, "nobody heard the first refusal"


def test_a_late_prompt_arrives_with_the_next_call_once(agent):
    assert agent.prompt(slow=3) == {}
    finish(agent)
    said = agent.edit("src/app.py", old="x")
    assert TELEGRAM in said.context
    assert LATE_LINE in said.line
    again = agent.edit("src/app.py", old="y")
    assert TELEGRAM not in again.context
    assert LATE_LINE not in again.line
    assert agent.prompt("something else", slow=3) == {}
    finish(agent)
    assert LATE_LINE not in agent.prompt("another thing").line, "once a session"
    doctor = agent.installation.run("doctor").stdout
    assert "late: 2 events" in doctor
    stats = agent.installation.lessons("stats")
    assert "late" in stats


def test_a_late_lesson_outlives_a_refusal_that_comes_too_late_as_well(agent):
    assert agent.prompt(slow=3) == {}
    assert "Never widen the rate limit by hand" in agent.edit("limits/api.toml", slow=3).refused
    finish(agent)
    assert TELEGRAM in agent.edit("src/other.py", old="x").context
    assert TELEGRAM not in agent.edit("src/other.py", old="y").context, "once"


def test_a_late_lesson_outlives_a_refusal_that_nobody_heard(agent):
    assert agent.prompt(slow=3) == {}
    said = agent.edit("src/login.py", new="if password == given: pass", slow=3)
    assert said.refused == ""
    finish(agent)
    context = agent.edit("src/other.py", old="x").context
    assert TELEGRAM in context
    assert "Use compare_digest" in context


def test_at_a_stop_only_the_user_is_told(agent):
    assert agent.prompt(slow=3) == {}
    finish(agent)
    stop = agent.say("Stop", last_assistant_message="done")
    assert stop.context == ""
    assert LATE_LINE in stop.line
    assert TELEGRAM in agent.prompt("go on").context


def test_a_card_or_a_brain_that_has_changed_refuses_nothing(agent, sluggish):
    path = sluggish.brain / "lessons/limits.md"
    path.write_text(GATED.replace("gate: once", "gate: none"))
    said = agent.edit("limits/api.toml", slow=3)
    assert said.refused == ""
    assert "not checked" in said.line
    sluggish.lessons("index")
    assert agent.edit("limits/api.toml", slow=3) == {}
    path.write_text(GATED)
    sluggish.lessons("index")
    assert agent.edit("limits/api.toml", slow=3).refused
    sluggish.lessons("trust", "--revoke", str(sluggish.brain))
    other = Agent(sluggish, "s2")
    assert other.edit("limits/api.toml", slow=3) == {}


@pytest.mark.parametrize(
    ("variable", "below"),
    [("LESSONS_STATE_HOME", ""), ("XDG_STATE_HOME", "lessons-kb"),
     ("HOME", ".local/state/lessons-kb")],
)  # fmt: skip
def test_a_repository_cannot_bring_gates(agent, sluggish, variable, below):
    state = pathlib.Path(sluggish.environment["HOME"], ".local/state/lessons-kb")
    assert agent.edit("limits/first.toml", slow=3).refused, "it would refuse where it may"
    folder = sluggish.project / "state" / below / "gates"
    folder.mkdir(parents=True)
    (sluggish.project / ".git").mkdir()
    (sluggish.project / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    for file in (state / "gates").iterdir():
        (folder / file.name).write_bytes(file.read_bytes())
    sluggish.environment[variable] = str(sluggish.project / "state")
    assert agent.edit("limits/api.toml", slow=3) == {}

"""A hook in surroundings that work against it: exit 0, valid output, in time, nothing broken."""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import time

import pytest

from lessons_kb.agents.table import AGENTS
from tests.kit import read_troubles

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(os.name == "nt", reason="closed files and homes of POSIX"),
]

PROMPT = "Add a telegram command that restarts the service"
HOOK = "from lessons_kb.service.fallback import main; main()"
ADVICE = "Reject every chat id"
MEGABYTE = 1_000_000


def prompt(project, session="s1", text=PROMPT):
    event = {"hook_event_name": "UserPromptSubmit", "prompt": text}
    return json.dumps({"session_id": session, "cwd": str(project)} | event).encode()


def run(shell, data, cwd, *, agent="claude-code", **variables):
    """Run the hook as ``"$@"`` of a line of shell; the interpreter's own time is granted."""
    begun = time.monotonic()
    done = subprocess.run(
        ["sh", "-c", shell, "sh", sys.executable, "-c", HOOK, agent],
        input=data,
        capture_output=True,
        cwd=cwd,
        env=os.environ | {"LESSONS_HOOK_DEADLINE": "20"} | variables,
        timeout=60,
    )
    assert done.returncode == 0
    assert b"Traceback" not in done.stdout + done.stderr
    if done.stdout.strip():
        json.loads(done.stdout)
    limit = 25 if "LESSONS_HOOK_DEADLINE" not in variables else 15
    assert time.monotonic() - begun < limit
    return done


@pytest.mark.parametrize("home", ["/proc/nowhere", "/dev/null", "", "relative/home", "no folder"])
def test_a_home_that_takes_nothing_is_silence(project, home, tmp_path):
    if home == "no folder":
        state = pathlib.Path(os.environ["HOME"], ".local", "state")
        shutil.rmtree(state)
        state.write_text("no folder")
        home = os.environ["HOME"]
    # An empty or relative one falls back to the account's, which no test may touch.
    away = {} if home.startswith("/") else {"XDG_STATE_HOME": str(tmp_path / "state")}
    away |= {"XDG_DATA_HOME": str(tmp_path / "data")} if away else {}
    for event in ("UserPromptSubmit", "PreToolUse", "PostToolUse", "Stop", "SessionEnd"):
        data = prompt(project).replace(b"UserPromptSubmit", event.encode())
        answer = json.loads(run('exec "$@"', data, project, HOME=home, **away).stdout or b"{}")
        # The model is told nothing; the user may learn that the brain is not trusted.
        assert set(answer) <= {"systemMessage"}
        assert "lessons trust" in answer.get("systemMessage", "lessons trust")


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&-", "<&- >&- 2>&-"])
def test_closed_standard_files_harm_no_file(project, closed):
    run('exec "$@"', prompt(project, "before"), project)
    run(f'exec "$@" {closed}', prompt(project), project)
    # A card that changes has every file of the index written.
    card = project / "lessons" / "telegram-allowlist.md"
    card.write_text(card.read_text() + "\nChanged.\n")
    run(f'exec "$@" {closed}', prompt(project, "s2"), project)
    assert ADVICE.encode() in run('exec "$@"', prompt(project, "s3"), project).stdout
    assert not [t for t in read_troubles() if "not a JSON object" not in t.message]


def test_an_endless_event_is_refused_and_bytes_that_are_no_text_are_read_around(project):
    data = prompt(project).replace(b"telegram", b"telegram \xff\xfe")
    assert ADVICE.encode() in run('exec "$@"', data, project).stdout
    data = prompt(project, text="telegram " * (50 * MEGABYTE // 9))
    assert run('exec "$@"', data, project).stdout == b""
    assert "the event has 50,0" in read_troubles()[-1].message


@pytest.mark.parametrize("letter", ["x", "telegram ", "\ud800", "/a/b.py:12 "])
def test_the_largest_event_is_answered_in_time(project, letter):
    text = letter * (15 * MEGABYTE // len(json.dumps(letter)))
    call = {"hook_event_name": "PostToolUseFailure", "tool_name": "Bash", "tool_use_id": "t"}
    call |= {"tool_input": {"command": text}, "error": text, "session_id": "s", "cwd": str(project)}
    for data in (prompt(project, text=text), json.dumps(call).encode()):
        before = seconds_of_children()
        run('exec "$@"', data, project)
        # Not by the clock: other tests run meanwhile. The deadline is 2 s.
        assert seconds_of_children() - before < 1.5
    assert not read_troubles()


def seconds_of_children():
    """Return what the processor has worked for processes that have ended."""
    spent = os.times()
    return spent.children_user + spent.children_system


def test_nobody_reads_the_answer(project):
    reads, writes = os.pipe()
    os.close(reads)
    try:
        done = subprocess.run(
            [sys.executable, "-c", HOOK, "gemini-cli"],
            input=prompt(project),
            stdout=writes,
            stderr=subprocess.PIPE,
        )
    finally:
        os.close(writes)
    assert (done.returncode, done.stderr) == (0, b"")


def test_an_answer_goes_whole_into_a_pipe_that_does_not_wait(project):
    reads, writes = os.pipe()
    os.set_blocking(writes, False)
    full = b"x" * 65_536
    os.write(writes, full)
    with subprocess.Popen(
        [sys.executable, "-c", HOOK, "claude-code"], stdin=subprocess.PIPE, stdout=writes,
        env=os.environ | {"LESSONS_HOOK_DEADLINE": "20"},
    ) as process:  # fmt: skip
        os.close(writes)
        assert process.stdin is not None
        process.stdin.write(prompt(project))
        process.stdin.close()
        time.sleep(0.5)
        with os.fdopen(reads, "rb") as pipe:
            said = pipe.read()[len(full) :]
    assert ADVICE in json.loads(said)["hookSpecificOutput"]["additionalContext"]


@pytest.mark.parametrize("agent", ["claude-code", "cursor", "opencode"])
def test_a_brain_that_goes_away_in_a_session_is_silence(project, enter, agent):
    event = {"session_id": "s1", "sessionID": "s1", "conversation_id": "s1", "cwd": str(project)}
    event |= {"generation_id": "g"} if agent == "cursor" else {}
    enter("claude-code", json.loads(prompt(project)))
    shutil.rmtree(project)
    project.mkdir()
    for name in AGENTS[agent].events:
        key = "event" if agent == "opencode" else "hook_event_name"
        said, _ = enter(agent, event | {key: name, "prompt": PROMPT, "text": PROMPT})
        assert said == {}
    assert list(project.iterdir()) == []


def test_a_working_directory_that_is_gone_keeps_its_session_s_brain(project):
    run('exec "$@"', prompt(project, text="rename this variable"), project)
    gone = project / "bot" / "gone"
    gone.mkdir()
    done = run(f'cd "{gone}" && rmdir "{gone}" && exec "$@"', prompt(gone), project)
    assert ADVICE.encode() in done.stdout
    gone.mkdir()
    other = prompt(gone, "other")
    assert run(f'cd "{gone}" && rmdir "{gone}" && exec "$@"', other, project).stdout == b""
    assert not read_troubles()


def test_a_clock_that_jumps_back_loses_nothing_of_the_turn(claude, monkeypatch):
    real = time.time
    assert ADVICE in claude.prompt(PROMPT).context
    monkeypatch.setattr(time, "time", lambda: real() - 86_400)
    done = "Reject each chat id that is not on the allowlist, and cover the rejection with a test"
    claude.edit("bot/a.py", 1, "Post", done, tool_response={})
    assert claude.stop("It is done.") == {}
    assert claude.prompt(PROMPT, 2) == {}
    assert not read_troubles()


@pytest.mark.parametrize("deadline", ["nan", "-1", "0", "soon", ""])
def test_a_deadline_that_is_none_is_the_usual_one(project, deadline):
    run('exec "$@"', prompt(project, "before"), project)
    done = run('exec "$@"', prompt(project), project, LESSONS_HOOK_DEADLINE=deadline)
    assert ADVICE.encode() in done.stdout or read_troubles()[-1].message.startswith("no answer")


@pytest.mark.parametrize(
    "broken",
    [
        "import _thread; _thread.start_new_thread = lambda *_: 1 / 0",
        "import os; os.fstat = lambda *_: 1 / 0",
        "import json; json.loads = None",
    ],
)
def test_a_system_that_gives_nothing_is_silence(project, broken):
    done = subprocess.run(
        [sys.executable, "-c", f"{broken}\n{HOOK}", "cursor"],
        input=prompt(project),
        capture_output=True,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, b"{}\n", b"")


SLOW_START = """\
import sys, time
class Slow:
    def find_spec(name, path=None, target=None):
        if name == "lessons_kb.session.dispatch":
            time.sleep(600)
sys.meta_path.insert(0, Slow)
"""


NEVER_ENDS = {
    "program": SLOW_START,
    "input": "",
    "log": "import time, lessons_kb.store.locations as l; l.log_trouble = lambda *_: time.sleep(9)",
}


@pytest.mark.parametrize(("what", "code"), NEVER_ENDS.items())
def test_the_deadline_counts_whatever_never_ends(what, code):
    with subprocess.Popen(
        [sys.executable, "-c", f"{code}\n{HOOK}", "gemini-cli"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        env=os.environ | {"LESSONS_HOOK_DEADLINE": "0.5"},
    ) as process:  # fmt: skip
        if what == "program":
            process.stdin.write(b"{}")
            process.stdin.close()
        assert process.wait(timeout=30) == 0
        assert process.stdout.read() == b"{}\n"
        process.stdin.close()


def test_a_full_disk_is_silence(project):
    said = run('ulimit -f 0; exec "$@"', prompt(project), project).stdout
    assert said.strip() in (b"", b"{}") or ADVICE.encode() in said

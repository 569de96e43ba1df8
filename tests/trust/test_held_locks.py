"""A lock that another process holds, or that cannot be had: said in one line, and answered."""

import errno
import json
import os
import pathlib
import signal
import subprocess
import sys
import time

import pytest

from lessons_kb import Brain
from tests.kit import START, read_troubles, run_python

pytestmark = pytest.mark.slow
BUSY = "another process is writing the index"

HOLD = """
import sys, time
from lessons_kb.store.locks import hold_writer
with hold_writer(sys.stdin.readline().strip(), patience=5) as refused:
    print(refused or "held", flush=True)
    time.sleep(120)
"""
ANSWER = """
from lessons_kb.service.hook_event import answer_event
print(answer_event("claude-code", os.environ["EVENT"], os.environ))
"""
PROMPT = {"prompt": "Add a telegram command that runs a shell script"}
NO_LOCKS = """
import fcntl, os, sys
def refuse(*_): raise OSError(int(os.environ["REFUSAL"]), os.strerror(int(os.environ["REFUSAL"])))
fcntl.flock = refuse
"""


def run(root, *words, code=START, **environment):
    done = run_python(code, *words, cwd=root, **environment)
    assert "Warning" not in done.err
    return done


@pytest.fixture
def indexed(root, telegram):
    with Brain.open(root) as brain:
        brain.refresh()
        cache = brain.members[0].cache
    telegram.write_text(telegram.read_text() + "\nAnother line.\n")
    return pathlib.Path(cache)


@pytest.fixture
def holder(indexed):
    with subprocess.Popen(
        [sys.executable, "-c", HOLD], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        print(indexed / "writer.lock", file=process.stdin, flush=True)
        assert process.stdout.readline() == "held\n"
        yield process
        process.kill()


def test_a_stopped_writer_is_waited_for_no_longer_than_another(root, holder):
    holder.send_signal(signal.SIGSTOP)
    began = time.monotonic()
    with Brain.open(root) as brain:
        assert brain.search("telegram")
        assert brain.preflight("Add a telegram command that runs a script").text
    assert time.monotonic() - began < 60
    assert "previous index" in run(root, "search", "telegram", "--explain").err
    for form in ([], ["--json"]):
        code, out, err = run(root, "search", "telegram", *form)
        assert (code, err.count("\n")) == (0, 1)
        assert "allowlist" in out
        assert BUSY in err
    holder.kill()
    code, _out, err = run(root, "index")
    assert (code, err) == (0, "")


def test_a_writer_at_work_is_told_of_at_once(root, holder):
    began = time.monotonic()
    with Brain.open(root) as brain:
        assert brain.search("telegram")
        assert brain.members[0].stale == BUSY
    assert time.monotonic() - began < 60
    with subprocess.Popen(
        [sys.executable, "-c", START, "index"],
        cwd=root, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as waiter:  # fmt: skip
        assert BUSY in waiter.stderr.readline()
        holder.kill()
        assert waiter.wait(timeout=30) == 0


def test_nothing_is_indexed_and_the_writer_is_stopped(root, indexed, holder):
    for path in indexed.glob("catalogue.db*"):
        path.unlink()
    holder.send_signal(signal.SIGSTOP)
    code, out, err = run(root, "search", "telegram")
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert BUSY in err


@pytest.mark.parametrize("refusal", [errno.ENOLCK, errno.ENOSYS])
def test_a_file_system_without_locks(root, indexed, refusal):
    env = {"REFUSAL": str(refusal)}
    code, out, err = run(root, "search", "telegram", "--explain", code=NO_LOCKS + START, **env)
    assert code == 0
    assert "allowlist" in out
    assert "used the previous index" in err
    assert "locks" in err
    for arguments in (["index"], ["index", "--rebuild"], ["bump", "telegram-allowlist"]):
        code, out, err = run(root, *arguments, code=NO_LOCKS + START, **env)
        assert (code, out, err.count("\n")) == (2, "", 1), (arguments, out, err)
        assert "locks" in err
    assert run(root, "search", "telegram", code=NO_LOCKS + START, **env)[0] == 0


@pytest.mark.parametrize("refusal", [errno.ENOLCK, errno.EOPNOTSUPP, errno.EIO])
def test_a_card_that_no_index_can_hold_is_no_silence(root, indexed, refusal):
    (root / "lessons/new-card.md").write_text(
        "---\ntype: lesson\ntitle: Pay back in the currency of the order\n---\n\n## Root Cause\n\nSums.\n"
    )
    env = {"REFUSAL": str(refusal), "LESSONS_DAEMON": "0"}
    for words in (["preflight", "pay back"], ["why", "pay back"], ["bump", "new-card"]):
        done = run(root, *words, code=NO_LOCKS + START, **env)
        assert done.err.count("\n") == 1, (words, done)
        assert "writer.lock" in done.err
        assert "no card named" not in done.err
    code, out, _err = run(root, "doctor", code=NO_LOCKS + START, **env)
    assert code == 1
    (line,) = [line for line in out.splitlines() if " index:" in line]
    assert line.startswith("✗")
    assert "writer.lock" in line
    assert "fresh" not in line


def test_a_hook_logs_that_the_index_cannot_be_brought_up_to_date(root, indexed):
    event = {"hook_event_name": "UserPromptSubmit", "session_id": "s", "cwd": str(root)}
    told = run_python(
        NO_LOCKS + ANSWER, cwd=root, REFUSAL=str(errno.ENOLCK), EVENT=json.dumps(event | PROMPT)
    )
    assert told.code == 0, told.err
    (trouble,) = read_troubles()
    assert "used the previous index" in trouble.message
    assert "locks" in trouble.message


@pytest.mark.skipif(os.name == "nt", reason="Windows limits no files")
@pytest.mark.parametrize("limit", [0, 8_192, 40_960])
def test_a_limit_on_the_size_of_files(root, indexed, limit):
    code = (
        "import resource, sys; sys.dont_write_bytecode = True  # it would be cut short\n"
        f"resource.setrlimit(resource.RLIMIT_FSIZE, ({limit}, {limit}))\n{START}"
    )
    for _ in range(2):
        status, out, err = run(root, "search", "telegram", code=code)
        assert status == 0, err
        assert "allowlist" in out
    for arguments in (["index"], ["index", "--rebuild"]):
        status, _out, err = run(root, *arguments, code=code)
        assert status == 0 or err.count("\n") == 1, err
    assert run(root, "search", "telegram", code=code)[0] == 0
    assert run(root, "index")[0] == 0

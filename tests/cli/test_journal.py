"""`lessons run` and `lessons events`, as a user meets them."""

import json
import os
import pathlib
import re
import signal
import string
import subprocess
import sys
import time
from random import Random

import pytest

from lessons_kb.cli.main import hoist_options
from tests.kit import state_dir, trust_brain

pytestmark = pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")


@pytest.fixture
def shop(tmp_path, monkeypatch):
    """A trusted brain without cards; the working directory is in it."""
    root = tmp_path / "shop"
    (root / "lessons").mkdir(parents=True)
    (root / "lessons.toml").write_text("")
    trust_brain(str(root))
    monkeypatch.chdir(root)
    return root


@pytest.fixture
def start():
    started = []

    def start(*arguments, **how):
        command = [sys.executable, "-m", "lessons_kb.cli.main", *arguments]
        streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **how}
        started.append(subprocess.Popen(command, **streams))
        return started[-1]

    yield start
    for process in started:
        process.kill()
        process.communicate()


@pytest.fixture
def journalled(lessons):
    def journalled(*arguments):
        return json.loads(lessons("events", "--json", *arguments).out)

    return journalled


def running(seconds):
    """Return the processes that sleep for so long."""
    found = []
    for folder in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            words = (folder / "cmdline").read_bytes().split(b"\0")
            dead = (folder / "stat").read_bytes().rpartition(b")")[2].split()[0] in (b"Z", b"X")
        except OSError:
            continue
        if words[:2] == [b"sleep", seconds.encode()] and not dead:
            found.append(int(folder.name))
    return found


def wait_for(condition):
    deadline = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < deadline, "it never came"
        time.sleep(0.05)


def a_while():
    return f"1{Random().randrange(10**6):06d}.{Random().randrange(10**6):06d}"


@pytest.mark.slow
def test_output_and_exit_code_stay_as_they_are(shop, start, journalled):
    process = start("run", "--", "sh", "-c", "printf 'a\\377b'; printf err >&2; exit 7")
    assert (process.communicate(), process.returncode) == ((b"a\377b", b"err"), 7)
    (event,) = journalled()
    assert (event["kind"], event["outcome"]) == ("command", "exec_error")
    assert (event["record"]["run"]["state"], event["record"]["run"]["code"]) == ("failed", 7)
    process = start("run", "--stall", "1", "--", "sleep", "100")
    _, err = process.communicate(timeout=20)
    assert process.returncode == 124
    assert (
        err
        == b"lessons: No output for 1 s, so the command was ended; with `--stall 0`, it runs on.\n"
    )
    assert journalled()[-1]["record"]["run"]["state"] == "stalled"
    process = start("run", "no-such-command-here", "test")
    expected = b"lessons: no-such-command-here: command not found\n"
    assert (process.communicate(timeout=20), process.returncode) == ((b"", expected), 127)
    assert (journalled()[-1]["kind"], journalled()[-1]["outcome"]) == ("command", "tool_not_found")


@pytest.mark.slow
def test_ctrl_c_leaves_no_child_and_one_cancelled_record(shop, start, journalled):
    seconds = a_while()
    process = start("run", "--", "sh", "-c", f"sleep {seconds} & sleep {seconds}")
    wait_for(lambda: running(seconds))
    process.send_signal(signal.SIGINT)
    process.send_signal(signal.SIGINT)
    assert process.wait(20) == 130
    assert not running(seconds)
    (event,) = journalled()
    assert event["outcome"] == "cancelled"
    assert event["record"]["run"]["state"] == "cancelled"


@pytest.mark.slow
def test_after_kill_9_nothing_is_left_running(shop, start, journalled):
    seconds = a_while()
    process = start("run", "--", "sh", "-c", f"echo up; exec sleep {seconds}")
    assert process.stdout is not None
    assert process.stdout.readline() == b"up\n"
    process.kill()
    process.wait()
    (event,) = journalled()
    assert event["outcome"] == "cancelled"
    assert event["record"]["run"]["abandoned"] is True
    for left in running(seconds):
        os.kill(left, signal.SIGKILL)


@pytest.mark.slow
def test_no_secret_of_a_failing_command_is_kept(shop, start):
    dice = Random(11)
    key = "sk-" + "".join(dice.choices(string.ascii_letters + string.digits, k=40)) + "1A"
    bearer = "".join(dice.choices(string.ascii_letters + string.digits, k=32)) + "7"
    password = "Xk9!correct-horse"
    script = shop / "fail.sh"
    script.write_text(
        f"echo 'OPENAI_API_KEY={key}'; echo 'Authorization: Bearer {bearer}' >&2\n"
        f"echo 'cannot connect to postgres://bob:{password}@db/shop'; echo password: {password}\n"
        "exit 1\n"
    )
    command = f"curl -u bob:{password} x; DB_PASSWORD={password} sh fail.sh"
    process = start("run", "--", "sh", "-c", command)
    out, err = process.communicate(timeout=20)
    assert key.encode() in out
    assert bearer.encode() in err
    kept = b"".join(
        file.read_bytes()
        for file in pathlib.Path(state_dir(str(shop))).rglob("*")
        if file.is_file()
    )
    assert b"cannot connect" in kept
    for secret in (key, bearer, password):
        assert secret.encode() not in kept
        assert secret[3:12].encode() not in kept


@pytest.mark.slow
def test_without_a_brain_of_ones_own_it_runs_all_the_same(tmp_path, monkeypatch, start):
    monkeypatch.chdir(tmp_path)
    process = start("run", "--", "sh", "-c", "echo x; exit 5")
    assert (process.communicate(timeout=20), process.returncode) == ((b"x\n", b""), 5)
    (tmp_path / "lessons.toml").write_text("")
    process = start("run", "echo", "x")
    out, err = process.communicate(timeout=20)
    assert (out, process.returncode, err.count(b"\n")) == (b"x\n", 0, 1)
    assert b"not recorded" in err
    assert b"lessons trust" in err


@pytest.mark.parametrize(
    ("given", "hoisted"),
    [
        (["run", "pytest", "--json", "-q"], ["run", "--", "pytest", "--json", "-q"]),
        (["run", "--", "a", "--json"], ["run", "--", "a", "--json"]),
        (["run", "--json", "--stall", "5", "a", "--json"], ["--json", "run", "--stall", "5", "--", "a", "--json"]),
        (["run", "--stall=5", "a", "--brain", "x"], ["run", "--stall=5", "--", "a", "--brain", "x"]),
        (["--brain", "run", "search", "run", "--json"], ["--brain", "run", "--json", "search", "run"]),
        (["run", "--brain", "b", "a"], ["--brain", "b", "run", "--", "a"]),
        (["run", "--help"], ["run", "--help"]),
    ],
)  # fmt: skip
def test_the_options_of_the_command_are_its_own(given, hoisted):
    assert hoist_options(given) == hoisted


@pytest.mark.slow
def test_events_are_listed_newest_last(shop, start, lessons):
    empty = lessons("events")
    assert (empty.code, empty.out) == (0, "")
    assert "no matching events" in empty.err
    for word in ("first", "second"):
        start("run", "--stage", "TEST", "echo", word).wait(20)
    start("run", "--session", "s-1", "pytest", "--no-such-option").wait(20)
    shown = lessons("events").out.splitlines()
    assert re.fullmatch(r"WHEN\tKIND\tTOOL\tOUTCOME\tWHAT\tSESSION", shown[0])
    assert re.match(
        r"\d\d-\d\d \d\d:\d\d:\d\d\tcommand\t\s*completed\t\[TEST\] echo first\s*$", shown[1]
    )
    assert re.match(r".*\ttest\t\s*failed\tpytest --no-such-option\ts-1$", shown[3])
    assert len(lessons("events", "--kind", "test").out.splitlines()) == 2
    assert len(lessons("events", "--session", "s-1").out.splitlines()) == 2
    assert len(lessons("events", "--limit", "1").out.splitlines()) == 2
    assert len(lessons("events", "--since", "2h").out.splitlines()) == 4
    assert lessons("events", "--since", "2126-01-31").out == ""
    assert lessons("events", "--tool", "Bash").out == ""


@pytest.mark.slow
def test_events_are_followed_as_they_come(shop, start):
    start("run", "echo", "old").wait(20)
    follower = start("events", "--follow", "--json", "--kind", "command")
    assert follower.stdout is not None
    assert json.loads(follower.stdout.readline())["text"] == "echo old"
    for word in ("new", "newer"):  # each once
        start("run", "echo", word).wait(20)
        assert json.loads(follower.stdout.readline())["text"] == f"echo {word}"
    follower.send_signal(signal.SIGINT)
    assert follower.wait(20) == 130

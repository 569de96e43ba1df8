"""Whatever happens to the daemon, every hook is answered right, and nothing is left behind."""

import concurrent.futures
import json
import os
import pathlib
import random
import shutil
import signal
import sys
import threading
import time

import pytest

from lessons_kb.service.daemon_client import RECORD_NAME
from tests.kit import wait_until
from tests.service.test_daemon import LESSON, socket_of

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="reads /proc"),
    pytest.mark.slow,
]

KILLS = int(os.environ.get("LESSONS_TEST_KILLS", "40"))
SESSIONS = int(os.environ.get("LESSONS_TEST_SESSIONS", "200"))
HOOKS_AT_ONCE = 4
DEADLINE = 50.0


class Traffic:
    """Hooks that run one after another in several processes, until it is left."""

    def __init__(self, installation):
        self.installation = installation
        self.wrong: list[str] = []
        self.answered = 0
        self.slowest = 0.0
        self._leaving = threading.Event()
        self._pool = concurrent.futures.ThreadPoolExecutor(HOOKS_AT_ONCE)

    def __enter__(self):
        self._done = [self._pool.submit(self._run, number) for number in range(HOOKS_AT_ONCE)]
        return self

    def __exit__(self, *_):
        self._leaving.set()
        for done in self._done:
            done.result()

    def _run(self, number):
        count = 0
        while not self._leaving.is_set():
            count += 1
            began = time.monotonic()
            answer = self.installation.prompt(f"{number} {count} {began}")
            self.slowest = max(self.slowest, time.monotonic() - began)
            self.answered += 1
            if answer.partition("systemMessage")[0].count(LESSON) != 1:
                self.wrong.append(answer)


def listeners(path):
    """Count who listens on a socket of this name."""
    rows = [line.split() for line in pathlib.Path("/proc/net/unix").read_text().splitlines()]
    return sum(row[-1] == path and row[3] == "00010000" for row in rows)


def living(installation):
    """Wait until the traffic has started a daemon."""

    found = []

    def look():
        skip_pause(installation)
        found[:] = installation.pids()
        return found

    wait_until(look, 30)
    return found  # a second look may find that it has just been killed


def skip_pause(installation):
    """Let a start that was cut short be followed by another at once."""
    state = pathlib.Path(installation.environment["HOME"], ".local/state/lessons-kb")
    (state / RECORD_NAME).unlink(missing_ok=True)


def disturb(installation, number, dice):
    """Kill the daemon at a random moment of its life, or do worse."""
    pid = dice.choice(living(installation))
    time.sleep(dice.choice((0, 0.1, 0.5, 1.5)) * dice.random())
    try:
        if number % 10 == 3:
            os.kill(pid, signal.SIGSTOP)
            time.sleep(0.5 * dice.random())
        if number % 20 == 7:
            os.utime(installation.package / "errors.py")
            return
        os.kill(pid, signal.SIGCONT if number % 20 == 13 else signal.SIGKILL)
    except ProcessLookupError:
        pass  # it has lost the race for the lock, or retired


def test_kills_at_random_moments_are_never_noticed(installation):
    dice = random.Random(1)
    installation.lessons("index")
    path = socket_of(installation)
    with Traffic(installation) as traffic:
        for number in range(KILLS + KILLS // 10):
            disturb(installation, number, dice)
            assert listeners(path) <= 1
    assert traffic.wrong == []
    assert traffic.answered > KILLS
    assert traffic.slowest < DEADLINE
    skip_pause(installation)
    installation.start()
    wait_until(lambda: len(installation.pids()) == 1)
    # The one that opens the brain takes over the lease of the last one killed.
    wait_until(
        lambda: (
            LESSON in installation.prompt("at last")
            and (installation.status() or {}).get("answered")
        )
    )
    check_nothing_is_left(installation, path)


def test_a_brain_that_is_deleted_and_comes_back(installation):
    pid = installation.start()["pid"]
    copy = installation.brain.with_name("copy")
    for number in range(10):
        assert LESSON in installation.prompt(f"there {number}")
        shutil.copytree(installation.brain, copy)
        shutil.rmtree(installation.brain)
        assert LESSON not in installation.prompt(f"gone {number}")
        copy.rename(installation.brain)
    assert (installation.status() or {})["pid"] == pid


def test_memory_is_flat_over_many_sessions(installation):
    installation.start()
    sizes = []
    for tenth in range(10):
        for number in range(SESSIONS // 10):
            session = f"{tenth} {number}"
            assert LESSON in installation.prompt(session)
            call = {"tool_name": "Bash", "tool_input": {"command": "ls"}, "tool_use_id": session}
            call["tool_response"] = {"stdout": "a", "stderr": "", "interrupted": False}
            installation.hook({**installation.event("PostToolUse", session), **call})
        sizes.append((installation.status() or {})["memory_bytes"])
    assert sizes[-1] < 1.1 * sizes[2], json.dumps(sizes)


def check_nothing_is_left(installation, path):
    installation.lessons("daemon", "stop")
    wait_until(lambda: not installation.pids())
    assert not os.path.exists(path)
    folders = (pathlib.Path(installation.environment["HOME"]), installation.brain)
    names = [found for folder in folders for found in folder.rglob("*")]
    assert [str(name) for name in names if ".lease" in name.suffixes] == []
    parts = [name for name in names if name.name.startswith(".lessons-") or ".tmp" in name.name]
    assert len(parts) <= HOOKS_AT_ONCE, parts

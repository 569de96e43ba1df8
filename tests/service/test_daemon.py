"""The daemon answers what a fresh process answers, and its absence is never noticed."""

import concurrent.futures
import ctypes
import itertools
import os
import shutil
import signal
import socket
import subprocess
import sys
import time

import pytest

from lessons_kb import hook_client
from tests.kit import commit, git, wait_until
from tests.sessions import MIGRATION

LESSON = "Telegram remote execution must require an allowlist"

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform == "win32", reason="no Unix sockets on Windows"),
]


def test_the_first_hook_starts_it_with_its_brain_and_the_second_asks_it(installation, tmp_path):
    elsewhere = str(tmp_path / "another state")
    alone = installation.prompt("same", LESSONS_DAEMON="0", LESSONS_STATE_HOME=elsewhere)
    settings = installation.brain / "lessons.toml"
    settings.write_text("[hooks]\ndaemon = false\n")
    assert LESSON in installation.prompt("before the first")
    installation.settle()
    assert installation.pids() == [], "the variable turns it off, and so does a brain"
    settings.write_text("")
    assert "– daemon: not running" in installation.lessons("doctor")
    assert LESSON in installation.prompt("first")
    brains = [str(installation.brain)]
    wait_until(lambda: (installation.status() or {}).get("brains") == brains)
    status = installation.status()
    assert (status["answered"], status["last_error"]) == (0, "")
    assert installation.prompt("second") == alone, "both routes give the same answer"
    assert installation.status()["answered"] == 1
    assert installation.pids() == [status["pid"]]
    assert "✓ daemon: version " in installation.lessons("doctor")
    path = socket_of(installation)
    for junk in (b"", b"\xff" * 100, b"GET / HTTP/1.1\r\n\r\n", hook_client.pack(b"a", b"b")):
        with socket.socket(socket.AF_UNIX) as connection:
            connection.connect(path)
            connection.sendall(junk)
            connection.shutdown(socket.SHUT_WR)
            assert connection.recv(100) == b""
    assert installation.lessons("daemon", "stop") == "the daemon has stopped\n"
    wait_until(lambda: not installation.pids())
    assert not os.path.exists(path)
    assert "daemon: not running" in installation.lessons("daemon", "status")


def test_stop_also_stops_a_daemon_that_still_starts(installation):
    assert LESSON in installation.prompt("first")
    assert "not running" not in installation.lessons("daemon", "status")
    assert installation.lessons("daemon", "stop") == "the daemon has stopped\n"
    wait_until(lambda: not installation.pids())
    assert "daemon: not running" in installation.lessons("daemon", "stop")


ENDLESS = """\
import importlib.machinery, sys, time
class Endless:
    def find_spec(name, path=None, target=None):
        found = name == "lessons_kb.session.prompt"
        return importlib.machinery.ModuleSpec(name, Endless) if found else None
    def create_module(spec):
        return None
    def exec_module(module):
        time.sleep(600)
if sys.argv[-1:] == ["packed"]:
    sys.meta_path.insert(0, Endless)
"""


def test_a_hook_that_has_no_time_to_answer_starts_it_all_the_same(installation):
    (packages,) = installation.python.parent.parent.glob("lib/*/site-packages")
    (packages / "endless.py").write_text(ENDLESS)
    (packages / "endless.pth").write_text("import endless\n")
    assert installation.prompt("first", LESSONS_HOOK_DEADLINE="12") == ""
    wait_until(installation.status)


def test_settings_that_break_while_it_runs_silence_their_brain_alone(installation):
    own = os.path.join(installation.environment["HOME"], ".local/share/lessons-kb")
    shutil.copytree(installation.brain, own)
    installation.start()
    config = installation.brain / "lessons.toml"
    for text in ("[hooks]\ndaemon = 7\n", "[hooks\n", "no_such_key = 1\n"):
        config.write_text(text)
        answer = installation.prompt(text)
        assert LESSON in answer
        assert str(config) in answer
        assert str(config) not in installation.prompt(text)


def test_sixteen_first_hooks_start_one(installation, tmp_path):
    names = hook_client.IDENTITY.decode().split()  # each folder is where the user has moved it
    installation.environment |= {name: str(tmp_path / name.lower()) for name in names}
    installation.lessons("index")
    with concurrent.futures.ThreadPoolExecutor(16) as pool:
        answers = list(pool.map(installation.prompt, map(str, range(16))))
    assert all(LESSON in answer for answer in answers)
    wait_until(installation.status)
    time.sleep(0.5)
    assert len(installation.pids()) == 1


def test_an_option_of_the_hook_is_no_agent_and_leaves_no_error(installation):
    installation.start()
    client = installation.package / "hook_client.py"
    done = subprocess.run(
        [installation.python, "-I", "-S", client, "--help"],
        input="{}", capture_output=True, text=True, env=installation.environment, timeout=60,
    )  # fmt: skip
    assert done.returncode == 0
    assert "usage: lessons-hook AGENT" in done.stderr
    assert (installation.status()["answered"], installation.status()["last_error"]) == (0, "")


def test_switching_hooks_off_also_holds_beside_a_daemon(installation):
    """The variable was read only without a daemon."""
    installation.start()
    assert installation.prompt("off", LESSONS_HOOKS="0") == ""
    assert LESSON in installation.prompt("on")


def test_one_killed_or_without_its_socket_is_named_and_replaced(installation):
    first = installation.start()["pid"]
    os.kill(first, signal.SIGSTOP)
    assert LESSON in installation.prompt("while stopped"), "no longer than the patience"
    assert f"running as pid {first}" in installation.lessons("daemon", "status")
    os.kill(first, signal.SIGCONT)
    assert f"pid {first}, up" in installation.lessons("daemon", "status")
    events = installation.lessons("events", "--session", "while stopped", "--json")
    assert events.count('"kind": "prompt"') == 1, "what the fallback answered counts once"
    os.unlink(socket_of(installation))
    wait_until(lambda: installation.pids() == [])
    second = installation.start()["pid"]
    os.kill(second, signal.SIGKILL)
    assert LESSON in installation.prompt("after the kill")
    wait_until(lambda: (installation.status() or {}).get("pid") not in (None, second))


@pytest.mark.parametrize(
    "trouble",
    ["__import__('time').sleep(0.6)", "os.kill(os.getpid(), 9)"],
    ids=["late", "killed"],
)
def test_a_question_it_has_noted_is_asked(installation, trouble):
    (installation.brain / "lessons/drop-column.md").write_text(MIGRATION)
    installation.lessons("index")
    source = installation.package / "service/daemon.py"
    answered = "        self._answered += 1\n"
    assert answered in source.read_text()
    bad = f"        if b'PreToolUse' in event:\n            {trouble}\n{answered}"
    source.write_text(source.read_text().replace(answered, bad))
    installation.start()
    wait_until(lambda: installation.prompt("another") and (installation.status() or {})["answered"])
    file = str(installation.project / "migrations/1.sql")
    edit = {"tool_name": "Edit", "tool_use_id": "t1", "tool_input": {"file_path": file}}
    said = installation.hook({**installation.event("PreToolUse", "s"), **edit})
    assert '"permissionDecision": "deny"' in said  # an edit is refused before the user is asked
    assert said.count("- [ ] Drop the column one release later") == 1


@pytest.mark.parametrize("how", ["replaced", "in place"])
def test_it_retires_when_the_package_changes(installation, how):
    pid = installation.start()["pid"]
    source = installation.package / "preflight" / "block.py"
    new = source.with_name("block.new") if how == "replaced" else source
    new.write_text(source.read_text().replace("[ACTIVE LESSONS", "[NEW RELEASE"))
    new.replace(source)
    if how == "in place":
        # It looks at all files behind an answer, at most every three seconds.
        prompts = map("prompt {}".format, itertools.count())
        wait_until(lambda: installation.prompt(next(prompts)) and pid not in installation.pids())
    assert "[NEW RELEASE" in installation.prompt("after the upgrade")
    wait_until(lambda: pid not in installation.pids())


def test_one_of_another_version_is_named_and_ends(installation):
    pid = installation.start()["pid"]
    (installation.package / "version.py").write_text('__version__ = "9.9.9"\n')
    told = installation.lessons("upgrade")
    assert f"pid {pid}" in told
    assert "it ends by itself, and the next hook starts version 9.9.9" in told
    # It looks at its files behind an answer, at most every three seconds.
    wait_until(lambda: installation.lessons("daemon", "status") and installation.pids() == [])
    assert "have version 9.9.9" in installation.lessons("upgrade")


def test_it_speaks_after_its_cache_was_taken_away_and_notices_an_edit(installation):
    commit(installation.brain)
    installation.lessons("trust", str(installation.brain))
    pid = installation.start()["pid"]
    wait_until(lambda: installation.prompt("another") and (installation.status() or {})["answered"])
    assert list((installation.brain / ".lessons").iterdir())
    git(installation.brain, "clean", "-qfdx")
    assert [LESSON in installation.prompt(f"after {number}") for number in range(3)] == [True] * 3
    card = installation.brain / "lessons/telegram-allowlist.md"
    card.write_text(card.read_text().replace("Cover the rejection", "Prove the rejection"))
    wait_until(
        lambda: "Prove the rejection" in installation.prompt(f"edited {time.monotonic()}"), 5
    )
    assert (installation.status() or {})["pid"] == pid


def test_a_change_of_trust_counts_at_the_next_event(installation):
    installation.project = installation.brain
    del installation.environment["LESSONS_BRAIN"]
    commit(installation.brain)
    settings = installation.brain / "lessons.toml"
    text = settings.read_text() if settings.exists() else ""
    marks = installation.brain / ".git/lessons-kb"
    numbers = itertools.count()

    def gives_lesson():
        return LESSON in installation.prompt(f"session {next(numbers)}")

    def trust(*options):
        installation.lessons("trust", *options, str(installation.brain))

    assert not gives_lesson()
    trust()
    assert gives_lesson()
    pid = wait_until(installation.status)["pid"]
    wait_until(lambda: gives_lesson() and installation.status()["answered"])
    trust("--revoke")
    assert not gives_lesson()
    trust()
    assert gives_lesson()
    settings.write_text(f"{text}\n# changed after it was trusted\n")
    assert not gives_lesson()
    settings.write_text(text)
    assert gives_lesson()
    marks.rename(marks.with_name("moved"))
    assert not gives_lesson()
    marks.with_name("moved").rename(marks)
    assert gives_lesson()
    inner = installation.brain / "inner"
    (inner / ".lessons").mkdir(parents=True)
    installation.project = inner
    assert gives_lesson(), "the trusted brain around an untrusted one"
    installation.project = installation.brain
    moved = installation.brain.with_name("moved")
    installation.brain.rename(moved)
    assert not gives_lesson()
    moved.rename(installation.brain)
    assert gives_lesson()
    assert installation.status()["pid"] == pid


def test_another_user_is_refused(installation):
    if os.geteuid() != 0:
        pytest.skip("only root can become another user")
    installation.start()
    path = socket_of(installation)
    code = (
        "import os, socket, sys; os.setgid(65534); os.setuid(65534);"
        "s = socket.socket(socket.AF_UNIX); s.connect(sys.argv[1]);"
        "s.sendall(b'x'); s.shutdown(1); print(s.recv(100))"
    )
    command = [sys.executable, "-I", "-c", code, path]
    outside = subprocess.run(command, capture_output=True, text=True)
    assert "PermissionError" in outside.stderr or "Permission denied" in outside.stderr


PLACE = f"/tmp/lessons-{os.getuid() if sys.platform != 'win32' else 0}"


def in_own_mounts(work):
    """Do something where what is mounted is seen by nobody else; raise what it raises."""
    if sys.platform != "linux" or os.geteuid() != 0:
        pytest.skip("needs the right to mount")

    def run():
        # Of this thread alone, and of what it starts.
        assert ctypes.CDLL(None, use_errno=True).unshare(0x20000) == 0, "CLONE_NEWNS"
        subprocess.run(["mount", "--make-rprivate", "/"], check=True)
        work()

    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        pool.submit(run).result()


@pytest.mark.parametrize(
    ("owner", "mode", "said"),
    [(65534, 0o700, "belongs to nobody; they or root"), (0, 0o755, f"run `rm -r {PLACE}`")],
)
def test_what_stands_in_the_sockets_place_is_named_and_its_end_noticed(
    installation, tmp_path, owner, mode, said
):
    foreign = tmp_path / "foreign"
    foreign.mkdir(mode=0o700)
    foreign.chmod(mode)
    os.chown(foreign, owner, -1)
    os.makedirs(PLACE, mode=0o700, exist_ok=True)

    def work():
        subprocess.run(["mount", "--bind", foreign, PLACE], check=True)
        for number in range(5):  # as many as failed starts would end in a pause
            assert LESSON in installation.prompt(f"{number}")
        told = installation.lessons("daemon", "status")
        assert said in told
        assert said in installation.lessons("doctor")
        tried = installation.run("daemon", code=2)
        assert said in tried.stderr
        assert installation.pids() == []
        subprocess.run(["umount", PLACE], check=True)
        installation.start()
        assert "pid" in installation.lessons("daemon", "status")

    in_own_mounts(work)


def socket_of(installation):
    code = (
        "import os; from lessons_kb import hook_client as c;"
        "print(c.socket_path(c.identity(dict(os.environb))))"
    )
    return installation.run_python("-c", code).stdout.strip()

"""Captured runs: what comes through, how they end, and that nothing survives them."""

import contextlib
import fcntl
import json
import os
import pathlib
import pty
import random
import select
import signal
import struct
import subprocess
import sys
import termios
import threading
import time

import pytest

from lessons_kb.process import run as module
from lessons_kb.process.run import run_captured

pytestmark = pytest.mark.skipif(os.name == "nt", reason="signals and terminals of POSIX")

DRIVER = """
import dataclasses, json, resource, sys
from lessons_kb.process.run import run_captured
options = json.loads(sys.argv[1])
ended = run_captured(sys.argv[3:], **options)
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
with open(sys.argv[2], "w") as file:
    json.dump({**dataclasses.asdict(ended), "peak": peak}, file)
sys.exit(ended.code)
"""


class Driven:
    """A process that runs a command as `lessons run` does."""

    def __init__(self, report, command, options, **how):
        self._report = report
        arguments = [sys.executable, "-c", DRIVER, json.dumps(options), str(report), *command]
        self.process = subprocess.Popen(arguments, **how)

    def ended(self, timeout=20):
        """Wait for its end and return how it ended."""
        self.process.wait(timeout)
        data = json.loads(self._report.read_text())
        assert self.process.returncode == data["code"]
        return data


@pytest.fixture
def drive(tmp_path):
    started = []

    def drive(*command, options=None, **how):
        report = tmp_path / f"report-{len(started)}.json"
        started.append(Driven(report, command, options or {}, **how))
        return started[-1]

    yield drive
    for driven in started:
        driven.process.kill()
        for stream in (driven.process.stdout, driven.process.stderr, driven.process.stdin):
            if stream:
                stream.close()
        driven.process.wait()


def running(mark):
    """Return the living processes with a word in their command line."""
    found = []
    for folder in pathlib.Path("/proc").iterdir():
        if folder.name.isdecimal():
            with contextlib.suppress(OSError):
                words = (folder / "cmdline").read_bytes().split(b"\0")
                state = (folder / "stat").read_bytes().rpartition(b")")[2].split()[0]
                if mark.encode() in words and state not in (b"Z", b"X"):
                    found.append(int(folder.name))
    return found


def wait_for(condition, seconds=10):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it never came"
        time.sleep(0.02)


def mark():
    """Return a number of seconds to sleep that no other process sleeps."""
    return f"1{random.randrange(10**6):06d}.{random.randrange(10**6):06d}"


EVERY_BYTE = "import sys; sys.stdout.buffer.write(bytes(range(256)) * 1000)"


def test_output_comes_through_byte_for_byte_and_apart(capfdbinary):
    code = f"{EVERY_BYTE}; sys.stderr.buffer.write(b'\\xff err\\r\\n')"
    ended = run_captured([sys.executable, "-c", code])
    seen = capfdbinary.readouterr()
    assert seen.out == bytes(range(256)) * 1000
    assert seen.err == b"\xff err\r\n"
    assert (ended.state, ended.code, ended.message) == ("completed", 0, "")


def test_the_tail_holds_both_streams(capfd):
    # Short, for of two streams at once only the order within each is known.
    ended = run_captured(
        [sys.executable, "-c", "import sys; print('out'); sys.stderr.write('err')"]
    )
    assert "out" in ended.tail
    assert "err" in ended.tail


@pytest.mark.slow
def test_the_end_is_kept_and_no_more(capfd):
    code = "for n in range(200_000): print('line', n)"
    ended = run_captured([sys.executable, "-c", code])
    assert capfd.readouterr().out.count("\n") == 200_000
    assert len(ended.tail) <= module.KEPT_BYTES
    assert ended.tail.endswith("line 199999\n")
    assert ended.tail.startswith("line ")


@pytest.mark.slow
def test_a_cut_leaves_whole_lines_or_at_least_whole_words(capfd):
    for end, code in (
        ("%\r", "for n in range(60_000): print(f'{n:07d}', end='%\\r')"),
        (" ", "for n in range(60_000): print(f'{n:07d}', end=' ')"),
    ):
        tail = run_captured([sys.executable, "-c", code]).tail
        assert tail.startswith("00")
        assert tail.endswith(f"0059999{end}")
    assert run_captured([sys.executable, "-c", "print('x' * 200_000)"]).tail == ""


@pytest.mark.slow
def test_nothing_is_left_running_when_we_fail(monkeypatch):
    seconds = mark()

    def fail(*_):
        wait_for(lambda: running(seconds))
        raise ZeroDivisionError

    monkeypatch.setattr(module._CapturedRun, "_look", fail)
    with pytest.raises(ZeroDivisionError):
        run_captured(["sh", "-c", f"sleep {seconds} & sleep {seconds}"])
    assert running(seconds) == []


@pytest.mark.parametrize(("command", "state", "code"), [
    (["true"], "completed", 0),
    (["sh", "-c", "exit 3"], "failed", 3),
    (["sh", "-c", "kill -9 $$"], "failed", 137),
    (["sh", "-c", "kill -TERM $$"], "failed", 143),
    (["no-such-command-here"], "failed", 127),
    (["/etc/passwd"], "failed", 126),
    (["/"], "failed", 126),
])  # fmt: skip
def test_exit_codes_are_those_of_a_shell(command, state, code):
    ended = run_captured(command)
    assert (ended.state, ended.code) == (state, code)
    assert bool(ended.message) is (code in (126, 127))
    assert "\n" not in ended.message


def test_what_is_typed_or_piped_in_reaches_the_command(drive):
    driven = drive("tr", "a-z", "A-Z", stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert driven.process.communicate(b"hello\n")[0] == b"HELLO\n"
    assert driven.ended()["state"] == "completed"


def test_environment_and_folder_can_be_given(tmp_path, capfd):
    run_captured(
        ["sh", "-c", "pwd; echo $X"], cwd=str(tmp_path), env={"X": "y", "PATH": "/bin:/usr/bin"}
    )
    assert capfd.readouterr().out == f"{os.path.realpath(tmp_path)}\ny\n"


def test_silence_is_a_stall():
    seconds = mark()
    began = time.monotonic()
    ended = run_captured(["sh", "-c", f"echo begun; sleep {seconds}"], stall=0.5)
    assert (ended.state, ended.code) == ("stalled", 124)
    assert ended.message == "No output for 0.5 s — the run counts as stalled."
    assert ended.tail == "begun\n"
    assert 0.5 <= time.monotonic() - began < 60
    assert running(seconds) == []


@pytest.mark.slow
def test_each_chunk_arms_the_deadline_again():
    code = "for n in 1 2 3 4 5; do sleep 0.3; echo $n; done"
    assert run_captured(["sh", "-c", code], stall=1.5).state == "completed"
    assert run_captured(["sleep", "0.3"], stall=None).state == "completed"


@pytest.mark.slow
def test_a_slow_reader_is_no_stall(drive):
    driven = drive(
        "head", "-c", "2000000", "/dev/zero", options={"stall": 0.5}, stdout=subprocess.PIPE
    )
    time.sleep(1.5)
    assert driven.process.stdout is not None
    assert len(driven.process.stdout.read()) == 2_000_000
    assert driven.ended()["state"] == "completed"


def test_a_reader_that_has_seen_enough_ends_the_command(drive):
    driven = drive("yes", stdout=subprocess.PIPE)
    assert driven.process.stdout is not None
    assert driven.process.stdout.readline() == b"y\n"
    driven.process.stdout.close()
    ended = driven.ended()
    assert (ended["state"], ended["code"]) == ("failed", 128 + signal.SIGPIPE)


@pytest.mark.slow
def test_a_gigabyte_takes_no_memory(drive):
    small = drive("true", stdout=subprocess.DEVNULL).ended(60)["peak"]
    large = drive("head", "-c", "1000000000", "/dev/zero", stdout=subprocess.DEVNULL).ended(120)
    assert large["state"] == "completed"
    assert large["peak"] < small + 8_000


def test_what_a_finished_command_left_in_the_background_is_not_waited_for(drive):
    seconds = mark()
    began = time.monotonic()
    driven = drive("sh", "-c", f"sleep {seconds} & echo done", stdout=subprocess.PIPE)
    assert driven.ended()["state"] == "completed"
    assert time.monotonic() - began < 60
    (left,) = running(seconds)
    os.kill(left, signal.SIGKILL)


STUBBORN = """
import signal, subprocess, sys, time
for name in ("SIGINT", "SIGTERM", "SIGHUP"):
    signal.signal(getattr(signal, name), signal.SIG_IGN)
print("ready", flush=True)
child = subprocess.Popen(["sleep", sys.argv[1]])
while True:
    time.sleep(0.1)
"""


@pytest.mark.slow
@pytest.mark.parametrize("line", [
    "sleep {0} & sleep {0}", "sleep {0}", "timeout 500 sleep {0}; true",
    "setsid -w true; (sleep {0} & sleep {0} &) ; sleep {0} | cat",
    "trap 'exit 5' INT; sleep {0} & wait",
])  # fmt: skip
def test_ctrl_c_leaves_nothing_behind(drive, line):
    seconds = mark()
    driven = drive("sh", "-c", line.format(seconds), stdout=subprocess.PIPE)
    wait_for(lambda: running(seconds))
    time.sleep(0.1)
    driven.process.send_signal(signal.SIGINT)
    ended = driven.ended()
    assert (ended["state"], ended["code"]) == ("cancelled", 130)
    assert running(seconds) == []


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_what_ignores_every_wish_is_killed(drive, number):
    seconds = mark()
    driven = drive(
        sys.executable, "-c", STUBBORN, seconds, options={"grace": 0.3}, stdout=subprocess.PIPE
    )
    assert driven.process.stdout is not None
    assert driven.process.stdout.readline() == b"ready\n"
    wait_for(lambda: running(seconds))
    for _ in range(3):  # a second Ctrl-C changes nothing
        driven.process.send_signal(number)
        time.sleep(0.05)
    driven.process.send_signal(signal.SIGTERM)
    ended = driven.ended()
    assert (ended["state"], ended["code"]) == ("cancelled", 128 + number)
    assert running(seconds) == []


def test_a_command_may_say_farewell(drive):
    code = "import time\ntry:\n print('up', flush=True)\n while True: time.sleep(0.05)\nexcept KeyboardInterrupt:\n print('bye')"
    driven = drive(sys.executable, "-c", code, stdout=subprocess.PIPE)
    assert driven.process.stdout is not None
    assert driven.process.stdout.readline() == b"up\n"
    driven.process.send_signal(signal.SIGINT)
    assert driven.process.stdout.read() == b"bye\n"
    assert driven.ended()["tail"] == "up\nbye\n"


@pytest.mark.slow
def test_ctrl_c_works_while_the_reader_sleeps(drive):
    driven = drive("yes", options={"grace": 0.3}, stdout=subprocess.PIPE)
    assert driven.process.stdout is not None
    assert driven.process.stdout.readline() == b"y\n"
    time.sleep(0.7)
    driven.process.send_signal(signal.SIGINT)
    time.sleep(0.7)
    end = time.monotonic() + 60
    while driven.process.stdout.read(1_000_000):
        assert time.monotonic() < end, "the command was not stopped"
    assert driven.ended()["state"] == "cancelled"


@pytest.mark.slow
def test_what_was_ignored_stays_ignored(drive):
    driven = drive(
        "sh", "-c", "echo up; sleep 0.5; echo done", stdout=subprocess.PIPE,
        preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN),
    )  # fmt: skip
    assert driven.process.stdout is not None
    assert driven.process.stdout.readline() == b"up\n"
    driven.process.send_signal(signal.SIGHUP)
    assert driven.ended()["state"] == "completed"


def test_signals_are_ours_again_afterwards():
    before = [signal.getsignal(n) for n in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)]
    run_captured(["true"])
    assert [signal.getsignal(n) for n in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)] == before
    assert signal.set_wakeup_fd(-1) == -1


def test_any_thread_may_run_commands(capfd):
    ended = []
    threads = [
        threading.Thread(target=lambda: ended.append(run_captured(["echo", "x"]))) for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [one.state for one in ended] == ["completed"] * 4
    assert capfd.readouterr().out == "x\n" * 4


def test_no_descriptor_is_left_open():
    run_captured(["true"])
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(5):
        run_captured(["sh", "-c", "echo a; echo b >&2"])
        run_captured(["no-such-command-here"])
    assert len(os.listdir("/proc/self/fd")) == before


class Screen:
    """A terminal of our own, in which a driven command runs."""

    def __init__(self, drive, *command, streams="012", **how):
        self.master, slave = pty.openpty()
        self.resize(40, 99)
        self.before = termios.tcgetattr(slave)
        given = {"0": "stdin", "1": "stdout", "2": "stderr"}
        self.driven = drive(
            *command,
            **{given[number]: slave for number in streams},
            **how,
            start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(slave, termios.TIOCSCTTY, 0),
        )
        self.slave = slave
        self.text = b""

    def resize(self, rows, columns):
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def read_until(self, wanted, seconds=15):
        deadline = time.monotonic() + seconds
        while wanted not in self.text:
            assert time.monotonic() < deadline, self.text
            if select.select([self.master], [], [], 0.1)[0]:
                self.text += os.read(self.master, 4096)

    def type(self, keys):
        os.write(self.master, keys)

    def close(self):
        os.close(self.master)
        os.close(self.slave)


@pytest.fixture
def screen(drive):
    with contextlib.ExitStack() as stack:

        def open_screen(*command, **how):
            opened = Screen(drive, *command, **how)
            stack.callback(opened.close)
            return opened

        yield open_screen


ABOUT = (
    "import os, sys; print(sys.stdin.isatty(), sys.stdout.isatty(), sys.stderr.isatty(),"
    " *os.get_terminal_size(), flush=True)"
)


def test_on_a_terminal_the_command_sees_one(screen):
    shown = screen(sys.executable, "-c", ABOUT)
    shown.read_until(b"True True True 99 40\r\n")
    assert shown.driven.ended()["tail"] == "True True True 99 40\r\n"
    assert termios.tcgetattr(shown.slave) == shown.before


def test_only_what_is_a_terminal_is_one_for_the_command(screen, tmp_path):
    with open(tmp_path / "out", "wb") as out:
        about = ABOUT.replace("get_terminal_size()", "get_terminal_size(2)")
        shown = screen(sys.executable, "-c", about, streams="02", stdout=out)
        assert shown.driven.ended()["state"] == "completed"
    assert (tmp_path / "out").read_text() == "True False True 99 40\n"


@pytest.mark.slow
def test_a_new_size_is_passed_on(screen):
    code = (
        "import os, signal, time\n"
        "signal.signal(signal.SIGWINCH, lambda *_: print(*os.get_terminal_size(), flush=True))\n"
        "print('ready', flush=True)\n"
        # Short: a signal just before a sleep begins is looked at when it ends.
        "while True: time.sleep(0.05)"
    )
    shown = screen(sys.executable, "-c", code)
    shown.read_until(b"ready")
    shown.resize(11, 55)
    shown.driven.process.send_signal(signal.SIGWINCH)
    shown.read_until(b"55 11")


def test_what_is_typed_is_read_and_echoed_once(screen):
    shown = screen("sh", "-c", "echo ready; read x; echo got $x; cat")
    shown.read_until(b"ready\r\n")
    shown.type(b"word\r")
    shown.read_until(b"got word\r\n")
    shown.type(b"\x04")
    ended = shown.driven.ended()
    assert ended["state"] == "completed"
    assert ended["tail"].split() == ["ready", "word", "got", "word"]


def test_other_keys_are_the_commands(screen):
    shown = screen("sh", "-c", "echo ready; exec sleep 60")
    shown.read_until(b"ready\r\n")
    shown.type(b"\x1a\x1c")  # it cannot be stopped here, but asked to dump its core
    ended = shown.driven.ended()
    assert (ended["state"], ended["code"]) == ("failed", 128 + signal.SIGQUIT)


@pytest.mark.slow
def test_ctrl_c_on_a_terminal_ends_it_all(screen):
    seconds = mark()
    shown = screen("sh", "-c", f"echo ready; sleep {seconds} & sleep {seconds}")
    shown.read_until(b"ready")
    wait_for(lambda: len(running(seconds)) == 2)
    shown.type(b"\x03")
    ended = shown.driven.ended()
    assert (ended["state"], ended["code"]) == ("cancelled", 130)
    assert running(seconds) == []
    assert termios.tcgetattr(shown.slave) == shown.before


def test_a_closed_terminal_cancels(drive):
    seconds = mark()
    shown = Screen(drive, "sh", "-c", f"echo ready; sleep {seconds}")
    shown.read_until(b"ready")
    wait_for(lambda: running(seconds))
    shown.close()
    assert shown.driven.ended()["state"] == "cancelled"
    assert running(seconds) == []

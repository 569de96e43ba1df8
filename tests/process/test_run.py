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
from tests.kit import wait_until

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
        self.process = subprocess.Popen(arguments, **{"stdout": subprocess.PIPE, **how})
        self.send, self.out = self.process.send_signal, self.process.stdout

    def ended(self, *expected, timeout=60):
        """Wait for its end, which is to be of this state and code; return how it ended."""
        self.process.wait(timeout)
        data = json.loads(self._report.read_text())
        assert self.process.returncode == data["code"]
        assert (data["state"], data["code"])[: len(expected)] == expected
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
    for folder in pathlib.Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            words = (folder / "cmdline").read_bytes().split(b"\0")
            state = (folder / "stat").read_bytes().rpartition(b")")[2].split()[0]
            if mark.encode() in words and state not in (b"Z", b"X"):
                found.append(int(folder.name))
    return found


@pytest.fixture
def seconds():
    """A number of seconds to sleep that no other process sleeps; nothing does in the end."""
    seconds = f"1{random.randrange(10**6):06d}.{random.randrange(10**6):06d}"
    yield seconds
    assert running(seconds) == []


def test_stdout_and_stderr_are_copied_byte_for_byte(capfdbinary):
    code = "import sys; sys.stdout.buffer.write(bytes(range(256)) * 1000)"
    code += "; sys.stderr.buffer.write(b'\\xff err\\r\\n')"
    ended = run_captured([sys.executable, "-c", code])
    assert capfdbinary.readouterr() == (bytes(range(256)) * 1000, b"\xff err\r\n")
    assert (ended.state, ended.code, ended.message) == ("completed", 0, "")
    ended = run_captured(["sh", "-c", "echo out; echo err >&2"])
    assert set(ended.tail.split()) == {"out", "err"}, "of two streams only the order within each"


@pytest.mark.slow
@pytest.mark.parametrize(("end", "last"), [("\\n", "\n"), ("%\\r", "%\r"), (" ", " ")])
def test_the_recorded_end_starts_at_a_line_or_at_least_a_word(capfd, end, last):
    code = f"for n in range(60_000): print(f'{{n:07d}}', end='{end}')"
    tail = run_captured([sys.executable, "-c", code]).tail
    assert capfd.readouterr().out.count(last) == 60_000
    assert len(tail) <= module.KEPT_BYTES
    assert tail.startswith("00")
    assert tail.endswith(f"0059999{last}")
    assert run_captured([sys.executable, "-c", "print('x' * 200_000)"]).tail == ""


@pytest.mark.slow
def test_nothing_is_left_running_when_we_fail(monkeypatch, seconds):
    def fail(*_):
        wait_until(lambda: running(seconds))
        raise ZeroDivisionError

    monkeypatch.setattr(module._CapturedRun, "_look", fail)
    with pytest.raises(ZeroDivisionError):
        run_captured(["sh", "-c", f"sleep {seconds} & sleep {seconds}"])


@pytest.mark.parametrize(("command", "state", "code"), [
    (["true"], "completed", 0),
    (["sh", "-c", "exit 3"], "failed", 3),
    (["sh", "-c", "kill -9 $$"], "failed", 137),
    (["sh", "-c", "kill -TERM $$"], "failed", 143),
    (["no-such-command-here"], "failed", 127),
    (["/etc/passwd"], "failed", 126),
    (["/"], "failed", 126),
])  # fmt: skip
def test_exit_codes_are_as_of_a_shell(command, state, code):
    ended = run_captured(command)
    assert (ended.state, ended.code) == (state, code)
    assert bool(ended.message) is (code in (126, 127))
    assert "\n" not in ended.message


def test_stdin_reaches_the_command(drive):
    driven = drive("tr", "a-z", "A-Z", stdin=subprocess.PIPE)
    assert driven.process.communicate(b"hello\n")[0] == b"HELLO\n"
    driven.ended("completed")


def test_silence_is_a_stall(seconds):
    began = time.monotonic()
    ended = run_captured(["sh", "-c", f"echo begun; sleep {seconds}"], stall=0.5)
    assert (ended.state, ended.code, ended.tail) == ("stalled", 124, "begun\n")
    assert (
        ended.message
        == "No output for 0.5 s, so the command was ended; with `--stall 0`, it runs on."
    )
    assert 0.5 <= time.monotonic() - began < 60


@pytest.mark.slow
def test_neither_output_nor_a_slow_reader_is_a_stall(drive):
    code = "for n in 1 2 3 4 5; do sleep 0.3; echo $n; done"
    assert run_captured(["sh", "-c", code], stall=1.5).state == "completed"
    assert run_captured(["sleep", "0.3"], stall=None).state == "completed"
    driven = drive("head", "-c", "2000000", "/dev/zero", options={"stall": 0.5})
    time.sleep(1.5)
    assert len(driven.out.read()) == 2_000_000
    driven.ended("completed")


def test_closing_the_output_ends_the_command(drive):
    driven = drive("yes")
    assert driven.out.readline() == b"y\n"
    driven.out.close()
    driven.ended("failed", 128 + signal.SIGPIPE)


@pytest.mark.slow
def test_a_gigabyte_takes_no_memory(drive):
    small = drive("true", stdout=subprocess.DEVNULL).ended()["peak"]
    large = drive("head", "-c", "1000000000", "/dev/zero", stdout=subprocess.DEVNULL)
    assert large.ended("completed", timeout=120)["peak"] < small + 8_000


def test_background_processes_of_a_finished_command_are_not_waited_for(drive, seconds):
    drive("sh", "-c", f"sleep {seconds} & echo done").ended("completed")
    (left,) = running(seconds)
    os.kill(left, signal.SIGKILL)
    wait_until(lambda: not running(seconds))


@pytest.mark.slow
@pytest.mark.parametrize("line", [
    "sleep {0} & sleep {0}", "sleep {0}", "timeout 500 sleep {0}; true",
    "setsid -w true; (sleep {0} & sleep {0} &) ; sleep {0} | cat",
    "trap 'exit 5' INT; sleep {0} & wait",
])  # fmt: skip
def test_ctrl_c_leaves_nothing_behind(drive, seconds, line):
    driven = drive("sh", "-c", line.format(seconds))
    wait_until(lambda: running(seconds))
    time.sleep(0.1)
    driven.send(signal.SIGINT)
    driven.ended("cancelled", 130)


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
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_command_that_ignores_signals_is_killed(drive, seconds, number):
    driven = drive(sys.executable, "-c", STUBBORN, seconds, options={"grace": 0.3})
    assert driven.out.readline() == b"ready\n"
    wait_until(lambda: running(seconds))
    for _ in range(3):  # a second Ctrl-C changes nothing
        driven.send(number)
        time.sleep(0.05)
    driven.send(signal.SIGTERM)
    driven.ended("cancelled", 128 + number)


def test_a_command_may_print_while_it_is_ended(drive):
    driven = drive("sh", "-c", "trap 'echo bye; exit' INT; echo up; while sleep 0.05; do :; done")
    assert driven.out.readline() == b"up\n"
    driven.send(signal.SIGINT)
    assert driven.out.read() == b"bye\n"
    assert driven.ended()["tail"] == "up\nbye\n"


@pytest.mark.slow
def test_ctrl_c_works_while_the_reader_sleeps(drive):
    driven = drive("yes", options={"grace": 0.3})
    assert driven.out.readline() == b"y\n"
    time.sleep(0.7)
    driven.send(signal.SIGINT)
    time.sleep(0.7)
    end = time.monotonic() + 60
    while driven.out.read(1_000_000):
        assert time.monotonic() < end, "the command was not stopped"
    driven.ended("cancelled")


@pytest.mark.slow
def test_an_ignored_signal_stays_ignored(drive):
    ignore = lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN)  # noqa: E731
    driven = drive("sh", "-c", "echo up; sleep 0.5; echo done", preexec_fn=ignore)
    assert driven.out.readline() == b"up\n"
    driven.send(signal.SIGHUP)
    driven.ended("completed")


def read_descriptors():
    """Return the open descriptors with what they refer to."""
    found = set()
    for number in os.listdir("/proc/self/fd"):
        with contextlib.suppress(FileNotFoundError):  # the one that listed the folder
            found.add((number, os.readlink(f"/proc/self/fd/{number}")))
    return found


def test_no_handler_and_no_descriptor_remains(capfd):
    signals = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    handlers = list(map(signal.getsignal, signals))
    run_captured(["true"])
    before = read_descriptors()
    for _ in range(5):
        run_captured(["sh", "-c", "echo a; echo b >&2"])
        run_captured(["no-such-command-here"])
    thread = threading.Thread(target=run_captured, args=(["echo", "x"],))
    thread.start()
    thread.join()
    # What an earlier test left open may be collected and closed meanwhile.
    assert read_descriptors() <= before
    assert list(map(signal.getsignal, signals)) == handlers
    assert capfd.readouterr().out == "a\n" * 5 + "x\n"


class Screen:
    """A terminal of our own, in which a driven command runs."""

    def __init__(self, drive, *command, streams="012", **how):
        self.master, slave = pty.openpty()
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 99, 0, 0))
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
    opened = []
    yield lambda *command, **how: opened.append(Screen(drive, *command, **how)) or opened[-1]
    for one in opened:
        one.close()


ABOUT = (
    "import os, sys; print(sys.stdin.isatty(), sys.stdout.isatty(), sys.stderr.isatty(),"
    " *os.get_terminal_size(2), flush=True)"
)


def test_the_command_gets_a_terminal_if_we_have_one(screen):
    shown = screen(sys.executable, "-c", ABOUT)
    shown.read_until(b"True True True 99 40\r\n")
    assert shown.driven.ended()["tail"] == "True True True 99 40\n"
    assert termios.tcgetattr(shown.slave) == shown.before


def test_only_our_terminal_streams_are_terminals_for_the_command(screen, tmp_path):
    with open(tmp_path / "out", "wb") as out:
        screen(sys.executable, "-c", ABOUT, streams="02", stdout=out).driven.ended("completed")
    assert (tmp_path / "out").read_text() == "True False True 99 40\n"


def test_typed_text_is_read_and_echoed_once(screen):
    shown = screen("sh", "-c", "echo ready; read x; echo got $x; cat")
    shown.read_until(b"ready\r\n")
    shown.type(b"word\r")
    shown.read_until(b"got word\r\n")
    shown.type(b"\x04")
    tail = shown.driven.ended("completed")["tail"]
    assert tail.split() == ["ready", "got", "word"]
    assert shown.text.count(b"word") == 2


@pytest.mark.parametrize(("key", "number"), [(b"\x03", signal.SIGINT), (b"\x1c", signal.SIGQUIT)])
def test_a_key_that_sends_a_signal_ends_all_processes(screen, seconds, key, number):
    shown = screen("sh", "-c", f"echo ready; sleep {seconds} & exec sleep {seconds}")
    shown.read_until(b"ready\r\n")
    wait_until(lambda: len(running(seconds)) == 2)
    shown.type(key)
    shown.driven.ended("cancelled", 128 + number)
    assert termios.tcgetattr(shown.slave) == shown.before


def test_a_closed_terminal_cancels(drive, seconds):
    shown = Screen(drive, "sh", "-c", f"echo ready; sleep {seconds}")
    shown.read_until(b"ready")
    wait_until(lambda: running(seconds))
    shown.close()
    shown.driven.ended("cancelled")

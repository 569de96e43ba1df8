"""The command line over the example brain.

Or, for what only a terminal shows, in a process of its own at one of 80 columns.
"""

import contextlib
import io
import json
import os
import pathlib
import re
import select
import shutil
import subprocess
import sys
import time

import pytest

from lessons_kb.cli.main import main
from tests.kit import trust_brain

EXAMPLE = pathlib.Path(__file__).parents[2] / "brain-example"


@pytest.fixture
def answer(monkeypatch, capsys):
    """Run a command on a terminal whose user types these lines."""

    class Terminal(io.StringIO):
        def isatty(self):
            return True

    def run(*arguments, typed):
        monkeypatch.setattr(sys, "argv", ["lessons", *arguments])
        monkeypatch.setattr(sys, "stdin", Terminal(typed))
        monkeypatch.setenv("COLUMNS", "200")  # folding is another test's business
        capsys.readouterr()
        for stream in (sys.stdout, sys.stderr):
            monkeypatch.setattr(stream, "isatty", lambda: True, raising=False)
        with pytest.raises(SystemExit):
            main()
        seen = capsys.readouterr()
        return seen.out + seen.err

    return run


@pytest.fixture
def at_terminal(lessons, monkeypatch):
    """Return the lines that a command shows at a terminal, without its colours."""

    def run(*arguments, columns=80):
        with monkeypatch.context() as at:
            at.setenv("COLUMNS", str(columns))
            at.setattr(sys.stdout, "isatty", lambda: True, raising=False)
            return re.sub("\x1b\\[[0-9;]*m", "", lessons(*arguments).out).splitlines()

    return run


@pytest.fixture
def brain(tmp_path, monkeypatch):
    """A trusted copy of the example brain; the working directory lies in it."""
    root = tmp_path / "brain-example"
    shutil.copytree(EXAMPLE, root, ignore=shutil.ignore_patterns(".lessons"))
    trust_brain(str(root))
    monkeypatch.chdir(root)
    return root


WRITER = """\
import json, os, pathlib, sys
prompt = sys.stdin.read()
log = pathlib.Path({log!r})
said = {{"prompt": prompt, "files": os.listdir(), "hooks": os.environ.get("LESSONS_HOOKS")}}
log.write_text(log.read_text() + json.dumps(said) + "\\n" if log.exists() else json.dumps(said) + "\\n")
{body}
"""


@pytest.fixture
def writer(tmp_path):
    """Return the command line of a writer that does what a piece of Python says."""

    def make(body):
        script = tmp_path / "writer.py"
        log = str(tmp_path / "asked.jsonl")
        script.write_text(WRITER.format(log=log, body=body), encoding="utf-8")
        return f"{sys.executable} {script}"

    make.asked = lambda: [
        json.loads(line) for line in (tmp_path / "asked.jsonl").read_text().splitlines()
    ]
    return make


PATIENCE = 60.0


class Terminal:
    """`lessons` at a terminal of 80 columns and 24 lines."""

    def __init__(self, arguments, environment):
        import fcntl
        import pty
        import struct
        import termios

        self._ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
        self._process = subprocess.Popen(
            [sys.executable, "-m", "lessons_kb.cli.entry", *arguments],
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            env=environment,
            start_new_session=True,
        )
        os.close(theirs)
        self.seen = ""

    def wait(self, words):
        """Wait until the screen has shown these words."""
        until = time.monotonic() + PATIENCE
        while words not in self.seen:
            assert self._read(until), f"no {words!r} in:\n{self.seen}"

    def type(self, text):
        """Type a text."""
        os.write(self._ours, text.encode())

    def end(self):
        """Wait for the end, and return all that was shown, without colours."""
        until = time.monotonic() + PATIENCE
        while self._read(until):
            pass
        self.code = self._process.wait(PATIENCE)
        return self.seen

    def close(self):
        """Stop what still runs."""
        self._process.kill()
        self._process.wait()
        os.close(self._ours)

    def _read(self, until):
        poll = select.poll()  # a process of many tests has files beyond what select() takes
        poll.register(self._ours, select.POLLIN)
        ready = poll.poll(max(until - time.monotonic(), 0) * 1_000)
        data = b""
        with contextlib.suppress(OSError):  # Linux says so of a terminal that all have left
            data = os.read(self._ours, 65_536) if ready else b""
        text = data.decode("utf-8", "replace").replace("\r\n", "\n")
        self.seen += re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", text)
        return bool(data)


@pytest.fixture
def terminal():
    """Start `lessons` at a terminal: ``terminal(*arguments, NAME=value)``."""
    if os.name == "nt":
        pytest.skip("needs a terminal of POSIX")
    started = []
    root = str(pathlib.Path(__file__).parents[2])

    def start(*arguments, **more):
        environment = {**os.environ, "PYTHONPATH": root, "TERM": "xterm", "LANG": "C.UTF-8"}
        started.append(Terminal(arguments, {**environment, **more}))
        return started[-1]

    yield start
    for one in started:
        one.close()


@pytest.fixture
def home(_own_home, tmp_path, monkeypatch):
    """The home of a user without an agent, who works in a project."""
    for name in ("empty", "project"):
        (tmp_path / name).mkdir()
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))
    monkeypatch.chdir(tmp_path / "project")
    return _own_home

"""The command line in this process: fast, with its real entry, streams and exit codes.

Or, for what only a terminal shows, in a process of its own at one of 80 columns.
"""

from __future__ import annotations

import contextlib
import io
import os
import pathlib
import re
import select
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pytest

from lessons_kb.cli.main import main

EXAMPLE = pathlib.Path(__file__).parents[2] / "brain-example"


@dataclass(frozen=True, kw_only=True, slots=True)
class Result:
    """What a command did."""

    code: int
    out: str
    err: str


@pytest.fixture
def lessons(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., Result]:
    def run(*arguments: object, stdin: str | None = None) -> Result:
        monkeypatch.setattr(sys, "argv", ["lessons", *map(str, arguments)])
        stream = io.TextIOWrapper(io.BytesIO((stdin or "").encode()), encoding="utf-8")
        monkeypatch.setattr(sys, "stdin", stream)
        capsys.readouterr()
        with pytest.raises(SystemExit) as stop:
            main()
        seen = capsys.readouterr()
        code = stop.value.code
        return Result(code=code if isinstance(code, int) else 1, out=seen.out, err=seen.err)

    return run


@pytest.fixture
def answer(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., str]:
    """Run a command on a terminal whose user types these lines."""

    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    def run(*arguments: str, typed: str) -> str:
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
def brain(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> pathlib.Path:
    """A trusted copy of the example brain; the working directory lies in it."""
    from lessons_kb.brain.make_brain import trust_brain

    root = tmp_path / "brain-example"
    shutil.copytree(EXAMPLE, root, ignore=shutil.ignore_patterns(".lessons"))
    trust_brain(str(root))
    monkeypatch.chdir(root)
    return root


PATIENCE = 60.0


class Terminal:
    """`lessons` at a terminal of 80 columns and 24 lines."""

    def __init__(self, arguments: tuple[str, ...], environment: dict[str, str]) -> None:
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

    def wait(self, words: str) -> None:
        """Wait until the screen has shown these words."""
        until = time.monotonic() + PATIENCE
        while words not in self.seen:
            assert self._read(until), f"no {words!r} in:\n{self.seen}"

    def type(self, text: str) -> None:
        """Type a text."""
        os.write(self._ours, text.encode())

    def end(self) -> str:
        """Wait for the end, and return all that was shown, without colours."""
        until = time.monotonic() + PATIENCE
        while self._read(until):
            pass
        self.code = self._process.wait(PATIENCE)
        return self.seen

    def close(self) -> None:
        """Stop what still runs."""
        self._process.kill()
        self._process.wait()
        os.close(self._ours)

    def _read(self, until: float) -> bool:
        ready, _, _ = select.select([self._ours], [], [], max(until - time.monotonic(), 0))
        data = b""
        with contextlib.suppress(OSError):  # Linux says so of a terminal that all have left
            data = os.read(self._ours, 65_536) if ready else b""
        text = data.decode("utf-8", "replace").replace("\r\n", "\n")
        self.seen += re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", text)
        return bool(data)


@pytest.fixture
def terminal() -> Iterator[Callable[..., Terminal]]:
    """Start `lessons` at a terminal: ``terminal(*arguments, NAME=value)``."""
    if os.name == "nt":
        pytest.skip("needs a terminal of POSIX")
    started: list[Terminal] = []
    root = str(pathlib.Path(__file__).parents[2])

    def start(*arguments: str, **more: str) -> Terminal:
        environment = {**os.environ, "PYTHONPATH": root, "TERM": "xterm", "LANG": "C.UTF-8"}
        started.append(Terminal(arguments, {**environment, **more}))
        return started[-1]

    yield start
    for one in started:
        one.close()

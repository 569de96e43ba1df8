"""Run a command with its output passed through live and its end kept."""

from __future__ import annotations

import contextlib
import os
import shlex
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from lessons_kb.errors import InputError
from lessons_kb.guards.session_guards import CANCELLED, FAILED, RUNNING, STALLED, StallGuard
from lessons_kb.process.marks import end_marked, name_variable, new_mark
from lessons_kb.process.process_tree import KILL, STOP, end_tree, list_living

with contextlib.suppress(ImportError):  # not on Windows
    import fcntl
    import pty
    import termios


def start_session(command: list[str], **options: Any) -> Any:
    """Start a command in a session of its own; return its ``Popen``. Raises OSError."""
    if os.name == "nt":
        flags = getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0)
        return subprocess.Popen(command, creationflags=flags, **options)
    return subprocess.Popen(command, start_new_session=True, **options)


def signal_session(session: int, number: int) -> None:
    """Send a signal to every process of a session; one that is gone is no error."""
    if os.name == "nt":
        end_tree(session)
        return
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(session, number)
    # Some programs, timeout(1) for one, put themselves into a group of their own.
    for process, _parent, group, its in list_living():
        if its == session != group:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(process, number)


def is_alive(session: int) -> bool:
    """Return whether a process of the session still runs, as far as the system tells."""
    return any(its == session for _process, _parent, _group, its in list_living())


STDOUT, STDERR = 1, 2
NOT_FOUND, NOT_STARTED, TIMED_OUT = 127, 126, 124
"""Exit codes as a shell and timeout(1) give them."""
_OF_SIGNAL = 128

KEPT_BYTES = 64 * 1024
GRACE_SECONDS = 2.0
_LEFT_BEHIND_SECONDS = 0.3
"""When the command itself has ended, what it started gets this long before the next signal."""
_CHUNK = 64 * 1024
_MOST_LEFT_BYTES = 1 << 20
"""What a pipe holds at most."""
_QUIET_SECONDS = 0.1
_POLL_SECONDS = 0.05
_CANCELS = ("SIGINT", "SIGQUIT", "SIGTERM", "SIGHUP", "SIGBREAK")


def _write(descriptor: int, data: bytes) -> None:
    """Write everything, however long the reader takes; OSError when nobody reads any more."""
    view = memoryview(data)
    while view:
        try:
            view = view[os.write(descriptor, view) :]
        except BlockingIOError:
            time.sleep(_POLL_SECONDS)


def open_terminal() -> tuple[int, int] | None:
    """Return both ends of a terminal like ours where stdout or stderr is one, else None."""
    ours = next((fd for fd in (STDOUT, STDERR) if os.name != "nt" and os.isatty(fd)), None)
    if ours is None:
        return None
    try:
        master, slave = pty.openpty()
    except OSError:  # no more of them: pipes do as well
        return None
    with contextlib.suppress(OSError, termios.error):
        modes = termios.tcgetattr(ours)
        modes[1] &= ~termios.OPOST  # ours ends the lines
        termios.tcsetattr(slave, termios.TCSANOW, modes)
        size = fcntl.ioctl(ours, termios.TIOCGWINSZ, b"\0" * 8)
        fcntl.ioctl(slave, termios.TIOCSWINSZ, size)
    return master, slave


@dataclass(frozen=True, slots=True)
class Ended:
    """How a command ended."""

    state: str
    """``completed``, ``failed``, ``cancelled`` or ``stalled``."""
    code: int
    """Exit code as a shell would report it: 128 + n after signal n, 124 when it stalled."""
    seconds: float
    tail: str
    """The end of what it wrote to stdout and stderr, as it came."""
    message: str = ""
    """One line for the user where the command itself had no say: not found, stalled."""


def run_captured(
    command: Sequence[str], *, stall: float | None = 90.0, grace: float = GRACE_SECONDS
) -> Ended:
    """Run ``command`` in a session of its own, pass its output on byte for byte, keep its end.

    It is ended as a whole, whatever it started, when it is silent for ``stall`` seconds (None =
    never) or this process gets Ctrl-C, SIGTERM or SIGHUP; ``grace`` seconds later it is killed.
    Where our stdout or stderr is a terminal it sees one too, else pipes; it reads from our stdin.
    Memory does not grow with the output. Nothing is raised for a command that cannot be started.
    """
    began = time.monotonic()
    run = _CapturedRun(StallGuard(now=began, patience=stall), grace)
    terminal = open_terminal()
    with contextlib.ExitStack() as stack:
        if terminal:
            stack.callback(os.close, terminal[0])
        stack.enter_context(_handle_signals(run))
        try:
            run.start(command, terminal)
        except OSError as error:
            missing = isinstance(error, FileNotFoundError)
            why = "command not found" if missing else (error.strerror or str(error))
            message, code = f"{command[0]}: {why}", NOT_FOUND if missing else NOT_STARTED
            seconds = time.monotonic() - began
            return Ended(FAILED, code, seconds, f"{message}\n", message)
        finally:
            if terminal:
                os.close(terminal[1])
        with contextlib.ExitStack() as on_failure:
            on_failure.callback(run.child.wait)
            on_failure.callback(signal_session, run.child.pid, KILL)
            run.see_through()
            on_failure.pop_all()
    seconds = time.monotonic() - began
    return Ended(run.guard.state, run.find_code(), seconds, run.find_tail(), run.message)


class _CapturedRun:
    """One command from start to end: a thread reads each of its streams."""

    child: Any = None

    def __init__(self, guard: StallGuard, grace: float) -> None:
        self.guard = guard
        self.message = ""
        self._grace = grace
        self._lock = threading.Lock()
        self._heard = 0
        """Bytes."""
        self._last = self._next_signal = time.monotonic()
        """When output came last."""
        self._kept = bytearray()
        self._readers: list[threading.Thread] = []
        self._writing: set[int] = set()
        """Our streams whose reader is waited for."""
        self._cancelled_by = 0
        self._signals: list[int] = []
        """Still to be sent while the command is being ended."""

    def has_ended(self) -> bool:
        """Tell whether the command itself has, as far as it was waited for."""
        return self.child is not None and self.child.returncode is not None

    def find_code(self) -> int:
        """Return its exit code as a shell would report it."""
        code: int = self.child.returncode
        known = {CANCELLED: _OF_SIGNAL + self._cancelled_by, STALLED: TIMED_OUT}
        return known.get(self.guard.state, code if code >= 0 else _OF_SIGNAL - code)

    def find_tail(self) -> str:
        """Return the end of the output without the line, or at least the word, that a cut split."""
        with self._lock:
            kept = bytes(self._kept[-KEPT_BYTES:])
        if self._heard > len(kept):
            ends = (place for end in (b"\n", b"\r", b" ") if (place := kept.find(end)) >= 0)
            kept = kept[next(ends, len(kept)) + 1 :]
        return kept.decode("utf-8", "replace")

    def start(self, command: Sequence[str], terminal: tuple[int, int] | None) -> None:
        """Start the command; OSError when that cannot be done."""
        master, slave = terminal or (-1, -1)
        shown = [fd for fd in (STDOUT, STDERR) if terminal and os.isatty(fd)]
        self.child = start_session(
            list(command),
            stdout=slave if STDOUT in shown else subprocess.PIPE,
            stderr=slave if STDERR in shown else subprocess.PIPE,
            bufsize=0,
        )
        sources = {STDOUT: self.child.stdout, STDERR: self.child.stderr}
        pipes = {ours: pipe.fileno() for ours, pipe in sources.items() if pipe}
        if terminal:
            pipes[shown[0]] = master
        for ours, source in pipes.items():
            # The copy is closed by its thread, however long that waits.
            work = (os.dup(source), ours)
            self._readers.append(threading.Thread(target=self._pass_on, args=work, daemon=True))
        for pipe in filter(None, sources.values()):
            pipe.close()

    def _pass_on(self, source: int, ours: int) -> None:
        """Pass one stream on to one of ours until either ends; then the command learns of it."""
        with contextlib.suppress(OSError), os.fdopen(source, "rb", buffering=0):
            while data := os.read(source, _CHUNK):
                with self._lock:
                    self._heard += len(data)
                    self._kept += data
                    if len(self._kept) > 2 * KEPT_BYTES:
                        del self._kept[:-KEPT_BYTES]
                    self._writing.add(ours)
                self._hear()
                try:
                    _write(ours, data)
                finally:
                    self._writing.discard(ours)
                    self._hear()

    def _hear(self) -> None:
        self._last = time.monotonic()
        self.guard.chunk(self._last)

    def cancel(self, number: int) -> None:
        """End the command as cancelled by a signal, unless it has ended or is being ended."""
        if self.guard.state == RUNNING and not self.has_ended():
            self.guard.cancel()
            self._cancelled_by = number
            self._signals = [number, STOP, KILL] if number != STOP else [STOP, KILL]

    def see_through(self) -> None:
        """Wait until the command, or all that belongs to it, has ended and was passed on."""
        for reader in self._readers:
            reader.start()
        while not self._is_over():
            self._look()
            if self.has_ended():
                time.sleep(_POLL_SECONDS)
            else:
                with contextlib.suppress(subprocess.TimeoutExpired):
                    self.child.wait(_POLL_SECONDS)
        # What was written before the end is passed on; what still runs may write for ever.
        most, self._last = self._heard + _MOST_LEFT_BYTES, time.monotonic()
        while any(reader.is_alive() for reader in self._readers) and self._heard <= most:
            if not self._writing and time.monotonic() - self._last > _QUIET_SECONDS:
                break
            time.sleep(_POLL_SECONDS / 10)

    def _is_over(self) -> bool:
        if ended := self.has_ended():
            self.guard.finish(ok=self.child.returncode == 0)
        if self.guard.state not in (CANCELLED, STALLED):
            return ended
        if ended and not is_alive(self.child.pid):
            return True
        return not self._signals and time.monotonic() > self._next_signal

    def _look(self) -> None:
        """See whether the command has stalled, and whether it is time for the next signal."""
        now = time.monotonic()
        if self._writing:  # a slow reader keeps the command waiting: that is no silence of it
            self.guard.chunk(now)
        deadline = self.guard.deadline
        if deadline is not None and now >= deadline and (stalled := self.guard.check(deadline)):
            self.message = stalled.user_line
            self._signals = [STOP, KILL]
        if self._signals and self.has_ended():
            self._next_signal = min(self._next_signal, now + _LEFT_BEHIND_SECONDS)
        if self._signals and now >= self._next_signal:
            signal_session(self.child.pid, self._signals.pop(0))
            self._next_signal = time.monotonic() + (self._grace if self._signals else 1.0)


@contextlib.contextmanager
def _handle_signals(run: _CapturedRun) -> Iterator[None]:
    """Cancel the run on the usual signals.

    What was ignored, as under nohup, stays ignored. Only the main thread gets signals.
    """
    numbers = [getattr(signal, name) for name in _CANCELS if hasattr(signal, name)]
    if threading.current_thread() is not threading.main_thread():
        numbers = []
    heard = [number for number in numbers if signal.getsignal(number) != signal.SIG_IGN]
    before = {each: signal.signal(each, lambda number, _: run.cancel(number)) for each in heard}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextlib.contextmanager
def interrupt_by_signals() -> Iterator[None]:
    """Raise KeyboardInterrupt in the block at SIGTERM or SIGHUP, as at Ctrl-C.

    Only the first signal does: while the block ends what it has started, another one would leave
    the rest behind. A signal that was ignored, as under nohup, stays ignored.
    """
    interrupted = False

    def interrupt(_number: int, _frame: object) -> None:
        nonlocal interrupted
        if not interrupted:
            interrupted = True
            raise KeyboardInterrupt

    handlers: dict[int, Any] = {}
    for name in _CANCELS:
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) != signal.SIG_IGN:
            handlers[number] = signal.signal(number, interrupt)
    try:
        yield
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)


MAX_OUTPUT = 1_000_000
"""Bytes; more is an error."""
_LOOK_SECONDS = 0.2


def split_command(command: str) -> list[str]:
    """Return the words of a command line as the user wrote it. Raises InputError."""
    try:
        words = shlex.split(command, posix=os.name != "nt")
    except ValueError as error:
        raise InputError(f"{command!r} is not a command line: {error}; fix its quotes") from None
    if not words:
        raise InputError("the command line is empty; name a program")
    return words


def run_filter(command: str, text: str, *, seconds: float) -> str:
    """Return what a command line prints when it is given ``text`` on stdin.

    No shell is asked. Raises InputError, one line, when it cannot be started, fails, prints too
    much or is not done after ``seconds``: then all that it started is ended.
    """
    words = split_command(command)
    name = words[0]
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "printed")
        code = run_bounded(
            words, output=path, seconds=seconds, text=text, errors=subprocess.DEVNULL
        )
        with open(path, "rb") as printed:
            output = printed.read(MAX_OUTPUT + 1)
    if code is None:
        raise InputError(f"{name}: not done after {seconds:g} s; allow more in check.seconds")
    if code in (NOT_FOUND, NOT_STARTED):
        raise InputError(f"{name}: cannot be started; check its path")
    if code:
        raise InputError(f"{name}: exit code {code}; run it by hand to see why")
    if len(output) > MAX_OUTPUT:
        raise InputError(f"{name}: more than {MAX_OUTPUT:,} bytes of output; print JSON alone")
    return output.decode("utf-8", "replace")


def run_bounded(
    command: Sequence[str],
    *,
    output: str,
    seconds: float,
    cwd: str | None = None,
    env: Mapping[str, str] | None = None,
    text: str = "",
    errors: int = subprocess.STDOUT,
    stop: threading.Event | None = None,
    mark: str = "",
) -> int | None:
    """Run a command with ``text`` on stdin and all it prints in the file ``output``.

    ``errors`` is where its stderr goes. Returns its exit code as a shell would report it (126 and
    127 where it cannot be started), None where it was not done after ``seconds`` or ``stop`` was
    set: then all that it started is ended. What left its session is found by the ``mark``; a
    caller that gives one can end later what a command that did end has left behind.
    """
    mark = mark or new_mark()
    environment = {**(os.environ if env is None else env), name_variable(mark): "1"}
    with tempfile.TemporaryFile() as given, open(output, "wb") as printed:
        given.write(text.encode("utf-8", "replace"))
        given.seek(0)
        options = {"cwd": cwd, "env": environment, "stdin": given, "stdout": printed}
        try:
            child = start_session(list(command), stderr=errors, **options)
        except (OSError, ValueError) as error:  # ValueError: a NUL in a word, or half a character
            missing = isinstance(error, FileNotFoundError)
            why = getattr(error, "strerror", "") or error
            printed.write(f"{command[0]}: {why}\n".encode("utf-8", "replace"))
            return NOT_FOUND if missing else NOT_STARTED
        until = time.monotonic() + seconds
        try:
            while not (stop and stop.is_set()) and time.monotonic() < until:
                with contextlib.suppress(subprocess.TimeoutExpired):
                    code: int = child.wait(min(_LOOK_SECONDS, max(until - time.monotonic(), 0.01)))
                    return code if code >= 0 else 128 - code
            return None
        finally:
            if child.returncode is None:
                end_tree(child.pid)  # while each child can still be told by its parent
                end_marked(mark)
            signal_session(child.pid, KILL)
            child.wait()

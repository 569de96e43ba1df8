"""Run commands: captured with live output, with a time limit, or as a filter."""

from __future__ import annotations

import contextlib
import os
import shlex
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
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
    """Start a command in a session of its own and return its ``Popen``. Raises OSError."""
    if os.name == "nt":
        flags = getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0)
        return subprocess.Popen(command, creationflags=flags, **options)
    return subprocess.Popen(command, start_new_session=True, **options)


def signal_session(session: int, number: int) -> None:
    """Send a signal to every process of a session. Processes that have ended, or that belong to
    another user, are ignored.

    On Windows, the process tree is killed whatever the signal.
    """
    if os.name == "nt":
        end_tree(session)
        return
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(session, number)
    # Some programs, such as timeout(1), move to a process group of their own.
    for process in list_living():
        if process.session == session and process.group != session:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(process.id, number)


def is_alive(session: int) -> bool:
    """Return whether a process of the session still runs. The result is False on systems without
    /proc.
    """
    return any(process.session == session for process in list_living())


STDOUT, STDERR = 1, 2
NOT_FOUND, NOT_STARTED, TIMED_OUT = 127, 126, 124
"""Exit codes, which are those of a shell and of timeout(1)."""
_OF_SIGNAL = 128

KEPT_BYTES = 64 * 1024
GRACE_SECONDS = 2.0
_LEFT_BEHIND_SECONDS = 0.3
"""The pause, in seconds, before the next signal if the command has ended but its descendants still
run.
"""
_CHUNK = 64 * 1024
_MOST_LEFT_BYTES = 1 << 20
"""The maximum number of bytes that are left in a pipe, which is its capacity."""
_QUIET_SECONDS = 0.1
_POLL_SECONDS = 0.05
_CANCELS = ("SIGINT", "SIGQUIT", "SIGTERM", "SIGHUP", "SIGBREAK")


def _write(descriptor: int, data: bytes) -> None:
    """Write all data, even if the reader is slow. Raises OSError if the reader has closed the
    stream.
    """
    view = memoryview(data)
    while view:
        try:
            view = view[os.write(descriptor, view) :]
        except BlockingIOError:
            time.sleep(_POLL_SECONDS)


def open_terminal() -> tuple[int, int] | None:
    """Return the master and slave of a new terminal with our settings and size.

    The caller closes both descriptors. The result is None on Windows, if neither stdout nor stderr
    is a terminal, or if no terminal can be opened.
    """
    if os.name == "nt":
        return None
    ours = next((fd for fd in (STDOUT, STDERR) if os.isatty(fd)), None)
    if ours is None:
        return None
    try:
        master, slave = pty.openpty()
    except OSError:  # no terminal is left, so pipes are used
        return None
    with contextlib.suppress(OSError, termios.error):
        modes = termios.tcgetattr(ours)
        modes[1] &= ~termios.OPOST  # the output flags; our own terminal converts the line ends
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
    """The exit code as in a shell, which is 128 + n after signal n, or 124 if the command
    stalled.
    """
    seconds: float
    tail: str
    """The end of its stdout and stderr, in the order of arrival."""
    message: str = ""
    """One line for the user if the command was not found, could not start, or stalled."""


def run_captured(
    command: Sequence[str], *, stall: float | None = 90.0, grace: float = GRACE_SECONDS
) -> Ended:
    """Run ``command`` in a session of its own, pass its output through, and record its end.

    The command and all of its descendants are ended if it prints nothing for ``stall`` seconds
    (None means never), or if this process gets Ctrl-C, SIGTERM or SIGHUP. They are killed ``grace``
    seconds later. The command gets a terminal if our stdout or stderr is one, else pipes, and it
    reads from our stdin. Memory use does not depend on the amount of output. A command that cannot
    be started is reported in the result, not raised.
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
            message = f"{command[0]}: {why}"
            code = NOT_FOUND if missing else NOT_STARTED
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
    """A captured command from start to end. One thread reads each of its streams."""

    child: Any = None

    def __init__(self, guard: StallGuard, grace: float) -> None:
        self.guard = guard
        self.message = ""
        self._grace = grace
        self._lock = threading.Lock()
        self._heard = 0
        """The number of bytes of output so far."""
        self._last = self._next_signal = time.monotonic()
        """The time of the last output, and the time at which the next signal is due."""
        self._kept = bytearray()
        self._readers: list[threading.Thread] = []
        self._writing: set[int] = set()
        """Our streams on which a write is in progress."""
        self._cancelled_by = 0
        self._signals: list[int] = []
        """The signals that remain to be sent to end the command."""

    def has_ended(self) -> bool:
        """Return whether the command itself has ended. Its descendants may still run."""
        return self.child is not None and self.child.returncode is not None

    def find_code(self) -> int:
        """Return the exit code as in a shell."""
        if self.guard.state == CANCELLED:
            return _OF_SIGNAL + self._cancelled_by
        if self.guard.state == STALLED:
            return TIMED_OUT
        code: int = self.child.returncode
        return code if code >= 0 else _OF_SIGNAL - code

    def find_tail(self) -> str:
        """Return the end of the output, without a first line (or at least a first word) that was
        cut.
        """
        with self._lock:
            tail = bytes(self._kept[-KEPT_BYTES:])
        if self._heard <= len(tail):
            return tail.decode("utf-8", "replace")
        for end in (b"\n", b"\r", b" "):
            _, found, rest = tail.partition(end)
            if found:
                return rest.decode("utf-8", "replace")
        return ""

    def start(self, command: Sequence[str], terminal: tuple[int, int] | None) -> None:
        """Start the command. Raises OSError if it cannot be started."""
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
            # Each thread closes its own copy of the descriptor, whenever it ends.
            work = (os.dup(source), ours)
            self._readers.append(threading.Thread(target=self._pass_on, args=work, daemon=True))
        for pipe in filter(None, sources.values()):
            pipe.close()

    def _pass_on(self, source: int, ours: int) -> None:
        """Copy a stream of the command to one of our streams until either is closed.

        If our end is closed, the command notices that nobody reads its output any more.
        """
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
        """Cancel the command because of a signal, unless it has ended or is being ended."""
        if self.guard.state == RUNNING and not self.has_ended():
            self.guard.cancel()
            self._cancelled_by = number
            self._signals = [number, STOP, KILL] if number != STOP else [STOP, KILL]

    def see_through(self) -> None:
        """Wait until the command has ended and its output was copied.

        If it was cancelled or has stalled, also wait for all of its descendants.
        """
        for reader in self._readers:
            reader.start()
        while not self._is_over():
            self._look()
            if self.has_ended():
                time.sleep(_POLL_SECONDS)
            else:
                with contextlib.suppress(subprocess.TimeoutExpired):
                    self.child.wait(_POLL_SECONDS)
        # Copy the output from before the end. Descendants that still run could write for ever.
        most = self._heard + _MOST_LEFT_BYTES
        self._last = time.monotonic()
        while any(reader.is_alive() for reader in self._readers) and self._heard <= most:
            if not self._writing and time.monotonic() - self._last > _QUIET_SECONDS:
                break
            time.sleep(_POLL_SECONDS / 10)

    def _is_over(self) -> bool:
        ended = self.has_ended()
        if ended:
            self.guard.finish(ok=self.child.returncode == 0)
        if self.guard.state not in (CANCELLED, STALLED):
            return ended
        if ended and not is_alive(self.child.pid):
            return True
        return not self._signals and time.monotonic() > self._next_signal

    def _look(self) -> None:
        """Check whether the command has stalled, and send the next signal if it is due."""
        now = time.monotonic()
        if self._writing:  # a slow reader delays the command, which is not silent
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

    A signal that was ignored, as under nohup, stays ignored. Only the main thread gets signals.
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

    Only the first signal has this effect. While the block ends the processes that it has started,
    another signal would leave some of them running. A signal that was ignored, as under nohup,
    stays ignored.
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
"""The size limit of a filter's output, in bytes. More is an error."""
_LOOK_SECONDS = 0.2


def split_command(command: str) -> list[str]:
    """Split a command line of the user into words. Raises InputError."""
    try:
        words = shlex.split(command, posix=os.name != "nt")
    except ValueError as error:
        raise InputError(f"{command!r} is not a command line: {error}; fix its quotes") from None
    if not words:
        raise InputError("the command line is empty; name a program")
    return words


def run_filter(command: str, text: str, *, seconds: float) -> str:
    """Run a command line with ``text`` on stdin and return its output. No shell is used.

    Raises InputError, a single line, if the command cannot be started, fails, prints too much, or
    does not end within ``seconds``. In the last case all of its descendants are ended, too.
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


def ask_in_lines(
    command: Sequence[str],
    questions: Sequence[str],
    *,
    is_answer: Callable[[str], bool],
    seconds: float,
    cwd: str | None = None,
) -> str | None:
    """Write lines to a command and return the first line that is an answer.

    The command is ended then, with all of its descendants. Return None if it cannot be started, or
    if no answer came within ``seconds``.
    """
    options = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    try:
        child = start_session(list(command), cwd=cwd, encoding="utf-8", errors="replace", **options)
    except (OSError, ValueError):
        return None
    timer = threading.Timer(seconds, end_tree, (child.pid,))
    timer.start()
    try:
        with contextlib.suppress(OSError):
            child.stdin.write("".join(f"{question}\n" for question in questions))
            child.stdin.flush()
        return next(filter(is_answer, child.stdout), None)
    finally:
        timer.cancel()
        end_tree(child.pid)
        signal_session(child.pid, KILL)
        child.wait()
        for stream in (child.stdin, child.stdout):
            with contextlib.suppress(OSError):
                stream.close()


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
    """Run a command with ``text`` on stdin, and write its output to the file ``output``.

    ``errors`` is the target of its stderr. Return the exit code as in a shell (126 or 127 if the
    command cannot be started). Return None if it did not end within ``seconds``, or if ``stop`` was
    set. All of its descendants are then ended. Descendants that left its session are found by the
    ``mark``. A caller that passes a mark can later end processes that a finished command left
    running.
    """
    mark = mark or new_mark()
    environment = {**(os.environ if env is None else env), name_variable(mark): "1"}
    with tempfile.TemporaryFile() as input_file, open(output, "wb") as printed:
        input_file.write(text.encode("utf-8", "replace"))
        input_file.seek(0)
        options = {"cwd": cwd, "env": environment, "stdin": input_file, "stdout": printed}
        try:
            child = start_session(list(command), stderr=errors, **options)
        except (OSError, ValueError) as error:  # ValueError: a NUL or a lone surrogate in a word
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
                end_tree(child.pid)  # at once, while children can still be found by their parent
                end_marked(mark)
            signal_session(child.pid, KILL)
            child.wait()

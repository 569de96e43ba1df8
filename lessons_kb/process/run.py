"""Run a command with its output passed through live and its end kept."""

from __future__ import annotations

import contextlib
import os
import queue
import select
import shlex
import signal
import stat
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from lessons_kb.errors import InputError
from lessons_kb.guards.silent_runs import CANCELLED, FAILED, RUNNING, STALLED, StallGuard

_TASKKILL_SECONDS = 10.0
_DEAD = ("Z", "X", "x")


def start_session(command: list[str], *, terminal: int | None = None, **options: Any) -> Any:
    """Start a command in a session of its own; return its ``Popen``.

    ``terminal`` is the descriptor of a terminal that becomes the session's. Raises OSError.
    """
    if os.name == "nt":
        flags = getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0)
        return subprocess.Popen(command, creationflags=flags, **options)
    take: Callable[[], None] | None = None
    if terminal is not None:
        import fcntl
        import termios

        def take() -> None:
            fcntl.ioctl(terminal, termios.TIOCSCTTY, 0)

    return subprocess.Popen(command, start_new_session=True, preexec_fn=take, **options)  # noqa: PLW1509


def signal_session(session: int, number: int) -> None:
    """Send a signal to every process of a session; one that is gone is no error."""
    if os.name == "nt":
        end_tree(session)
        return
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(session, number)
    # Some programs, timeout(1) for one, put themselves into a group of their own.
    for process, group in _members(session):
        if group != session:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(process, number)


def is_alive(session: int) -> bool:
    """Return whether a process of the session still runs."""
    if os.name == "nt":
        return False  # the whole tree was ended at once
    if os.path.isdir("/proc/self"):
        return bool(_members(session))
    try:
        os.killpg(session, 0)
    except (ProcessLookupError, PermissionError):
        return False
    return True


def _members(session: int) -> list[tuple[int, int]]:
    """Return (process, group) of each living process of a session, as far as the system tells."""
    return [(process, group) for process, _, group, its in _living() if its == session]


def _living() -> Iterator[tuple[int, int, int, int]]:
    """Yield (process, parent, group, session) of each living process; none without /proc."""
    try:
        names = os.listdir("/proc")
    except OSError:
        return
    for name in names:
        if name.isdecimal():
            try:
                with open(f"/proc/{name}/stat", "rb") as file:
                    fields = file.read().rpartition(b")")[2].split()
            except OSError:
                continue
            if fields[0].decode() not in _DEAD:
                parent, group, session = map(int, fields[1:4])
                yield int(name), parent, group, session


def end_tree(process: int) -> None:
    """Kill a process and what it has started, as far as the system tells what that is."""
    if os.name != "nt":
        found = [process]
        for one in found:  # grows
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(one, signal.SIGSTOP)  # or it would start more while we look
            found += [child for child, parent, _, _ in _living() if parent == one]
        for one in found:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(one, KILL)
        return
    with contextlib.suppress(subprocess.TimeoutExpired):
        subprocess.run(
            ["taskkill", "/F", "/T", "/PID", str(process)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            check=False,
            timeout=_TASKKILL_SECONDS,
        )


STOP = getattr(signal, "SIGTERM", 15)
KILL = getattr(signal, "SIGKILL", STOP)


CHUNK = 64 * 1024
_PIECE = 4096
"""What a pipe that can be written takes without making us wait."""
_STREAM_POLL_SECONDS = 0.05


class Tail:
    """The last bytes of a stream."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._kept = bytearray()
        self._cut = False

    def add(self, data: bytes) -> None:
        """Take in what came."""
        self._kept += data
        if len(self._kept) > 2 * self._limit:
            self._cut = True
            del self._kept[: -self._limit]

    def text(self) -> str:
        """Return the end as text; what a cut split, a line or at least a word, is left out."""
        kept = bytes(self._kept[-self._limit :])
        if self._cut or len(self._kept) > self._limit:
            ends = (place for end in (b"\n", b"\r", b" ") if (place := kept.find(end)) >= 0)
            kept = kept[next(ends, len(kept)) + 1 :]
        return kept.decode("utf-8", "replace")


class Sink:
    """One of our own streams, to which is passed on."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self.broken = False
        """Nobody reads any more."""
        try:
            kind = os.fstat(descriptor).st_mode
        except OSError:
            kind, self.broken = 0, True
        self._at_once = os.name == "nt" or stat.S_ISREG(kind)

    def write(self, data: bytes, waiting: Callable[[], None]) -> None:
        """Write everything; ``waiting`` is called now and then while the reader is slow."""
        view = memoryview(data)
        while view and not self.broken:
            try:
                if not self._at_once and not _is_ready(self._descriptor):
                    waiting()
                    continue
                view = view[os.write(self._descriptor, view if self._at_once else view[:_PIECE]) :]
            except BlockingIOError:
                time.sleep(_STREAM_POLL_SECONDS)
                waiting()
            except OSError:
                self.broken = True


def _is_ready(descriptor: int) -> bool:
    return bool(select.select([], [descriptor], [], _STREAM_POLL_SECONDS)[1])


class Sources:
    """The descriptors that a command writes to, read whichever comes first."""

    def __init__(self, sinks: Mapping[int, Sink], *, kept: Collection[int] = ()) -> None:
        """``kept`` are not closed at their end: somebody else does."""
        self._sinks = dict(sinks)
        self._kept = kept
        self._others: set[int] = set()

    @property
    def open(self) -> bool:
        """Whether anything may still come."""
        return bool(self._sinks)

    def watch(self, descriptor: int) -> None:
        """End waits when this descriptor, which is not read here, is ready."""
        self._others.add(descriptor)

    def unwatch(self, descriptor: int) -> None:
        """Wait for this descriptor no longer."""
        self._others.discard(descriptor)

    def wait(self, seconds: float) -> tuple[list[tuple[bytes, Sink]], set[int]]:
        """Return what came within some seconds, and which watched descriptors are ready."""
        came: list[tuple[bytes, Sink]] = []
        ready = select.select([*self._sinks, *self._others], [], [], max(seconds, 0))[0]
        for descriptor in ready:
            if descriptor not in self._sinks:
                continue
            data = _read(descriptor)
            sink = self._sinks[descriptor]
            if data:
                came.append((data, sink))
            if data == b"" or sink.broken:
                self._close(descriptor)
        return came, self._others & set(ready)

    def close(self) -> None:
        """Stop reading: a command that still writes learns that nobody listens."""
        for descriptor in tuple(self._sinks):
            self._close(descriptor)

    def _close(self, descriptor: int) -> None:
        del self._sinks[descriptor]
        if descriptor not in self._kept:
            os.close(descriptor)


class ThreadedSources(Sources):
    """The same where the system cannot wait for several pipes: a thread reads each."""

    def __init__(self, sinks: Mapping[int, Sink], *, kept: Collection[int] = ()) -> None:
        """See ``Sources``."""
        super().__init__(sinks, kept=kept)
        self._came: queue.Queue[tuple[int, bytes]] = queue.Queue(maxsize=4)
        for descriptor in sinks:
            threading.Thread(target=self._read_all, args=(descriptor,), daemon=True).start()

    def _read_all(self, descriptor: int) -> None:
        while True:
            data = _read(descriptor) or b""
            self._came.put((descriptor, data))
            if not data:
                os.close(descriptor)
                return

    def wait(self, seconds: float) -> tuple[list[tuple[bytes, Sink]], set[int]]:
        """See ``Sources``; nothing else is watched, so a wait is short."""
        try:
            descriptor, data = self._came.get(
                timeout=min(max(seconds, 0.001), _STREAM_POLL_SECONDS)
            )
        except queue.Empty:
            return [], set()
        if descriptor not in self._sinks:
            return [], set()
        if not data:
            self._close(descriptor)
            return [], set()
        return [(data, self._sinks[descriptor])], set()

    def _close(self, descriptor: int) -> None:
        del self._sinks[descriptor]  # its thread closes it


def _read(descriptor: int) -> bytes | None:
    """Return what can be read, b"" at the end, None when nothing is there after all."""
    try:
        return os.read(descriptor, CHUNK)
    except BlockingIOError:
        return None
    except OSError:  # a terminal whose other end is closed
        return b""


STDIN, STDOUT, STDERR = 0, 1, 2


class Terminal:
    """A pseudo-terminal that stands for those of our streams that are terminals."""

    def __init__(self, ours: int) -> None:
        """Open one like ``ours``, a descriptor of our terminal."""
        self._ours = ours
        import pty

        self.master, self.slave = pty.openpty()
        os.set_blocking(self.master, False)  # what is typed must not wait for a busy command
        self._imitate()
        self.resize()

    def resize(self) -> None:
        """Give the command's terminal the size of ours."""
        import fcntl
        import termios

        with contextlib.suppress(OSError):
            size = fcntl.ioctl(self._ours, termios.TIOCGWINSZ, b"\0" * 8)
            fcntl.ioctl(self.master, termios.TIOCSWINSZ, size)

    def hand_over(self) -> None:
        """Leave the command's end to the command, which has begun."""
        if self.slave >= 0:
            os.close(self.slave)
            self.slave = -1

    def close(self) -> None:
        """Close both ends."""
        self.hand_over()
        os.close(self.master)

    def type(self, keys: bytes) -> bytes:
        """Give keys to the command; return those that it has no room for yet."""
        try:
            return keys[os.write(self.master, keys) :]
        except BlockingIOError:
            return keys
        except OSError:  # nobody is there to read them
            return b""

    @contextlib.contextmanager
    def passing_keys(self) -> Iterator[bool]:
        """Let our terminal pass every key on, but Ctrl-C, until the end of the block.

        Yields False where our terminal belongs to another process just now.
        """
        import termios

        keys = next((fd for fd in (STDIN, self._ours) if os.isatty(fd)), -1)
        before = None
        with contextlib.suppress(OSError, termios.error):
            if os.tcgetpgrp(keys) == os.getpgrp():
                before = termios.tcgetattr(keys)
                termios.tcsetattr(keys, termios.TCSADRAIN, _raw_but_interrupts(before))
        try:
            yield before is not None and keys == STDIN
        finally:
            if before is not None:
                with contextlib.suppress(OSError, termios.error):
                    termios.tcsetattr(keys, termios.TCSADRAIN, before)

    def _imitate(self) -> None:
        import termios

        with contextlib.suppress(OSError, termios.error):
            termios.tcsetattr(self.slave, termios.TCSANOW, termios.tcgetattr(self._ours))


def open_terminal() -> Terminal | None:
    """Return a terminal for the command where stdout or stderr is one, else None."""
    if os.name == "nt":
        return None
    ours = next((fd for fd in (STDOUT, STDERR) if os.isatty(fd)), None)
    try:
        return None if ours is None else Terminal(ours)
    except OSError:  # no more of them: pipes do as well
        return None


def _raw_but_interrupts(attributes: list[Any]) -> list[Any]:
    import termios

    inputs, outputs, control, local, *speeds, keys = attributes
    keys = list(keys)
    for key in ("VSUSP", "VQUIT", "VDSUSP"):  # these too are the command's
        if hasattr(termios, key):
            keys[getattr(termios, key)] = b"\0"
    keys[termios.VMIN], keys[termios.VTIME] = 1, 0
    inputs &= ~(termios.BRKINT | termios.ICRNL | termios.INLCR | termios.IGNCR | termios.ISTRIP)
    inputs &= ~(termios.IXON | termios.INPCK)
    local &= ~(termios.ECHO | termios.ICANON | termios.IEXTEN)
    return [inputs, outputs & ~termios.OPOST, control, local, *speeds, keys]


NOT_FOUND = 127
NOT_STARTED = 126
TIMED_OUT = 124
"""Exit codes as a shell and timeout(1) give them."""
_OF_SIGNAL = 128

KEPT_BYTES = 64 * 1024
GRACE_SECONDS = 2.0
_LEFT_BEHIND_SECONDS = 0.3
"""When the command itself has ended, what it started gets this long before the next signal."""
_MOST_LEFT_BYTES = 1 << 20
"""What a pipe holds at most."""
_QUIET_SECONDS = 0.1
_POLL_SECONDS = 0.05
_CANCELS = ("SIGINT", "SIGTERM", "SIGHUP", "SIGBREAK")


@dataclass(frozen=True, kw_only=True, slots=True)
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
    command: Sequence[str],
    *,
    stall: float | None = 90.0,
    grace: float = GRACE_SECONDS,
    cwd: str | None = None,
    env: Mapping[str, str] | None = None,
) -> Ended:
    """Run ``command`` in a session of its own, pass its output on byte for byte, keep its end.

    It is ended as a whole, whatever it started, when it is silent for ``stall`` seconds (None =
    never) or this process gets Ctrl-C, SIGTERM or SIGHUP; ``grace`` seconds later it is killed.
    Where our stdout or stderr is a terminal it sees one too, else pipes. Memory does not grow
    with the output. Nothing is raised for a command that cannot be started.
    """
    began = time.monotonic()
    run = _Run(StallGuard(now=began, patience=stall), grace)
    terminal = open_terminal()
    with contextlib.ExitStack() as stack:
        if terminal:
            stack.callback(terminal.close)
        wake = stack.enter_context(_signals(run, terminal))
        try:
            run.start(command, terminal, cwd=cwd, env=env)
        except OSError as error:
            return _not_started(command[0], error, time.monotonic() - began)
        stack.callback(run.close)
        typing = stack.enter_context(terminal.passing_keys()) if terminal else False
        try:
            run.see_through(wake, terminal if typing else None)
        except BaseException:
            run.kill()
            raise
    return Ended(
        state=run.state,
        code=run.code,
        seconds=time.monotonic() - began,
        tail=run.tail.text(),
        message=run.message,
    )


def _not_started(name: str, error: OSError, seconds: float) -> Ended:
    missing = isinstance(error, FileNotFoundError)
    why = "command not found" if missing else (error.strerror or str(error))
    return Ended(
        state=FAILED,
        code=NOT_FOUND if missing else NOT_STARTED,
        seconds=seconds,
        tail=f"{name}: {why}\n",
        message=f"{name}: {why}",
    )


class _Run:
    """One command from start to end."""

    def __init__(self, guard: StallGuard, grace: float) -> None:
        self.tail = Tail(KEPT_BYTES)
        self.message = ""
        self._guard = guard
        self._grace = grace
        self._child: Any = None
        self._sources = Sources({})
        self._cancelled_by = 0
        self._signals: list[int] = []
        """Still to be sent while the command is being ended."""
        self._next_signal = 0.0
        self._keys = b""

    @property
    def state(self) -> str:
        """How it ended."""
        return self._guard.state

    @property
    def code(self) -> int:
        """Its exit code as a shell would report it."""
        if self.state == CANCELLED:
            return _OF_SIGNAL + self._cancelled_by
        if self.state == STALLED:
            return TIMED_OUT
        code: int = self._child.returncode
        return code if code >= 0 else _OF_SIGNAL - code

    def start(
        self,
        command: Sequence[str],
        terminal: Terminal | None,
        *,
        cwd: str | None,
        env: Mapping[str, str] | None,
    ) -> None:
        """Start the command; OSError when that cannot be done."""
        streams = [
            terminal.slave if terminal and os.isatty(fd) else subprocess.PIPE
            for fd in (STDOUT, STDERR)
        ]
        self._child = start_session(
            list(command),
            terminal=terminal.slave if terminal else None,
            stdin=terminal.slave if terminal and os.isatty(STDIN) else None,
            stdout=streams[0],
            stderr=streams[1],
            bufsize=0,
            cwd=cwd,
            env=env,
        )
        sinks: dict[int, Sink] = {}
        for pipe, ours in ((self._child.stdout, STDOUT), (self._child.stderr, STDERR)):
            if pipe:
                sinks[os.dup(pipe.fileno())] = Sink(ours)
                pipe.close()
            elif terminal:
                sinks.setdefault(terminal.master, Sink(ours))
        if terminal:
            terminal.hand_over()
        kind = ThreadedSources if os.name == "nt" else Sources
        self._sources = kind(sinks, kept=(terminal.master,) if terminal else ())

    def close(self) -> None:
        """Stop reading."""
        self._sources.close()

    def kill(self) -> None:
        """End the command at once, with all it started."""
        signal_session(self._child.pid, KILL)
        self._child.wait()

    def cancel(self, number: int) -> None:
        """End the command as cancelled by a signal, unless it has ended or is being ended."""
        ended = self._child is not None and self._child.returncode is not None
        if self._guard.state == RUNNING and not ended:
            self._guard.cancel()
            self._cancelled_by = number
            polite = [number, STOP] if number != STOP else [STOP]
            self._end([*polite, KILL])

    def see_through(self, wake: int | None, terminal: Terminal | None) -> None:
        """Pass everything on until the command, or all that belongs to it, has ended."""
        watched = [wake, STDIN if terminal else None, _descriptor_of(self._child.pid)]
        for descriptor in watched:
            if descriptor is not None:
                self._sources.watch(descriptor)
        while not self._is_over():
            came, ready = self._sources.wait(self._patience())
            self._pass_on(came)
            if wake in ready and wake is not None:
                os.read(wake, 512)
            if terminal and (STDIN in ready or self._keys):
                self._type(terminal)
            self._look()
        if watched[2] is not None:
            self._sources.unwatch(watched[2])
            os.close(watched[2])
        self._drain()

    def _drain(self) -> None:
        """Pass on what was written before the end; what still runs may write for ever."""
        room, last = _MOST_LEFT_BYTES, time.monotonic()
        while self._sources.open and room > 0 and time.monotonic() - last < _QUIET_SECONDS:
            came, _ = self._sources.wait(_POLL_SECONDS)
            self._pass_on(came)
            if came:
                room -= sum(len(data) for data, _sink in came)
                last = time.monotonic()

    def _is_over(self) -> bool:
        ended = self._child.poll() is not None
        if ended and self._guard.state == RUNNING:
            self._guard.finish(ok=self._child.returncode == 0)
        if self._guard.state not in (CANCELLED, STALLED):
            return ended
        gone = ended and not is_alive(self._child.pid)
        return gone or (not self._signals and time.monotonic() > self._next_signal)

    def _patience(self) -> float:
        deadline = self._guard.deadline
        if self._guard.state != RUNNING or self._keys or not self._sources.open:
            return _POLL_SECONDS
        slow = 1.0 if hasattr(os, "pidfd_open") else _POLL_SECONDS
        return slow if deadline is None else min(slow, deadline - time.monotonic())

    def _pass_on(self, came: list[tuple[bytes, Sink]]) -> None:
        for data, sink in came:
            self.tail.add(data)
            sink.write(data, self._while_waiting)
            self._guard.chunk(time.monotonic())

    def _while_waiting(self) -> None:
        """A reader that is slow keeps the command waiting: that is no silence of the command."""
        self._guard.chunk(time.monotonic())
        self._child.poll()
        self._look()

    def _type(self, terminal: Terminal) -> None:
        if not self._keys:
            try:
                self._keys = os.read(STDIN, 1024)
            except OSError:
                self._keys = b""
            if not self._keys:
                self._sources.unwatch(STDIN)
        self._keys = terminal.type(self._keys) if self._keys else b""

    def _look(self) -> None:
        """See whether it has stalled, and whether it is time for the next signal."""
        now = time.monotonic()
        deadline = self._guard.deadline
        if deadline is not None and now >= deadline and (said := self._guard.check(deadline)):
            self.message = said.user_line
            self._end([STOP, KILL])
        if self._signals:
            if self._child.returncode is not None:
                self._next_signal = min(self._next_signal, now + _LEFT_BEHIND_SECONDS)
            if now >= self._next_signal:
                self._send()

    def _end(self, signals: list[int]) -> None:
        self._signals = signals
        if self._child is not None:
            self._send()

    def _send(self) -> None:
        signal_session(self._child.pid, self._signals.pop(0))
        self._next_signal = time.monotonic() + (self._grace if self._signals else 1.0)


def _descriptor_of(process: int) -> int | None:
    """Return a descriptor that is ready when a process has ended, where the system has such."""
    try:
        return os.pidfd_open(process)
    except (AttributeError, OSError):
        return None


@contextlib.contextmanager
def _signals(run: _Run, terminal: Terminal | None) -> Iterator[int | None]:
    """Cancel the run on the usual signals; yield a descriptor that each signal makes ready.

    What was ignored, as under nohup, stays ignored. Only the main thread gets signals.
    """
    if threading.current_thread() is not threading.main_thread():
        yield None
        return
    handlers: dict[int, Callable[[int, Any], None]] = {
        getattr(signal, name): lambda number, _frame: run.cancel(number)
        for name in _CANCELS
        if hasattr(signal, name) and signal.getsignal(getattr(signal, name)) != signal.SIG_IGN
    }
    if terminal and hasattr(signal, "SIGWINCH"):
        handlers[signal.SIGWINCH] = lambda _number, _frame: terminal.resize()
    if os.name == "nt":
        wake = write_end = -1
    else:
        wake, write_end = os.pipe()
        for descriptor in (wake, write_end):
            os.set_blocking(descriptor, False)
    before = {number: signal.signal(number, handler) for number, handler in handlers.items()}
    woken = signal.set_wakeup_fd(write_end, warn_on_full_buffer=False) if wake >= 0 else -1
    try:
        yield wake if wake >= 0 else None
    finally:
        if wake >= 0:
            signal.set_wakeup_fd(woken)
            os.close(wake)
            os.close(write_end)
        for number, handler in before.items():
            signal.signal(number, handler)


MAX_OUTPUT = 1_000_000
"""Bytes; more is an error."""


def run_filter(command: str, text: str, *, seconds: float) -> str:
    """Return what a command line prints when it is given ``text`` on stdin.

    No shell is asked. Raises InputError, one line, when it cannot be started, fails, prints too
    much or is not done after ``seconds``: then all that it started is ended.
    """
    try:
        words = shlex.split(command, posix=os.name != "nt")
    except ValueError as error:
        raise InputError(f"{command!r} is not a command line: {error}; fix its quotes") from None
    if not words:
        raise InputError("the command line is empty; name a program")
    name = words[0]
    with tempfile.TemporaryFile() as given, tempfile.TemporaryFile() as printed:
        given.write(text.encode("utf-8", "replace"))
        given.seek(0)
        try:
            child = start_session(words, stdin=given, stdout=printed, stderr=subprocess.DEVNULL)
        except OSError as error:
            raise InputError(f"{name}: {error.strerror or error}; check its path") from None
        try:
            code = child.wait(timeout=seconds)
        except subprocess.TimeoutExpired:
            raise InputError(
                f"{name}: not done after {seconds:g} s; allow more in check.seconds"
            ) from None
        finally:
            signal_session(child.pid, KILL)
            child.wait()
        if code:
            raise InputError(f"{name}: exit code {code}; run it by hand to see why")
        printed.seek(0)
        output = printed.read(MAX_OUTPUT + 1)
    if len(output) > MAX_OUTPUT:
        raise InputError(f"{name}: more than {MAX_OUTPUT:,} bytes of output; print JSON alone")
    return output.decode("utf-8", "replace")

"""Run a command with its output passed through live and its end kept."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from lessons_kb.guards.silent_runs import CANCELLED, FAILED, RUNNING, STALLED, StallGuard
from lessons_kb.process.output_streams import Sink, Sources, Tail, ThreadedSources
from lessons_kb.process.process_tree import KILL, STOP, is_alive, signal_session, start_session
from lessons_kb.process.pseudo_terminal import STDERR, STDIN, STDOUT, Terminal, open_terminal

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

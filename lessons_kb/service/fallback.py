"""``lessons-hook AGENT`` without a daemon: read one event from stdin, and print one answer.

If a client waits for the answer (``PACKED``), the client keeps the deadline. If it has left when
the answer is ready, the answer is stored for the session's next event. Without a client, the output
is valid and the exit code is 0 within the deadline, even after an error.
"""

from __future__ import annotations

import _thread
import gc
import json
import os
import sys
import time

from lessons_kb.hook_client import (
    DEADLINE_SECONDS,
    DEADLINE_VARIABLE,
    ENDED_HEARD,
    ENDED_LATE,
    MAX_EVENT_BYTES,
    PACKED,
    SILENT,
    STRICT_VARIABLE,
    UNASKED_LINE,
    WHOLE,
    pack,
    read_deadline,
)

_LOG_SECONDS = 0.3
_STARTING_SECONDS = 10.0
"""The longest time that the end of the process waits for a start of the daemon by the watch."""
_LATEST_SECONDS = 120.0
"""A process whose client has left ends after this time, because something blocks it."""
_starting = _thread.allocate_lock()
_USAGE = "usage: lessons-hook AGENT  (run by agents; `lessons install AGENT` sets it up)"


def main() -> None:
    """Answer the event on standard input and end the process. This never returns and never
    fails.
    """
    agent = sys.argv[1] if len(sys.argv) > 1 else ""
    speaker = _Client() if PACKED in sys.argv[2:] else _Agent(agent)
    received = list[bytes]()
    gc.disable()  # a process of 50 ms has no garbage to collect
    try:
        for number in (0, 1, 2):  # a new file would get the descriptor of a closed stream
            try:
                os.fstat(number)
            except OSError:
                os.open(os.devnull, os.O_RDWR)
        _thread.start_new_thread(_watch, (speaker, agent, received))
        # The imports follow the start of the watch, because on a busy machine they alone may take
        # longer than the deadline.
        from lessons_kb.agents.table import AGENTS, OFF_VARIABLE
        from lessons_kb.service.hook_event import answer_event

        if agent not in AGENTS:
            speaker.say("", _USAGE)
            os._exit(0)
        if os.environ.get(OFF_VARIABLE) == "0":
            speaker.say(speaker.silence, "")
            os._exit(0)
        received.append(_read_input())
        output, line = answer_event(
            agent,
            received[0],
            os.environ,
            cwd=_current_directory(),
            leave_open=True,
            say=speaker.say,
        )
    except BaseException as error:  # our errors must not stop an agent
        _log_error(agent, error)
        is_strict = STRICT_VARIABLE.decode() in os.environ
        output = speaker.silence
        line = UNASKED_LINE if is_strict else ""
    if not speaker.has_said:
        speaker.say(output, line)
    for file in (0, 1, 2):  # the agent has its answer, and need not wait for the rest
        os.close(file)
    _start_daemon(received)
    os._exit(0)


def _log_error(agent: str, error: BaseException) -> None:
    """Log an error, unless the log cannot be written or the package cannot be imported."""
    try:
        from lessons_kb.service.hook_event import log_failure

        log_failure(agent, "input", error)
    except Exception:  # noqa: S110 (the agent still needs a valid answer)
        pass


class _Client:
    """The client, which waits for an answer and reports how it ended the event."""

    def __init__(self) -> None:
        self.silence = ""
        self.has_said = False

    def say(self, output: str, line: str) -> str:
        """Send an answer to the client over descriptor 1, which is a socket.

        Return "" if the client passed it on (ENDED_HEARD). Otherwise return the client's sign for
        how it had ended the event without it, such as ENDED_LATE or ENDED_REFUSED.
        """
        self.has_said = True
        texts = [f"{text}\n".encode("utf-8", "replace") if text else b"" for text in (output, line)]
        try:
            data = pack(*texts, WHOLE)
            while data:
                data = data[os.write(1, data) :]
        except OSError:
            pass  # the client has left; its sign may have arrived before
        try:
            how = os.read(1, 1) or ENDED_LATE
        except OSError:
            how = ENDED_LATE
        return "" if how == ENDED_HEARD else how.decode()

    def end(self, agent: str, deadline: float) -> None:
        """Wait until the answer is no longer useful, then end the process."""
        time.sleep(max(_LATEST_SECONDS - deadline, 0.0))
        from lessons_kb.service.hook_event import log_failure

        log_failure(agent, "deadline", f"no answer within {_LATEST_SECONDS:g} s; it is lost")
        os._exit(0)


class _Agent:
    """The agent itself, which reads our standard output."""

    def __init__(self, agent: str) -> None:
        self.silence = "" if agent in SILENT else "{}"
        self.has_said = False
        self._once = _thread.allocate_lock()

    def say(self, output: str, line: str) -> str:
        """Print an answer. This never returns if the time is up."""
        self.has_said = True
        if not self._once.acquire(blocking=False):
            self._once.acquire()  # the watch is ending the process
        _write(1, output)
        _write(2, line)
        return ""

    def end(self, agent: str, deadline: float) -> None:
        """Print an empty answer and end the process, unless the answer has just been printed."""
        if not self._once.acquire(blocking=False):
            return
        logged = _thread.allocate_lock()

        def log() -> None:
            from lessons_kb.service.hook_event import log_failure

            message = f"no answer within {deadline:g} s; nothing was injected"
            log_failure(agent, "deadline", message)
            logged.release()

        try:
            _write(1, self.silence)
            logged.acquire()
            # The cause that blocks the answer, such as a home folder that hangs, may also block the
            # log.
            _thread.start_new_thread(log, ())
            logged.acquire(timeout=_LOG_SECONDS)
        finally:
            os._exit(0)


def _start_daemon(received: list[bytes]) -> None:
    """Start the daemon, unless the settings of the nearest brain forbid it.

    ``received`` contains the event, once it has been read. Two threads may call this. The second
    waits for the first, because the end of the process would interrupt a start that is recorded.
    """
    if os.environ.get("LESSONS_DAEMON") == "0" or not hasattr(os, "fork"):
        return
    if not _starting.acquire(timeout=_STARTING_SECONDS):
        return
    try:
        directory = json.loads((received or [b"{}"])[0]).get("cwd") or _current_directory()
        # These modules are not needed for the answer.
        from lessons_kb.brain.discovery import look
        from lessons_kb.service.daemon_client import end_start, start_daemon
        from lessons_kb.store.brain_settings import read_settings

        roots = look(directory, os.environ, in_agent=True).trusted
        if all(read_settings(root)[0].hooks.daemon for root in list(roots)[:1]):
            start_daemon(os.environ, directory=directory)
        else:
            end_start()
    except Exception:  # the answer has already reported it
        return
    finally:
        _starting.release()


def _current_directory() -> str:
    """Return the working directory, or the root folder, which has no brain, if it was removed."""
    try:
        return os.getcwd()
    except OSError:
        return os.path.abspath(os.sep)


def _read_input() -> bytes:
    """Read standard input to its end, because an agent may take a broken pipe for our failure."""
    parts: list[bytes] = []
    size = 0
    while part := os.read(0, 1 << 20):
        size += len(part)
        parts = [*parts, part] if size <= MAX_EVENT_BYTES else []
    if size > MAX_EVENT_BYTES:
        raise ValueError(f"the event has {size:,} bytes; the limit is {MAX_EVENT_BYTES:,}")
    return b"".join(parts)


def _watch(speaker: _Client | _Agent, agent: str, received: list[bytes]) -> None:
    """End the wait for an answer when the time is up, regardless of what blocks the main thread.

    Start the daemon before that. If the machine is too busy for a new process, the next event then
    finds a running daemon.
    """
    deadline = read_deadline(os.environ.get(DEADLINE_VARIABLE.decode(), ""))
    pause = min(deadline, DEADLINE_SECONDS) / 2
    time.sleep(pause)
    _thread.start_new_thread(_start_daemon, (received,))  # in a thread, because it may hang
    time.sleep(deadline - pause)
    speaker.end(agent, deadline)


def _write(file: int, text: str) -> None:
    data = (text + "\n").encode("utf-8", "replace") if text else b""
    try:
        while data:
            try:
                data = data[os.write(file, data) :]
            except BlockingIOError:
                os.set_blocking(file, True)
    except OSError:
        return


if __name__ == "__main__":
    main()

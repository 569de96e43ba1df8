"""All processes of one session: a command and whatever it started, however deep."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from collections.abc import Callable, Iterator
from typing import Any

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

"""End a process together with its descendants."""

from __future__ import annotations

import contextlib
import glob
import os
import signal
import subprocess

_TASKKILL_SECONDS = 10.0


_DEAD = (b"Z", b"X", b"x")
STOP = getattr(signal, "SIGTERM", 15)
KILL = getattr(signal, "SIGKILL", STOP)


def list_living() -> list[tuple[int, int, int, int]]:
    """Return (process, parent, group, session) for all living processes, or [] without /proc."""
    processes = []
    for path in glob.glob("/proc/[0-9]*/stat"):
        with contextlib.suppress(OSError), open(path, "rb") as file:
            state, *numbers = file.read().rpartition(b")")[2].split()[:4]
            if state not in _DEAD:
                parent, group, session = map(int, numbers)
                processes.append((int(path.split("/")[2]), parent, group, session))
    return processes


def end_tree(process: int) -> None:
    """Kill a process and its descendants. Without /proc, only the process itself is killed."""
    if os.name == "nt":
        command = ["taskkill", "/F", "/T", "/PID", str(process)]
        with contextlib.suppress(subprocess.TimeoutExpired):
            subprocess.run(command, capture_output=True, check=False, timeout=_TASKKILL_SECONDS)
        return
    tree = [process]
    for number in (signal.SIGSTOP, KILL):  # stopped first, so that they cannot start others
        for member in tree:  # the list grows while it is iterated
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(member, number)
            if number != KILL:
                tree += [child for child, parent, _, _ in list_living() if parent == member]

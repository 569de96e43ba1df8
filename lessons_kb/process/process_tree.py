"""End a process with all that it has started."""

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
    """List (process, parent, group, session) of all living processes; none without /proc."""
    found = []
    for path in glob.glob("/proc/[0-9]*/stat"):
        with contextlib.suppress(OSError), open(path, "rb") as file:
            state, *numbers = file.read().rpartition(b")")[2].split()[:4]
            if state not in _DEAD:
                parent, group, session = map(int, numbers)
                found.append((int(path.split("/")[2]), parent, group, session))
    return found


def end_tree(process: int) -> None:
    """Kill a process and what it has started, as far as the system tells what that is."""
    if os.name == "nt":
        command = ["taskkill", "/F", "/T", "/PID", str(process)]
        with contextlib.suppress(subprocess.TimeoutExpired):
            subprocess.run(command, capture_output=True, check=False, timeout=_TASKKILL_SECONDS)
        return
    found = [process]
    for number in (signal.SIGSTOP, KILL):  # first stopped, or they would start more meanwhile
        for one in found:  # grows
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(one, number)
            if number != KILL:
                found += [child for child, parent, _, _ in list_living() if parent == one]

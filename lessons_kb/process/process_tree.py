"""End a process together with its descendants."""

from __future__ import annotations

import contextlib
import glob
import os
import signal
import subprocess
from typing import NamedTuple

_TASKKILL_SECONDS = 10.0


_DEAD = (b"Z", b"X", b"x")
STOP = getattr(signal, "SIGTERM", 15)
KILL = getattr(signal, "SIGKILL", STOP)


class LivingProcess(NamedTuple):
    """The ids of a process, of its parent, of its process group and of its session."""

    id: int
    parent: int
    group: int
    session: int


def list_living() -> list[LivingProcess]:
    """Return all processes that have not ended, or [] without /proc."""
    processes = []
    for path in glob.glob("/proc/[0-9]*/stat"):
        with contextlib.suppress(OSError), open(path, "rb") as file:
            state, *numbers = file.read().rpartition(b")")[2].split()[:4]
            if state not in _DEAD:
                process = int(path.split("/")[2])
                processes.append(LivingProcess(process, *map(int, numbers)))
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
                tree += [process.id for process in list_living() if process.parent == member]

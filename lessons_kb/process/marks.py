"""End all processes that a run has started. They are found by a variable in their environment.

The environment of a process does not change when the process leaves its session or when its parent
ends, so daemons are found as well. A process that clears its environment, or that another user
owns, is not found.
"""

from __future__ import annotations

import contextlib
import glob
import os
import secrets
import signal
import time

_PREFIX = "LESSONS_RUN_"
_PROC = "/proc"
_MOST_ROUNDS = 20
"""The maximum number of scans. A program that continues to start processes survives them."""
_PAUSE_SECONDS = 0.05


def new_mark() -> str:
    """Return a random mark for a run."""
    return secrets.token_hex(8)


def name_variable(mark: str) -> str:
    """Return the name of the variable that every process of a run has in its environment.

    Each run has a variable of its own, so a run within another run carries both marks.
    """
    return f"{_PREFIX}{mark}"


def can_find_marked() -> bool:
    """Return whether this system lets us read the environment of a process."""
    return os.path.exists(f"{_PROC}/self/environ")


def find_marked(mark: str) -> list[int]:
    """Return the ids of a run's processes, except this process, or [] if the system does not show
    them.
    """
    prefix = f"{name_variable(mark)}=".encode()
    processes = []
    for path in glob.glob(f"{_PROC}/[0-9]*/environ"):
        process = int(path.split("/")[-2])
        with contextlib.suppress(OSError), open(path, "rb") as file:
            variables = file.read().split(b"\0")
            is_marked = any(variable.startswith(prefix) for variable in variables)
            if is_marked and process != os.getpid():
                processes.append(process)
    return processes


def end_marked(mark: str) -> None:
    """Kill all processes of a run. They are stopped first, so that they cannot start others."""
    for _ in range(_MOST_ROUNDS):
        processes = find_marked(mark)
        if not processes:
            return
        for number in (signal.SIGSTOP, signal.SIGKILL):
            for process in processes:
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.kill(process, number)
        time.sleep(_PAUSE_SECONDS)

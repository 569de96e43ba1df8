"""The log of errors in hooks."""

from __future__ import annotations

import contextlib
import os
import time

from lessons_kb.errors import LessonsError, StorageError
from lessons_kb.hook_client import LATE_MARK
from lessons_kb.store.files import open_regular, write_unsynced
from lessons_kb.store.locations import state_home
from lessons_kb.store.private_files import make_private, write_private
from lessons_kb.text.redact import redact
from lessons_kb.values import NamedTuple

LOG_NAME = "hook.log"


MAX_LOG_BYTES = 128_000


_MAX_LINE_CHARS = 600


_TABS = 3
"""The number of tabs between the fields of a line."""


class Trouble(NamedTuple):
    """One line of the log."""

    at: str
    """The local time in ISO format, to the second."""
    agent: str
    hook_event: str
    message: str


def log_trouble(agent: str, hook_event: str, message: str) -> None:
    """Append a line. If the file grows beyond MAX_LOG_BYTES, only its newest lines are kept, which
    have at most half of MAX_LOG_BYTES.

    Errors of the disk are ignored, because the caller is already handling an error.
    """
    fields = (time.strftime("%Y-%m-%dT%H:%M:%S"), agent, hook_event, message)
    with contextlib.suppress(OSError, ValueError, LessonsError):  # there is no other log
        cells = [" ".join(redact(field).split())[:_MAX_LINE_CHARS] for field in fields]
        line = ("\t".join(cells) + "\n").encode("utf-8", "replace")
        make_private(state_home())
        path = os.path.join(state_home(), LOG_NAME)
        # These flags refuse a link, and refuse a FIFO at once.
        flags = os.O_APPEND | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
        write_unsynced(path, line, flags=flags)
        if os.stat(path).st_size > MAX_LOG_BYTES:
            with open_regular(path) as whole:
                whole.seek(-(MAX_LOG_BYTES // 2), os.SEEK_END)
                newest = whole.read()
            first_whole_line = newest.find(b"\n") + 1
            write_private(path, newest[first_whole_line:])


def read_troubles(limit: int = 20) -> list[Trouble]:
    """Return the newest ``limit`` lines, oldest first; [] if there is no log."""
    try:
        with open_regular(os.path.join(state_home(), LOG_NAME)) as file:
            lines = file.read(2 * MAX_LOG_BYTES).decode("utf-8", "replace").splitlines()
    except (OSError, StorageError):
        return []
    complete = [line for line in lines if line.count("\t") >= _TABS]
    return [Trouble(*line.split("\t", _TABS)) for line in complete[-limit:]]


LATE_DAYS = 7


def find_late() -> list[Trouble]:
    """Return the events of the last seven days that were answered too late, oldest first.

    The hook client writes these events to the log, which contains only the newest lines.
    """
    since = time.strftime("%Y-%m-%dT%H:%M:%S", time.localtime(time.time() - LATE_DAYS * 86_400))
    troubles = read_troubles(MAX_LOG_BYTES)
    late = [trouble for trouble in troubles if trouble.message.startswith(LATE_MARK)]
    return [trouble for trouble in late if trouble.at >= since]

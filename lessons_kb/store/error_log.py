"""The log of errors that hooks met."""

from __future__ import annotations

import contextlib
import os
import time
from typing import NamedTuple

from lessons_kb.errors import LessonsError, StorageError
from lessons_kb.hook_client import LATE_MARK
from lessons_kb.store.files import open_regular, write_unsynced
from lessons_kb.store.locations import state_home
from lessons_kb.store.private_files import make_private, write_private
from lessons_kb.text.redact import redact

LOG_NAME = "hook.log"


MAX_LOG_BYTES = 128_000


_MAX_LINE_CHARS = 600


class Trouble(NamedTuple):
    """One line of the log."""

    at: str
    """Local time, ISO, to the second."""
    agent: str
    hook_event: str
    message: str


def log_trouble(agent: str, hook_event: str, message: str) -> None:
    """Add a line; half of the file is forgotten when it grows past MAX_LOG_BYTES.

    Never raises: whoever logs has trouble enough.
    """
    fields = (time.strftime("%Y-%m-%dT%H:%M:%S"), agent, hook_event, message)
    with contextlib.suppress(OSError, ValueError, LessonsError):  # there is nowhere left to say it
        clean = (" ".join(redact(field).split())[:_MAX_LINE_CHARS] for field in fields)
        line = ("\t".join(clean) + "\n").encode("utf-8", "replace")
        make_private(state_home())
        path = os.path.join(state_home(), LOG_NAME)
        # A FIFO is refused at once.
        flags = os.O_APPEND | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
        write_unsynced(path, line, flags=flags)
        if os.stat(path).st_size > MAX_LOG_BYTES:
            with open_regular(path) as whole:
                whole.seek(-MAX_LOG_BYTES // 2, os.SEEK_END)
                kept = whole.read()
            write_private(path, kept[kept.find(b"\n") + 1 :])


def read_troubles(limit: int = 20) -> list[Trouble]:
    """Return the newest lines, oldest first; none when there is no log."""
    try:
        with open_regular(os.path.join(state_home(), LOG_NAME)) as file:
            lines = file.read(2 * MAX_LOG_BYTES).decode("utf-8", "replace").splitlines()
    except (OSError, StorageError):
        return []
    return [Trouble(*line.split("\t", 3)) for line in lines if line.count("\t") > 2][-limit:]  # noqa: PLR2004


LATE_DAYS = 7


def find_late() -> list[Trouble]:
    """Return the events of the last seven days whose answers came late, oldest first.

    The hook client counts them in the log, of which only the newest lines are kept.
    """
    since = time.strftime("%Y-%m-%dT%H:%M:%S", time.localtime(time.time() - LATE_DAYS * 86_400))
    troubles = read_troubles(MAX_LOG_BYTES)
    return [one for one in troubles if one.message.startswith(LATE_MARK) and one.at >= since]

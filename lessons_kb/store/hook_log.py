"""What went wrong in hooks: a small private file in the state home, the newest lines kept."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass

from lessons_kb.errors import StorageError
from lessons_kb.store.disk import open_regular
from lessons_kb.store.locate import state_home
from lessons_kb.store.user_state import make_private, write_private
from lessons_kb.text.redact import redact

LOG_NAME = "hook.log"
MAX_LOG_BYTES = 128_000
_MAX_LINE_CHARS = 600


@dataclass(frozen=True, kw_only=True, slots=True)
class Trouble:
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
    try:
        clean = (" ".join(redact(field).split())[:_MAX_LINE_CHARS] for field in fields)
        line = ("\t".join(clean) + "\n").encode("utf-8", "replace")
        folder = state_home()
        make_private(folder)
        path = os.path.join(folder, LOG_NAME)
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | getattr(os, "O_NOFOLLOW", 0)
        flags |= getattr(os, "O_NONBLOCK", 0)  # a FIFO is refused at once
        file = os.open(path, flags, 0o600)
        try:
            os.write(file, line)
            size = os.fstat(file).st_size
        finally:
            os.close(file)
        if size > MAX_LOG_BYTES:
            _shorten(path)
    except Exception:  # noqa: S110 there is nowhere left to say it
        pass


def read_troubles(limit: int = 20) -> list[Trouble]:
    """Return the newest lines, oldest first; none when there is no log."""
    try:
        with open_regular(os.path.join(state_home(), LOG_NAME)) as file:
            lines = file.read(2 * MAX_LOG_BYTES).decode("utf-8", "replace").splitlines()
    except (OSError, StorageError):
        return []
    parts = [line.split("\t", 3) for line in lines]
    return [
        Trouble(at=part[0], agent=part[1], hook_event=part[2], message=part[3])
        for part in parts
        if len(part) == 4  # noqa: PLR2004 the fields of Trouble
    ][-limit:]


def _shorten(path: str) -> None:
    with open_regular(path) as file:
        file.seek(-MAX_LOG_BYTES // 2, os.SEEK_END)
        kept = file.read()
    write_private(path, kept[kept.find(b"\n") + 1 :])

"""The pause after a failure of a shared server, during which no requests are sent to it."""

from __future__ import annotations

import contextlib
import json
import os
import time

from lessons_kb.errors import StorageError
from lessons_kb.store.files import read_json, write_unsynced
from lessons_kb.store.locations import state_home
from lessons_kb.store.private_files import make_private
from lessons_kb.text.redact import redact

SECONDS = 30.0
"""Length of the pause after a failure."""


_MAX_BYTES = 10_000


_MAX_CHARS = 300


def read_backoff(url: str) -> str:
    """Return the reason for a pause of this server, or "" if requests may be sent."""
    data = read_json(_path(), limit=_MAX_BYTES)
    at = data.get("at")
    recent = isinstance(at, float) and 0 <= time.time() - at < SECONDS
    return str(data.get("why", "")) if data.get("url") == url and recent else ""


def note_failure(url: str, why: str) -> None:
    """Begin a pause of this server. No error is raised."""
    data = json.dumps({"url": url, "at": time.time(), "why": redact(why)[:_MAX_CHARS]}).encode()
    with contextlib.suppress(OSError, StorageError):
        make_private(state_home())
        write_unsynced(_path(), data)


def forget_failure() -> None:
    """End the pause."""
    with contextlib.suppress(OSError):
        os.unlink(_path())


def _path() -> str:
    return os.path.join(state_home(), "server-backoff.json")

"""Since when a server is not asked, so that one that is down costs one prompt its time, not all.

Kept in a file: hooks that are answered without the daemon know of it too.
"""

from __future__ import annotations

import contextlib
import json
import os
import time

from lessons_kb.errors import StorageError
from lessons_kb.store.disk import read_regular
from lessons_kb.store.locate import state_home
from lessons_kb.store.user_state import make_private
from lessons_kb.text.redact import redact

SECONDS = 30.0
"""For how long a server is left alone after it failed."""
_MAX_BYTES = 10_000
_MAX_CHARS = 300


def read_backoff(url: str) -> str:
    """Return why a server is not asked now, "" where it may be."""
    try:
        data = json.loads(read_regular(_path(), limit=_MAX_BYTES, name=_path()))
        known, at, why = str(data["url"]), float(data["at"]), str(data["why"])
    except (OSError, StorageError, ValueError, TypeError, KeyError):
        return ""
    return why if known == url and 0 <= time.time() - at < SECONDS else ""


def note_failure(url: str, why: str) -> None:
    """Leave a server alone for a while; never raises."""
    data = json.dumps({"url": url, "at": time.time(), "why": redact(why)[:_MAX_CHARS]}).encode()
    with contextlib.suppress(OSError, StorageError):
        make_private(state_home())
        # Not synced to the disk: a lost note costs one prompt its time.
        file = os.open(_path(), os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        try:
            os.write(file, data)
        finally:
            os.close(file)


def forget_failure() -> None:
    """Let the server be asked at once."""
    with contextlib.suppress(OSError):
        os.unlink(_path())


def _path() -> str:
    return os.path.join(state_home(), "server-backoff.json")

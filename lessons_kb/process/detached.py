"""Start one long piece of work that outlives this process and holds nothing of it."""

from __future__ import annotations

import os
import sys
import time

_MARK = "index.started"
_AGAIN_AFTER_SECONDS = 60.0
_CODE = "import sys; from lessons_kb.cli.main import main; sys.exit(main())"


def start_index(root: str, cache: str) -> bool:
    """Start ``lessons index`` of a trusted brain in a session of its own; False if one is due.

    A mark in ``cache`` keeps it to one start a minute, whoever asks; the writer's lock keeps it
    to one run. Never raises: the next hook tries again.
    """
    try:
        if not _take(os.path.join(cache, _MARK)):
            return False
        import subprocess

        # -P: whatever lies in the working directory must never be imported.
        command = [sys.executable, "-P", "-c", _CODE, "index", "--brain", root]
        new_session = {"start_new_session": True} if os.name != "nt" else {"creationflags": 0x8}
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd=os.path.dirname(cache) or None,
            **new_session,
        )
        process.returncode = 0  # nobody waits for it
    except (OSError, ValueError):
        return False
    return True


def _take(mark: str) -> bool:
    """Leave a fresh mark; False when a young one lies there."""
    try:
        os.close(os.open(mark, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
    except FileExistsError:
        if abs(time.time() - os.stat(mark).st_mtime) < _AGAIN_AFTER_SECONDS:
            return False
        os.utime(mark)
    return True

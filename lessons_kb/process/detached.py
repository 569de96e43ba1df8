"""Start one long piece of work that outlives this process and holds nothing of it."""

from __future__ import annotations

import os
import sys
import time
import zlib
from _thread import start_new_thread
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import subprocess

_AGAIN_AFTER_SECONDS = 60.0
_END = "import faulthandler; faulthandler.dump_traceback_later({}, exit=True); "
"""The end of work that hangs: nobody sees it, and it may hold a lock."""
_INDEX = (
    _END.format(4 * 3600)
    + "import os, sys; hasattr(os, 'nice') and os.nice(10)"
    + "; from lessons_kb.cli.main import main; sys.exit(main())"
)
_DRAFTS = (
    _END.format(900)
    + "import sys; from lessons_kb.session.make_drafts import draft_session as draft"
)
_DRAFTS += "; draft(*sys.argv[1:])"


def start_index(root: str, cache: str) -> bool:
    """Start ``lessons index`` of a trusted brain in a session of its own; False if one is due.

    A mark in ``cache`` keeps it to one start a minute, whoever asks; the writer's lock keeps it
    to one run. Never raises: the next hook tries again.
    """
    mark = os.path.join(cache, "index.started")
    return _start(mark, [_INDEX, "index", "--brain", root])


def begin_index(root: str) -> subprocess.Popen[bytes]:
    """Start ``lessons index`` of a brain in a session of its own, for whoever looks after it."""
    return _begin([_INDEX, "index", "--brain", root], folder=None)


def start_drafts(
    agent: str, session: str, directory: str, *, roots: Sequence[str], cache: str
) -> bool:
    """Start the drafting of a session; False if a run is due that has not begun to read.

    ``roots`` are its trusted brains, nearest first. Never raises: `lessons review` makes up for
    what was not drafted.
    """
    mark = os.path.join(cache, f"drafts-{zlib.crc32(session.encode('utf-8', 'replace')):08x}")
    return _start(mark, [_DRAFTS, mark, agent, session, directory, *roots])


def _start(mark: str, code: Sequence[str]) -> bool:
    try:
        if not _take(mark):
            return False
        process = _begin(code, folder=os.path.dirname(os.path.dirname(mark)) or None)
        start_new_thread(process.wait, ())  # a process that stays keeps no zombies
    except (OSError, ValueError):
        return False
    return True


def _begin(code: Sequence[str], *, folder: str | None) -> subprocess.Popen[bytes]:
    import subprocess  # few events start one

    # -P: whatever lies in the working directory must never be imported.
    return subprocess.Popen(
        [sys.executable, "-P", "-c", *code],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        cwd=folder,
        start_new_session=os.name != "nt",
        creationflags=0x8 if os.name == "nt" else 0,
    )


def _take(mark: str) -> bool:
    """Leave a fresh mark; False when a young one lies there."""
    try:
        os.close(os.open(mark, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
    except FileExistsError:
        if abs(time.time() - os.stat(mark).st_mtime) < _AGAIN_AFTER_SECONDS:
            return False
        os.utime(mark)
    return True

"""Find and start programs: git, the user's editor, and our own work in other processes."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
import threading
import time
import zlib
from _thread import start_new_thread
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import islice
from typing import Any, TypeVar, TypeVarTuple

from lessons_kb.errors import InputError


def find_program(name: str, path: str | None = None) -> str | None:
    """Return the absolute path of a program on the PATH (or on ``path``), None without one.

    Folders of the PATH that are relative, or left empty, mean the working directory: a cloned
    repository may have put a program of that name there. They are passed over, and so is the
    working directory itself, which Windows would look into first.
    """
    if path is None:
        path = os.environ.get("PATH", os.defpath)
    folders = (folder.strip('"') for folder in path.split(os.pathsep))
    # shutil.which with a folder in the name looks nowhere else; the endings it leaves to us then.
    endings = ["", *os.environ.get("PATHEXT", "").split(os.pathsep)] if os.name == "nt" else [""]
    places = [folder for folder in folders if os.path.isabs(folder)]
    tried = (os.path.join(place, name + ending) for place in places for ending in endings)
    return next(filter(None, map(shutil.which, tried)), None)


DEFAULTS = ("notepad",) if os.name == "nt" else ("editor", "sensible-editor", "nano", "vim", "vi")
"""Tried in this order where the user names none; the first is what the system is set to."""


def find_editor() -> str:
    """Return the command of the user's editor, else the platform's default one, "" without any."""
    named = (os.environ.get(name, "").strip() for name in ("VISUAL", "EDITOR"))
    return next(filter(None, named), "") or next(filter(find_program, DEFAULTS), "")


def open_editor(path: str) -> int:
    """Run ``$VISUAL``, ``$EDITOR`` or the platform's default on ``path``; return its exit code.

    The variable is split like a shell would, but no shell runs, so a path cannot be a command.
    Raises InputError where there is no editor, or it cannot be started.
    """
    command = find_editor()
    if not command:
        raise InputError(f"no editor found; set $EDITOR, or edit {path} yourself")
    try:
        program, *arguments = shlex.split(command, posix=os.name != "nt")
        # Where its folder is not given it is looked up here: Windows would begin with the working
        # directory, in which a repository may have put a program of that name.
        found = program if os.path.dirname(program) else find_program(program)
        if found is None:
            raise FileNotFoundError(2, "not found on the PATH")
        return subprocess.run([found, *arguments, path], check=False).returncode
    except (OSError, ValueError) as error:
        other = next(filter(find_program, DEFAULTS), "")
        fix = f"run `export EDITOR={other}`" if other else "set $EDITOR"
        raise InputError(
            f"cannot start the editor {command!r}: {error}; {fix}, or edit {path} yourself"
        ) from None


_AGAIN_AFTER_SECONDS = 60.0

# What a new process runs, as text: it enters rooms that lie above and cannot be imported here.
_RUN_CODE = "-P", "-c"
"""Whatever lies in the working directory must never be imported."""
_END = "import faulthandler; faulthandler.dump_traceback_later({}, exit=True); "
"""The end of work that hangs: nobody sees it, and it may hold a lock."""
_INDEX = (
    _END.format(4 * 3600)
    + "import os, sys; hasattr(os, 'nice') and os.nice(10)"
    + "; from lessons_kb.cli.main import main; sys.exit(main())"
)
_DRAFTS = (
    _END.format(900)
    + "import sys; from lessons_kb.session.draft_process import draft_session"
    + "; draft_session(*sys.argv[1:])"
)


def start_index(root: str, cache: str) -> bool:
    """Start ``lessons index`` of a trusted brain in a session of its own; False if one is due.

    A mark in ``cache`` keeps it to one start a minute, whoever asks; the writer's lock keeps it
    to one run. Never raises: the next hook tries again.
    """
    mark = os.path.join(cache, "index.started")
    return _start(mark, _INDEX, "index", "--brain", root)


def begin_index(root: str) -> subprocess.Popen[bytes]:
    """Start ``lessons index`` of a brain in a session of its own, for whoever looks after it."""
    return start_detached(*_RUN_CODE, _INDEX, "index", "--brain", root)


def start_draft_process(
    agent: str, session: str, directory: str, *, roots: Sequence[str], cache: str
) -> None:
    """Start the drafting of a session, unless a run is due that has not begun to read.

    The process enters at ``session.draft_process.draft_session``. ``roots`` are its trusted brains,
    nearest first. Never raises: `lessons review` makes up for what was not drafted.
    """
    mark = os.path.join(cache, f"drafts-{zlib.crc32(session.encode('utf-8', 'replace')):08x}")
    _start(mark, _DRAFTS, mark, agent, session, directory, *roots)


def _start(mark: str, code: str, *arguments: str) -> bool:
    """Start work unless a young mark says that it was started a moment ago."""
    try:
        try:
            os.close(os.open(mark, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
        except FileExistsError:
            if abs(time.time() - os.stat(mark).st_mtime) < _AGAIN_AFTER_SECONDS:
                return False
            os.utime(mark)
        folder = os.path.dirname(os.path.dirname(mark)) or None
        process = start_detached(*_RUN_CODE, code, *arguments, cwd=folder)
        start_new_thread(process.wait, ())  # a process that stays keeps no zombies
    except (OSError, ValueError):
        return False
    return True


def start_detached(*arguments: str, **how: Any) -> subprocess.Popen[bytes]:
    """Start Python in a session of its own, with nothing to read from or to print to."""
    return subprocess.Popen(
        [sys.executable, *arguments],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=os.name != "nt",
        creationflags=0x8 if os.name == "nt" else 0,
        **how,
    )


Result = TypeVar("Result")
Arguments = TypeVarTuple("Arguments")


def map_batches(
    function: Callable[[*Arguments], Result], jobs: Sequence[tuple[*Arguments]], *, workers: int
) -> Iterator[Result]:
    """Yield ``function(*job)`` for each job, in order.

    With one worker everything happens in this process. Else ``function`` must be importable,
    and the caller's main module must be safe to import (processes are spawned, for forking a
    process with threads may deadlock it). Results that nobody has taken yet are bounded.
    """
    if workers <= 1 or len(jobs) <= 1:
        for job in jobs:
            yield function(*job)
        return

    import multiprocessing
    from concurrent.futures import ProcessPoolExecutor

    context, ended = multiprocessing.get_context("spawn"), partial(os._exit, 1)
    begin = partial(watch_parent, ended)  # one that was killed tells nobody to stop
    with ProcessPoolExecutor(min(workers, len(jobs)), context, begin) as pool:
        waiting = iter(jobs)
        pending = deque(pool.submit(function, *job) for job in islice(waiting, 4 * workers))
        try:
            while pending:
                yield pending.popleft().result()
                pending.extend(pool.submit(function, *job) for job in islice(waiting, 1))
        finally:
            for future in pending:
                future.cancel()


def watch_parent(ended: Callable[[], None]) -> None:
    """Call ``ended`` once the process that spawned this one is gone; never in any other."""
    import multiprocessing

    parent = multiprocessing.parent_process()

    def wait() -> None:
        if parent is not None:
            parent.join()
            ended()

    threading.Thread(target=wait, daemon=True).start()

"""Find and start programs, such as git, the user's editor, and our own work in other processes."""

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
    """Return the absolute path of a program on the PATH, or on ``path``. Return None if it is not
    there.

    Relative and empty folders of the PATH mean the working directory, where a cloned repository may
    have a program of that name. They are skipped. The working directory itself, which Windows would
    search first, is skipped as well.
    """
    if path is None:
        path = os.environ.get("PATH", os.defpath)
    folders = [folder.strip('"') for folder in path.split(os.pathsep)]
    # With a folder in the name, shutil.which searches only that folder and adds no extension.
    extensions = [""]
    if os.name == "nt":
        extensions += os.environ.get("PATHEXT", "").split(os.pathsep)
    for folder in folders:
        if not os.path.isabs(folder):
            continue
        for extension in extensions:
            program = shutil.which(os.path.join(folder, name + extension))
            if program:
                return program
    return None


DEFAULTS = ("notepad",) if os.name == "nt" else ("editor", "sensible-editor", "nano", "vim", "vi")
"""Editors to try, in this order, if the user has set none. The first is the system's default."""


def find_editor() -> str:
    """Return the command of the user's editor, or else the platform's default. Return "" if there
    is neither.
    """
    for name in ("VISUAL", "EDITOR"):
        command = os.environ.get(name, "").strip()
        if command:
            return command
    return next(filter(find_program, DEFAULTS), "")


def open_editor(path: str) -> int:
    """Run ``$VISUAL``, ``$EDITOR`` or the platform's default on ``path``. Return its exit code.

    The variable is split like a shell command, but no shell runs, so that a path cannot be a
    command. Raises InputError if there is no editor or it cannot be started.
    """
    command = find_editor()
    if not command:
        raise InputError(f"no editor found; set $EDITOR, or edit {path} yourself")
    try:
        program, *arguments = shlex.split(command, posix=os.name != "nt")
        # A name without a folder is looked up here: Windows would search the working directory
        # first, where a repository may have a program of that name.
        full = program if os.path.dirname(program) else find_program(program)
        if full is None:
            raise FileNotFoundError(2, "not found on the PATH")
        return subprocess.run([full, *arguments, path], check=False).returncode
    except (OSError, ValueError) as error:
        other = next(filter(find_program, DEFAULTS), "")
        fix = f"run `export EDITOR={other}`" if other else "set $EDITOR"
        raise InputError(
            f"cannot start the editor {command!r}: {error}; {fix}, or edit {path} yourself"
        ) from None


_AGAIN_AFTER_SECONDS = 60.0

# New processes get their code as text, because it imports packages above this one.
_RUN_CODE = "-P", "-c"
"""Options of Python. With ``-P``, modules in the working directory are never imported."""
_END = "import faulthandler; faulthandler.dump_traceback_later({}, exit=True); "
"""Code that ends hanging work after some seconds, because nobody would notice it and it may have a
lock.
"""
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
    """Start ``lessons index`` of a trusted brain in a session of its own.

    Return False if it was started less than a minute ago, or cannot be started. A marker file in
    ``cache`` limits the starts of all callers, and the writer's lock prevents two runs at once.
    This never raises an error, because the next hook tries again.
    """
    mark = os.path.join(cache, "index.started")
    return _start(mark, _INDEX, "index", "--brain", root)


def begin_index(root: str) -> subprocess.Popen[bytes]:
    """Start ``lessons index`` of a brain in a session of its own. The caller waits for it."""
    return start_detached(*_RUN_CODE, _INDEX, "index", "--brain", root)


def start_draft_process(
    agent: str, session: str, directory: str, *, roots: Sequence[str], cache: str
) -> None:
    """Start a process that drafts the mistakes of a session, unless one was started just before.

    It calls ``session.draft_process.draft_session``. ``roots`` are the trusted brains, nearest
    first. This never raises an error, because `lessons review` makes missing drafts later.
    """
    mark = os.path.join(cache, f"drafts-{zlib.crc32(session.encode('utf-8', 'replace')):08x}")
    _start(mark, _DRAFTS, mark, agent, session, directory, *roots)


def _start(mark: str, code: str, *arguments: str) -> bool:
    """Start work unless the marker file is newer than a minute. Return whether it was started."""
    try:
        try:
            os.close(os.open(mark, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
        except FileExistsError:
            if abs(time.time() - os.stat(mark).st_mtime) < _AGAIN_AFTER_SECONDS:
                return False
            os.utime(mark)
        folder = os.path.dirname(os.path.dirname(mark)) or None
        process = start_detached(*_RUN_CODE, code, *arguments, cwd=folder)
        start_new_thread(process.wait, ())  # so that the daemon collects no zombies
    except (OSError, ValueError):
        return False
    return True


def start_detached(*arguments: str, **how: Any) -> subprocess.Popen[bytes]:
    """Start Python in a session of its own, without stdin, stdout and stderr."""
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

    With one worker, everything runs in this process. With more, ``function`` must be importable and
    the caller's main module must be safe to import: processes are spawned, because forking a
    process with threads may cause a deadlock. The number of results that have not been consumed yet
    is limited.
    """
    if workers <= 1 or len(jobs) <= 1:
        for job in jobs:
            yield function(*job)
        return

    import multiprocessing
    from concurrent.futures import ProcessPoolExecutor

    context = multiprocessing.get_context("spawn")
    ended = partial(os._exit, 1)
    begin = partial(watch_parent, ended)  # a parent that was killed cannot stop its workers
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
    """Call ``ended`` when the process that spawned this one has ended.

    It is never called in a process that was not spawned by multiprocessing.
    """
    import multiprocessing

    parent = multiprocessing.parent_process()

    def wait() -> None:
        if parent is not None:
            parent.join()
            ended()

    threading.Thread(target=wait, daemon=True).start()

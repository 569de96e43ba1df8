"""The daemon, which answers hook events over a Unix socket and keeps the brains open.

There is one daemon per user, installation and state folder. The first hook that finds none starts
it. It ends by itself after 15 idle minutes, when a file of this package changes, or on request.
Clients do not depend on it: if it does not answer, they answer in a new process. An error during an
answer is logged, and the agent gets an empty answer.

A client (``hook_client.ask``) connects, sends one message, and shuts down its side. A message is a
sequence of fields, each after its length in four bytes (``hook_client.pack``):

1. the identity (``hook_client.identity``): user, installation, protocol and boot;
2. the time until which the daemon may begin, in seconds of the monotonic clock, which both sides
   share because the identity includes the boot;
3. the agent; or ``STATUS`` or ``STOP``, which is the last field, and to which no ``BEGUN`` is sent;
4. the working directory of the client;
5. the event, as the agent sent it;
6. and all further fields: ``NAME=value`` of each variable that an answer may depend on.

The daemon sends ``BEGUN`` when it has found and prepared the brains, or knows that there are none,
and before it records anything. From then on the client waits longer. An event that needs no answer,
or of a silenced session, is answered without ``BEGUN``. The answer follows: the text for the agent,
the line for its log, and "whole". An answer without "whole" is incomplete and is discarded.

Before ``BEGUN``, the daemon may decline by closing the connection: if the identity is not its own,
if there are too many connections, if files of the package were replaced, if the time is over, or if
a brain has unusable settings or does not allow the daemon. The client may decline by leaving, so
that ``BEGUN`` cannot be sent. In both cases the client answers in a new process. ``AGAIN_VARIABLE``
tells that process that a daemon may have recorded the event although the agent got no answer.

A module that runs inside an agent sends its events over HTTP instead (``http_door``).
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import sys
import threading
import time
import weakref
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import cache, partial
from importlib import import_module
from pathlib import Path

import lessons_kb
from lessons_kb import hook_client
from lessons_kb.agents.install.launcher import refresh_launcher
from lessons_kb.agents.table import AGENTS
from lessons_kb.brain.discovery import Discovery, look_in_agent
from lessons_kb.errors import ConfigError, LessonsError
from lessons_kb.library import Library
from lessons_kb.service.daemon_client import (
    FIRST_ASKED,
    STATUS,
    STOP,
    end_start,
    find_obstacle,
    make_place,
    note_failure,
    write_record,
)
from lessons_kb.service.hook_event import answer_event
from lessons_kb.service.http_door import is_http, read_request, write_answer
from lessons_kb.service.open_brains import OpenBrains
from lessons_kb.session.dispatch import HANDLERS
from lessons_kb.store.error_log import log_trouble
from lessons_kb.text.redact import compile_hints, redact
from lessons_kb.values import compile_early

with contextlib.suppress(ImportError):  # not on Windows
    import fcntl


IDLE_SECONDS = 900.0
SOCKET_SECONDS = 3.0
"""Seconds between two checks that our socket still exists. A program that cleans up /tmp may remove
it.
"""
LOOK_AGAIN_SECONDS = 3.0
"""Minimum seconds between two checks of all package files. A check takes as long as an answer."""
MAX_WAITING = 64
"""Maximum number of waiting connections. Further connections are closed at once, and their clients
answer by themselves.
"""
WORKERS = 8
SWITCH_SECONDS = 0.0005
"""Maximum time, in seconds, for which one thread blocks the interpreter for other threads. An
answer releases the interpreter at each of its many reads. With the default, it would wait 5 ms
after each read while a watcher follows a checkout.
"""
_PACKAGE = os.path.dirname(lessons_kb.__file__)
_FOLDERS = [folder for folder, _, files in os.walk(_PACKAGE) if "__init__.py" in files]
"""The folders of our package, of which the package's own folder is the first."""


def serve(*, idle_seconds: float = IDLE_SECONDS) -> int:
    """Serve until the daemon is idle, outdated or stopped, and return the exit status. A second
    daemon ends at once.
    """
    sys.setswitchinterval(SWITCH_SECONDS)
    who = hook_client.identity(dict(os.environb))
    try:
        path = make_place(who)
        flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
        lock = os.open(f"{path}.lock", flags, 0o600)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            _Daemon(who, path, idle_seconds).run()
        except BlockingIOError:
            pass  # another daemon has the lock
        finally:
            end_start()
            os.close(lock)
    except (OSError, LessonsError) as error:
        if not find_obstacle():
            note_failure(f"{type(error).__name__}: {error}")
        log_trouble("daemon", "start", str(error))
        return 1
    return 0


_SAMPLE = 'fix the lesson\'s "token" key'
"""A prompt that loads the modules and data that most prompts need."""


class _Declined(BaseException):
    """The client must answer by itself. It is not an Exception, because handlers catch exceptions
    of that class.
    """


class _Daemon:
    """The listening socket, the open brains, and the conditions under which the daemon ends."""

    def __init__(self, who: bytes, path: str, idle_seconds: float) -> None:
        self._who, self._path, self._idle = who, path, idle_seconds
        self._started = time.time()
        self._workspace = OpenBrains(os.sep)
        self._pool = ThreadPoolExecutor(WORKERS, thread_name_prefix="hook")
        self._waiting = threading.BoundedSemaphore(MAX_WAITING)
        self._leaving = threading.Event()
        self._package = _package_files()
        self._folders = _PackageFolders()
        self._written = self._folders.list_times()
        self._looked = time.monotonic()
        self._warm: weakref.WeakSet[Library] = weakref.WeakSet()
        self._answered = 0
        self._last_error = ""

    def run(self) -> None:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self._path)  # left by a killed daemon: we have the lock, so none runs
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(self._path)
            listener.listen(MAX_WAITING)
            end_start()
            inode = os.stat(self._path).st_ino
            for number in (signal.SIGTERM, signal.SIGINT):
                signal.signal(number, lambda *_: self._leave())
            write_record({"failures": 0, "error": "", "tried": 0.0})
            refresh_launcher()
            if asked := os.environ.pop(FIRST_ASKED, ""):
                self._pool.submit(self._open_first, *json.loads(asked))
            try:
                self._accept(listener, inode)
            finally:
                if self._has(inode):
                    os.unlink(self._path)
                self._pool.shutdown()
                self._workspace.close()

    def _has(self, inode: int) -> bool:
        """Return whether the socket is still at the path that clients use."""
        with contextlib.suppress(OSError):
            return os.stat(self._path).st_ino == inode
        return False

    def _accept(self, listener: socket.socket, inode: int) -> None:
        listener.settimeout(min(self._idle, SOCKET_SECONDS))
        asked = time.monotonic()
        while not self._leaving.is_set():
            try:
                connection, _address = listener.accept()
            except TimeoutError:
                if time.monotonic() - asked >= self._idle or not self._has(inode):
                    return
                continue
            asked = time.monotonic()
            if self._waiting.acquire(blocking=False):
                self._pool.submit(self._converse, connection)
            else:
                connection.close()

    def _leave(self) -> None:
        """Stop accepting connections. Current requests are still answered."""
        if not self._leaving.is_set():
            self._leaving.set()
            # A connection wakes up the thread that waits in accept().
            with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX) as wakeup:
                wakeup.setblocking(False)
                wakeup.connect(self._path)

    def _converse(self, connection: socket.socket) -> None:
        try:
            with connection:
                connection.settimeout(hook_client.PATIENCE_SECONDS)
                if is_http(connection):
                    self._answer_module(connection)
                else:
                    self._answer_client(connection)
            self._look_again()
        except OSError:
            pass  # the client left
        except Exception as error:  # one request is lost; the daemon keeps answering others
            self._last_error = f"{type(error).__name__}: {error}"
            log_trouble("daemon", "request", self._last_error)
        finally:
            self._waiting.release()

    def _answer_client(self, connection: socket.socket) -> None:
        """Answer a hook's client, or close the connection if the client must answer by itself."""
        answer = self._read_and_answer(connection)
        if answer is not None:
            connection.sendall(hook_client.pack(*answer, hook_client.WHOLE))

    def _read_and_answer(self, connection: socket.socket) -> list[bytes] | None:
        """Return the output of the client, or None if the client must answer by itself."""
        parts = iter(partial(connection.recv, 1 << 18), b"")
        fields = hook_client.unpack(b"".join(parts))
        if len(fields) < 3 or fields[0] != self._who:  # noqa: PLR2004
            return None
        until = float(fields[1])
        asked = fields[2]
        if asked == STATUS:
            return [json.dumps(self._status()).encode(), b""]
        if asked == STOP:
            self._leave()
            return [b"{}", b""]
        cwd = os.fsdecode(fields[3])
        environment = dict(os.fsdecode(field).split("=", 1) for field in fields[5:])
        begun = False

        def begin() -> None:
            """Tell the client, before anything is recorded, to wait for the answer."""
            nonlocal begun
            if begun:
                return
            if time.monotonic() > until:
                raise _Declined
            try:
                connection.sendall(hook_client.pack(hook_client.BEGUN))
            except OSError:  # the client has left, and answers by itself
                raise _Declined from None
            begun = True

        return self._answer_event(os.fsdecode(asked), fields[4], environment, cwd, begin)

    def _answer_module(self, connection: socket.socket) -> None:
        """Answer a module of an agent, which sends its events over HTTP."""
        until = time.monotonic() + hook_client.PATIENCE_SECONDS
        request = read_request(connection)
        begun = False

        def begin() -> None:
            """Decline, before anything is recorded, if it is too late for an answer in time."""
            nonlocal begun
            if not begun and time.monotonic() > until:
                raise _Declined
            begun = True

        answer = None
        if request is not None:
            answer = self._answer_event(
                request.agent, request.event, request.environment, request.cwd, begin
            )
        write_answer(connection, answer[0] if answer else None)

    def _answer_event(
        self,
        agent: str,
        event: bytes | str,
        environment: Mapping[str, str],
        cwd: str,
        begin: Callable[[], None],
    ) -> list[bytes] | None:
        """Return the output for an event and the line for its log, or None to decline.

        ``begin`` is called before anything is recorded, and may be called more than once. An
        unknown agent, such as ``--help``, is declined; the client then prints its usage.
        """
        if agent not in AGENTS:
            return None
        if self._is_outdated():
            self._leave()
            return None

        @cache
        def look(directory: str) -> Discovery:
            return look_in_agent(directory, environment)

        def find(directory: str) -> Library:
            """Tell the client to wait, then open and prepare the brain. Return it."""
            try:
                brains = self._workspace.find(directory, found=look(directory))
            except LessonsError:
                begin()
                raise
            try:
                if not brains.members[0].settings.hooks.daemon:
                    raise _Declined
                # This may take longer than a client waits, but nothing has been recorded yet.
                self._prepare(brains)
            except ConfigError:  # the client's own answer names the fault and skips that brain
                raise _Declined from None
            begin()
            return brains

        try:
            output, line = answer_event(agent, event, environment, cwd=cwd, look=look, find=find)
        except _Declined:
            return None
        self._answered += 1
        texts = [f"{text}\n" if text else "" for text in (output, line)]
        return [text.encode("utf-8", "replace") for text in texts]

    def _prepare(self, brains: Library) -> None:
        """Load the data that the first answer from a brain needs."""
        if brains not in self._warm:
            for brain in brains.members:
                brain.ensure_indexed()
                _ = brain.hook_journal  # opens it
            brains.preflight(_SAMPLE, fresh=False, remember=False)
            self._warm.add(brains)

    def _open_first(self, directory: str, named: str) -> None:
        """Load the modules and open the files that the next event needs. Errors are ignored here,
        because that event reports them.
        """
        environment = {**os.environ, "LESSONS_BRAIN": named} if named else dict(os.environ)
        compile_early()
        with contextlib.suppress(LessonsError, OSError):
            for name in HANDLERS.values():
                import_module(f"lessons_kb.session.{name}")
            redact(_SAMPLE)  # compiles its patterns
            compile_hints()
            found = look_in_agent(directory, environment)
            self._prepare(self._workspace.find(directory, found=found))

    def _status(self) -> dict[str, object]:
        memory = 0
        with contextlib.suppress(OSError, ValueError, IndexError):
            pages = int(Path("/proc/self/statm").read_text("ascii").split()[1])
            memory = pages * os.sysconf("SC_PAGE_SIZE")
        return {
            "pid": os.getpid(),
            "version": lessons_kb.__version__,
            "seconds": round(time.time() - self._started),
            "memory_bytes": memory,
            "brains": self._workspace.roots(),
            "answered": self._answered,
            "last_error": self._last_error,
        }

    def _is_outdated(self) -> bool:
        """Return whether files of our package were replaced, as every installer does."""
        written = self._folders.list_times()
        if written == self._written:
            return False
        self._written = written  # perhaps only compiled modules were added
        return _package_files() != self._package

    def _look_again(self) -> None:
        """Leave if a file of our package was written in place. No client waits for this check."""
        now = time.monotonic()
        if now - self._looked >= LOOK_AGAIN_SECONDS:
            self._looked = now
            # A new file changes its folder, which the next event looks at. A walk through all
            # folders would take as long as an answer.
            if any(_stamp_file(path) != stamp for path, stamp in self._package.items()):
                self._leave()


def _package_files() -> dict[str, tuple[int, int] | None]:
    """Return a mapping from the path of each module of our package to its stamp."""
    files = {}
    for folder, _folders, names in os.walk(_PACKAGE):
        for name in names:
            if name.endswith(".py"):
                path = os.path.join(folder, name)
                files[path] = _stamp_file(path)
    return files


def _stamp_file(path: str) -> tuple[int, int] | None:
    """Return the time and size of a file, or None if it was removed or is a broken link."""
    try:
        info = os.stat(path)
    except OSError:
        return None
    return info.st_mtime_ns, info.st_size


class _PackageFolders:
    """The folders of our package. They stay open, because each event looks at their times.

    A question about an open folder takes a third of the time of one about its path. If a folder is
    replaced, the time of its parent changes. The parent of the outermost folder may contain other
    packages, so that folder is found by its path.
    """

    def __init__(self) -> None:
        flags = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
        self._outermost, *inner = _FOLDERS
        self._inner = [os.open(folder, flags) for folder in inner]

    def list_times(self) -> list[int]:
        """Return the modification time of each folder, or [] if the package was removed."""
        try:
            outermost = os.stat(self._outermost).st_mtime_ns
        except OSError:
            return []
        return [outermost, *[os.fstat(folder).st_mtime_ns for folder in self._inner]]


if __name__ == "__main__":
    sys.exit(serve())

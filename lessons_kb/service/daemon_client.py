"""Start, stop and query the daemon from another process."""

from __future__ import annotations

import contextlib
import json
import os
import time
from collections.abc import Mapping
from typing import Any

from lessons_kb import hook_client
from lessons_kb.collection.health import Health
from lessons_kb.errors import LessonsError
from lessons_kb.process.programs import start_detached
from lessons_kb.store.files import read_json
from lessons_kb.store.locations import state_home
from lessons_kb.store.private_files import write_private
from lessons_kb.text.sanitize import counted
from lessons_kb.version import __version__

with contextlib.suppress(ImportError):  # not on Windows
    import pwd

STATUS, STOP = b"?status", b"?stop"
"""Requests that a client sends in place of the name of an agent."""


RECORD_NAME = "daemon.json"
MOST_FAILURES = 3
PAUSE_SECONDS = 900.0
"""Seconds without a start after MOST_FAILURES failed starts in a row."""
AGAIN_SECONDS = 5.0
"""Minimum seconds between two starts by any process. The first daemon may not be listening yet."""
_PASSED_VARIABLES = (
    *hook_client.IDENTITY.decode().split(),
    *("PATH", "LANG", "LC_ALL", "TMPDIR", "TZ", "USER", "LOGNAME"),
    *("HF_HOME", "HF_HUB_CACHE"),
)
_STOP_SECONDS = 20.0
"""Maximum time that ``stop_daemon`` waits for current answers."""
_TRIES = 10
"""Maximum number of requests to a busy daemon."""
FIRST_ASKED = "LESSONS_DAEMON_FIRST_ASKED"
"""Environment variable with the directory of a new daemon's first events, and the brain that is
named there.
"""
_FEWER_ARENAS = {"MALLOC_ARENA_MAX": "2"}
"""glibc keeps freed memory of each thread separately, which would take a quarter more memory."""


def read_record() -> Mapping[str, Any]:
    """Return the record of starts, or {} if the record is unusable.

    Keys: ``failures`` in a row, the last ``error``, and ``tried``, the time of the last start in
    seconds since the epoch.
    """
    kinds = {"failures": int, "error": str, "tried": int | float}
    with contextlib.suppress(LessonsError):  # there is no home folder
        record = read_json(_path(), limit=10_000)
        if all(isinstance(value, kinds.get(name, object)) for name, value in record.items()):
            return record
    return {}


def note_failure(error: str) -> None:
    """Record a failed start with its error."""
    record = read_record()
    with contextlib.suppress(LessonsError):
        write_record({**record, "failures": record.get("failures", 0) + 1, "error": error})


def start_daemon(environment: Mapping[str, str], *, directory: str) -> bool:
    """Start the daemon as a detached process. Return False if it is too early for a start.

    The daemon opens the brain of ``directory`` before the first request. A lock ensures that only
    one daemon runs. Never raises, because the next hook tries again.
    """
    if find_obstacle():  # not a failure: the first hook after it is removed starts the daemon
        return False
    record = read_record()
    pause = PAUSE_SECONDS if record.get("failures", 0) >= MOST_FAILURES else AGAIN_SECONDS
    if abs(time.time() - record.get("tried", 0.0)) < pause:
        if pause == PAUSE_SECONDS:
            end_start()
        return False
    try:
        write_record({**record, "tried": time.time()})
        passed = {name: environment[name] for name in _PASSED_VARIABLES if name in environment}
        asked = json.dumps([directory, environment.get("LESSONS_BRAIN", "")])
        with contextlib.suppress(OSError):
            make_place(hook_client.identity(dict(os.environb)))
        hook_client.begin_start(hook_client.identity(dict(os.environb)))
        process = start_detached(
            *("-I", "-m", "lessons_kb.service.daemon"),
            cwd=os.sep,
            env={**_FEWER_ARENAS, **passed, FIRST_ASKED: asked},
            umask=0o077,
        )
        process.returncode = 0  # no warning from subprocess: nothing waits for the process
    except (OSError, ValueError, LessonsError):
        return False
    return True


def ask_daemon(request: bytes) -> dict[str, Any] | None:
    """Return the daemon's answer to ``?status`` or ``?stop``, or None if no daemon runs."""
    for _ in range(_TRIES):
        try:
            fields = hook_client.ask(hook_client.identity(dict(os.environb)), request)
            answer: dict[str, Any] | None = json.loads(fields[0])
        except TimeoutError:  # the daemon is busy
            continue
        except (OSError, ValueError, IndexError):
            return None
        return answer
    return None


def make_place(who: bytes) -> str:
    """Create the folder of the socket if it is missing, and return the path of the socket. Raises
    OSError.
    """
    try:
        return hook_client.socket_path(who)
    except OSError:
        # socket_path() checks the owner of the folder, whoever created it.
        with contextlib.suppress(FileExistsError):
            os.mkdir(f"/tmp/lessons-{os.getuid()}", 0o700)  # noqa: S108
        return hook_client.socket_path(who)


def end_start() -> None:
    """Tell hooks not to wait any longer for a starting daemon."""
    with contextlib.suppress(OSError):
        who = hook_client.identity(dict(os.environb))
        os.unlink(hook_client.starting_path(hook_client.socket_path(who)))


def stop_daemon() -> dict[str, Any] | None:
    """Stop the daemon and wait for its end. Return its answer, or None if no daemon was running.

    Wait first for a daemon that is starting.
    """
    until = time.monotonic() + _STOP_SECONDS
    while (answer := ask_daemon(STOP)) is None:
        if not (_find_holder_pid() or is_starting()) or time.monotonic() > until:
            return None
        time.sleep(0.02)
    while (ask_daemon(STATUS) is not None or _find_holder_pid()) and time.monotonic() < until:
        time.sleep(0.02)
    return answer


def is_starting() -> bool:
    """Return whether a hook has started a daemon that does not listen yet."""
    with contextlib.suppress(OSError):
        return hook_client.is_starting(hook_client.identity(dict(os.environb)))
    return False


def find_obstacle() -> str:
    """Return why the daemon cannot create its socket, with a fix, or "" if it can."""
    with contextlib.suppress(OSError):
        hook_client.socket_path(b"")  # raises OSError
        return ""
    place = f"/tmp/lessons-{os.getuid()}"  # noqa: S108 (owner and mode are checked)
    try:
        owner = os.lstat(place).st_uid
    except OSError:  # the daemon creates it
        return ""
    if owner == os.getuid():
        return f"{place} is not a folder of yours alone; run `rm -r {place}`"

    try:
        name = pwd.getpwuid(owner).pw_name
    except KeyError:
        name = f"the user {owner}"
    return f"{place} belongs to {name}; they or root must remove it"


def check_daemon(environment: Mapping[str, str]) -> list[Health]:
    """Return the doctor's result about the daemon, or [] if it is turned off."""
    return [] if environment.get("LESSONS_DAEMON") == "0" else [find_daemon()]


def find_daemon() -> Health:
    """Return a health check with the state of the daemon, or with the reason why no daemon runs."""
    level, fix = "off", ""
    status = ask_daemon(STATUS)
    if status is not None:
        level = "ok"
        detail = describe(status)
        if status["version"] != __version__:
            fix = f"it ends by itself, and the next hook starts version {__version__}"
    elif os.environ.get("LESSONS_DAEMON") == "0":
        detail = "turned off by LESSONS_DAEMON=0"
    elif obstacle := find_obstacle():
        detail = f"cannot start: {obstacle}"
        fix = "hooks answer without it; the next one after that starts it"
    elif is_starting():
        detail = "starting"
    elif pid := _find_holder_pid():
        detail = f"running as pid {pid}, but does not answer"
        fix = f"if its socket was removed, it ends within seconds; else run `kill {pid}`"
    elif failures := (record := read_record()).get("failures", 0):
        detail = f"{counted(failures, 'start')} in a row failed: {record.get('error', '')}"
        fix = "hooks answer without it; run `lessons daemon` in the foreground to see the error"
    else:
        detail = "not running; the next hook starts it"
    return Health(level="warning" if fix else level, what="daemon", detail=detail, fix=fix)


def _find_holder_pid() -> int:
    """Return the id of the process with our daemon's lock, or 0. The id is available only on
    Linux.
    """
    try:
        path = hook_client.socket_path(hook_client.identity(dict(os.environb)))
        inode = os.stat(f"{path}.lock").st_ino
        with open("/proc/locks", encoding="ascii") as file:
            rows = [line.split() for line in file]
    except OSError:
        return 0
    flocks = [row for row in rows if row[1] == "FLOCK"]
    holders = [int(row[4]) for row in flocks if row[5].endswith(f":{inode}")]
    return holders[0] if holders else 0


def describe(status: Mapping[str, Any]) -> str:
    """Return the daemon's answer to ``?status`` as one line."""
    brains = status["brains"]
    hours, minutes = divmod(status["seconds"] // 60, 60)
    line = (
        f"version {status['version']}, pid {status['pid']}, up {hours:.0f} h {minutes:.0f} min, "
        f"{status['memory_bytes'] / 1e6:.0f} MB, {counted(status['answered'], 'event')} answered, "
        f"{counted(len(brains), 'brain')} open"
    )
    return f"{line}, last error: {status['last_error']}" if status["last_error"] else line


def _path() -> str:
    return os.path.join(state_home(), RECORD_NAME)


def write_record(record: Mapping[str, object]) -> None:
    """Write the record of starts."""
    write_private(_path(), json.dumps(record).encode())

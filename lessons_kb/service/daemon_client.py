"""The daemon from outside: start it, ask it, and say how it does."""

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
"""Sent in the place of an agent's name."""


RECORD_NAME = "daemon.json"
MOST_FAILURES = 3
PAUSE_SECONDS = 900.0
"""After three starts in a row that failed."""
AGAIN_SECONDS = 5.0
"""Between two starts, whoever asks: the first may not be listening yet."""
_KEPT_VARIABLES = (
    *hook_client.IDENTITY.decode().split(),
    *("PATH", "LANG", "LC_ALL", "TMPDIR", "TZ", "USER", "LOGNAME"),
    *("HF_HOME", "HF_HUB_CACHE"),
)
_STOP_SECONDS = 20.0
"""How long the answers under way may take before whoever stops the daemon goes on."""
_TRIES = 10
"""How often a daemon that is busy is asked anew."""
FIRST_ASKED = "LESSONS_DAEMON_FIRST_ASKED"
"""Tells a daemon in which directory its first events will come, and the brain named there."""
_SPARING = {"MALLOC_ARENA_MAX": "2"}
"""glibc keeps freed memory for each thread apart: a quarter more for what is never used again."""


def read_record() -> Mapping[str, Any]:
    """Return ``failures`` (in a row), ``error`` (of the last) and ``tried`` (when, epoch)."""
    kinds = {"failures": int, "error": str, "tried": int | float}
    with contextlib.suppress(LessonsError):  # there is no home
        found = read_json(_path(), limit=10_000)
        if all(isinstance(value, kinds.get(name, object)) for name, value in found.items()):
            return found
    return {}


def note_failure(error: str) -> None:
    """Remember that a start failed, and why."""
    record = read_record()
    with contextlib.suppress(LessonsError):
        write_record({**record, "failures": record.get("failures", 0) + 1, "error": error})


def start_daemon(environment: Mapping[str, str], *, directory: str) -> bool:
    """Start the daemon, detached, with nothing of this process; False when it is too early to.

    It opens the brain of ``directory`` before it is asked. The daemon's lock keeps it to one.
    Never raises: the next hook tries again.
    """
    if find_obstacle():  # counts as no failure: the first hook after it is gone starts it
        return False
    record = read_record()
    pause = PAUSE_SECONDS if record.get("failures", 0) >= MOST_FAILURES else AGAIN_SECONDS
    if abs(time.time() - record.get("tried", 0.0)) < pause:
        if pause == PAUSE_SECONDS:
            end_start()
        return False
    try:
        write_record({**record, "tried": time.time()})
        kept = {n: environment[n] for n in _KEPT_VARIABLES if n in environment}
        asked = json.dumps([directory, environment.get("LESSONS_BRAIN", "")])
        with contextlib.suppress(OSError):
            make_place(hook_client.identity(dict(os.environb)))
        hook_client.begin_start(hook_client.identity(dict(os.environb)))
        process = start_detached(
            *("-I", "-m", "lessons_kb.service.daemon"),
            cwd=os.sep,
            env={**_SPARING, **kept, FIRST_ASKED: asked},
            umask=0o077,
        )
        process.returncode = 0  # nobody waits for it
    except (OSError, ValueError, LessonsError):
        return False
    return True


def ask_daemon(request: bytes) -> dict[str, Any] | None:
    """Return the running daemon's answer to ``?status`` or ``?stop``, None without a daemon."""
    for _ in range(_TRIES):
        try:
            answer = hook_client.ask(hook_client.identity(dict(os.environb)), request)
            found: dict[str, Any] | None = json.loads(answer[0])
        except TimeoutError:  # it is busy
            continue
        except (OSError, ValueError, IndexError):
            return None
        return found
    return None


def make_place(who: bytes) -> str:
    """Return where the socket belongs, in a folder that is made if need be. Raises OSError."""
    try:
        return hook_client.socket_path(who)
    except OSError:
        # Made here, checked there: whoever made it first, only a folder of our own is used.
        with contextlib.suppress(FileExistsError):
            os.mkdir(f"/tmp/lessons-{os.getuid()}", 0o700)  # noqa: S108
        return hook_client.socket_path(who)


def end_start() -> None:
    """Let hooks wait no longer for a daemon that was about to start."""
    with contextlib.suppress(OSError):
        who = hook_client.identity(dict(os.environb))
        os.unlink(hook_client.starting_path(hook_client.socket_path(who)))


def stop_daemon() -> bool:
    """Stop the running daemon and wait until it has ended; return whether there was one."""
    until = time.monotonic() + _STOP_SECONDS
    while ask_daemon(STOP) is None:
        if not _find_holder() or time.monotonic() > until:
            return False
        time.sleep(0.02)  # a daemon that is still starting answers soon
    while (ask_daemon(STATUS) is not None or _find_holder()) and time.monotonic() < until:
        time.sleep(0.02)
    return True


def find_obstacle() -> str:
    """Return what keeps the daemon from having a socket, and what to do; "" for nothing."""
    with contextlib.suppress(OSError):
        hook_client.socket_path(b"")
        return ""
    place = f"/tmp/lessons-{os.getuid()}"  # noqa: S108 (owner and mode are checked)
    try:
        owner = os.lstat(place).st_uid
    except OSError:  # the daemon makes it
        return ""
    if owner == os.getuid():
        return f"{place} is not a folder of yours alone; run `rm -r {place}`"

    try:
        name = pwd.getpwuid(owner).pw_name
    except KeyError:
        name = f"the user {owner}"
    return f"{place} belongs to {name}; they or root must remove it"


def check_daemon(environment: Mapping[str, str]) -> list[Health]:
    """Return the doctor's line on the daemon; none where it is turned off."""
    return [] if environment.get("LESSONS_DAEMON") == "0" else [find_daemon()]


def find_daemon() -> Health:
    """Return in one line how the daemon does, or why there is none."""
    level, fix = "off", ""
    if (status := ask_daemon(STATUS)) is not None:
        level, detail = "ok", describe(status)
        if status["version"] != __version__:
            fix = f"it ends by itself, and the next hook starts version {__version__}"
    elif os.environ.get("LESSONS_DAEMON") == "0":
        detail = "turned off by LESSONS_DAEMON=0"
    elif obstacle := find_obstacle():
        detail = f"cannot start: {obstacle}"
        fix = "hooks answer without it; the next one after that starts it"
    elif pid := _find_holder():
        detail = f"running as pid {pid}, but does not answer"
        fix = f"if its socket was removed, it ends within seconds; else run `kill {pid}`"
    elif failures := (record := read_record()).get("failures", 0):
        detail = f"{counted(failures, 'start')} in a row failed: {record.get('error', '')}"
        fix = "hooks answer without it; run `lessons daemon` in the foreground to see the error"
    else:
        detail = "not running; the next hook starts it"
    return Health(level="warning" if fix else level, what="daemon", detail=detail, fix=fix)


def _find_holder() -> int:
    """Return the process that holds our daemon's lock, 0 without one: only Linux tells."""
    try:
        path = hook_client.socket_path(hook_client.identity(dict(os.environb)))
        inode = os.stat(f"{path}.lock").st_ino
        with open("/proc/locks", encoding="ascii") as file:
            rows = [line.split() for line in file]
    except OSError:
        return 0
    held = (row for row in rows if row[1] == "FLOCK" and row[5].endswith(f":{inode}"))
    return next((int(row[4]) for row in held), 0)


def describe(status: Mapping[str, Any]) -> str:
    """Return the daemon's answer to ``?status`` in one line."""
    brains = status["brains"]
    hours, minutes = divmod(status["seconds"] // 60, 60)
    line = (
        f"version {status['version']}, pid {status['pid']}, up {hours:.0f} h {minutes:.0f} min, "
        f"{status['memory_bytes'] / 1e6:.0f} MB, {counted(status['answered'], 'event')} answered, "
        f"{counted(len(brains), 'brains')} open"
    )
    return f"{line}, last error: {status['last_error']}" if status["last_error"] else line


def _path() -> str:
    return os.path.join(state_home(), RECORD_NAME)


def write_record(record: Mapping[str, object]) -> None:
    """Keep how the last start went."""
    write_private(_path(), json.dumps(record).encode())

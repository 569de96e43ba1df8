"""The program that agents' settings name: the hook client, behind this installation's Python.

It lies in the state folder, so that its path survives upgrades, and starts without ``site``,
which a console script cannot. The interpreter in its first line is the one that the virtual
environment was made from: so it still runs, and says why lessons are silent, once that is gone.
"""

from __future__ import annotations

import os
import sys

import lessons_kb
from lessons_kb.agents.capabilities import AGENTS
from lessons_kb.errors import StorageError
from lessons_kb.store.files import read_regular, storage_error
from lessons_kb.store.user_state import is_taken_out, state_home, write_private

NAME = "lessons-hook"
_MAX_INTERPRETER_CHARS = 120
"""What every kernel takes in a first line."""
_MAX_BYTES = 100_000
_HEAD = """\
#!{interpreter} -IS
import sys
import posix

sys.executable = {python!r}
TOLD = {told!r}

if not (posix.access(sys.executable, posix.X_OK) and posix.access({package!r}, posix.F_OK)):
    event = b""
    while part := posix.read(0, 1 << 20):
        event += part
    begins, silence, line = TOLD.get("".join(sys.argv[1:2]), ("", "{{}}\\n", ""))
    posix.write(1, (line if begins and begins.encode() in event else silence).encode())
    posix._exit(0)

"""
"""In front of the client; it costs two looks at the disk."""
_GONE = (
    "Lessons are off: {prefix} no longer holds lessons-kb. Install it again and run"
    " `lessons install {agent}`, or delete the hooks that call {path}."
)


def launcher_path() -> str:
    """Return where the launcher lies or would lie; "" where this platform cannot have one."""
    python = sys.executable
    if os.name == "nt" or len(python) > _MAX_INTERPRETER_CHARS or any(map(str.isspace, python)):
        return ""
    return os.path.join(state_home(), NAME)


def write_launcher() -> None:
    """Write the launcher, unless it is there as it should be. Raises StorageError."""
    path = launcher_path()
    if path and _read(path) != (text := _launcher_text()):
        write_private(path, text)
        try:
            os.chmod(path, 0o700)
        except OSError as error:
            raise storage_error(error, path) from None


def refresh_launcher() -> None:
    """Write the launcher anew where an earlier release left one. Raises StorageError."""
    path = launcher_path()
    if path and _read(path) is not None:
        write_launcher()


def _launcher_text() -> bytes:
    package = os.path.dirname(lessons_kb.__file__)
    source = os.path.join(package, "hook_client.py")
    body = read_regular(source, limit=_MAX_BYTES, name=source)
    told = {}  # by agent: what begins a session, what says nothing, the line in the agent's form
    for agent, row in AGENTS.items():
        begins = "" if is_taken_out(agent) else row.begins
        line = _GONE.format(prefix=sys.prefix, agent=agent, path=launcher_path())
        silence = f"{row.silence}\n" if row.silence else ""
        told[agent] = (begins, silence, f"{row.show_line(line)}\n" if begins else "")
    head = _HEAD.format(
        interpreter=_interpreter(), python=sys.executable, package=package, told=told
    )
    return head.encode() + body


def _interpreter() -> str:
    """Return the Python behind this one, by the name that the environment knows it by.

    Not the real path: a package manager's minor upgrade moves that, and not the name.
    """
    python, inside = sys.executable, sys.prefix.rstrip(os.sep) + os.sep
    while sys.prefix != sys.base_prefix and python.startswith(inside) and os.path.islink(python):
        python = os.path.join(os.path.dirname(python), os.readlink(python))
    usable = len(python) <= _MAX_INTERPRETER_CHARS and not any(map(str.isspace, python))
    return python if usable and os.path.exists(python) else sys.executable


def _read(path: str) -> bytes | None:
    try:
        return read_regular(path, limit=_MAX_BYTES, name=path)
    except FileNotFoundError:
        return None
    except (OSError, StorageError):
        return b""

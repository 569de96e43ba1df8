"""The program that agents' settings name: it starts the hook client of this installation.

It lies in the state folder, so that its path survives upgrades, and starts without ``site``,
which a console script cannot. The interpreter in its first line is the one that the virtual
environment was made from: so it still runs, and says why lessons are silent, once that is gone.
"""

from __future__ import annotations

import contextlib
import os
import sys

import lessons_kb
from lessons_kb.agents.table import AGENTS
from lessons_kb.errors import StorageError
from lessons_kb.store.files import read_regular, storage_errors
from lessons_kb.store.locations import state_home
from lessons_kb.store.private_files import write_private
from lessons_kb.store.session_notes import is_taken_out

NAME = "lessons-hook"
_MAX_INTERPRETER_CHARS = 120
"""What every kernel takes in a first line."""
_MAX_BYTES = 100_000
_TEXT = """\
#!{interpreter} -IS
import sys, posix

sys.executable, TOLD = {python!r}, {told!r}
sys.path.insert(0, {package!r})
try:
    if not posix.access(sys.executable, posix.X_OK): raise OSError
    from hook_client import main
except Exception:
    event = b""
    while part := posix.read(0, 1 << 20):
        event += part
    begins, silence, line = TOLD.get("".join(sys.argv[1:2]), ("", "{{}}\\n", ""))
    posix.write(1, (line if begins and begins.encode() in event else silence).encode())
    posix._exit(0)
main()
"""
"""The client is imported, not copied: what Python keeps compiled starts in three quarters of the
time."""
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
    path, text = launcher_path(), _launcher_text()
    with contextlib.suppress(OSError, StorageError):
        if not path or read_regular(path, limit=_MAX_BYTES, name=path) == text:
            return
    write_private(path, text)
    with storage_errors(path):
        os.chmod(path, 0o700)


def refresh_launcher() -> None:
    """Write the launcher anew where an earlier release left one. Raises StorageError."""
    if os.path.lexists(launcher_path()):
        write_launcher()


def _launcher_text() -> bytes:
    package = os.path.dirname(lessons_kb.__file__)
    told = {}  # by agent: what begins a session, what says nothing, the line in the agent's form
    for agent, row in AGENTS.items():
        begins = "" if is_taken_out(agent) else row.begins
        line = _GONE.format(prefix=sys.prefix, agent=agent, path=launcher_path())
        silence = f"{row.silence}\n" if row.silence else ""
        told[agent] = (begins, silence, f"{row.show_line(line)}\n" if begins else "")
    names = {"python": sys.executable, "package": package, "told": told}
    return _TEXT.format(interpreter=_interpreter(), **names).encode()


def _interpreter() -> str:
    """Return the Python behind this one, by the name that the environment knows it by.

    Not the real path: a package manager's minor upgrade moves that, and not the name.
    """
    python, inside = sys.executable, sys.prefix.rstrip(os.sep) + os.sep
    while sys.prefix != sys.base_prefix and python.startswith(inside) and os.path.islink(python):
        python = os.path.join(os.path.dirname(python), os.readlink(python))
    usable = len(python) <= _MAX_INTERPRETER_CHARS and not any(map(str.isspace, python))
    return python if usable and os.path.exists(python) else sys.executable

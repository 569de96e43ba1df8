"""The launcher: the program that agents' settings name. It starts this installation's hook client.

It is in the state folder, so that its path survives upgrades. It starts Python without ``site``,
which a console script cannot do. Its first line names the interpreter from which the virtual
environment was created: without that environment the launcher still runs, and says why there are
no lessons.
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
"""Every kernel accepts a first line with a path of this length."""
_MAX_BYTES = 100_000
_TEXT = """\
#!{interpreter} -IS
import sys, posix

sys.executable, MESSAGES = {python!r}, {messages!r}
sys.path.insert(0, {package!r})
try:
    if not posix.access(sys.executable, posix.X_OK): raise OSError
    from hook_client import main
except Exception:
    event = b""
    while part := posix.read(0, 1 << 20):
        event += part
    begins, silence, line = MESSAGES.get("".join(sys.argv[1:2]), ("", "{{}}\\n", ""))
    posix.write(1, (line if begins and begins.encode() in event else silence).encode())
    posix._exit(0)
main()
"""
"""The launcher imports the client instead of containing it: Python caches the compiled module,
which reduces the start to three quarters of the time."""
_GONE = (
    "Lessons are off: lessons-kb is no longer in {prefix}. Install it again and run"
    " `lessons install {agent}`, or delete the hooks that call {path}."
)


def launcher_path() -> str:
    """Return the path of the launcher, whether it exists or not; "" if this platform has none."""
    python = sys.executable
    if os.name == "nt" or len(python) > _MAX_INTERPRETER_CHARS or any(map(str.isspace, python)):
        return ""
    return os.path.join(state_home(), NAME)


def write_launcher() -> None:
    """Write the launcher, unless its file is up to date. Raises StorageError."""
    path, text = launcher_path(), _launcher_text()
    with contextlib.suppress(OSError, StorageError):
        if not path or read_regular(path, limit=_MAX_BYTES, name=path) == text:
            return
    write_private(path, text)
    with storage_errors(path):
        os.chmod(path, 0o700)


def refresh_launcher() -> None:
    """Bring an existing launcher up to date. Raises StorageError."""
    if os.path.lexists(launcher_path()):
        write_launcher()


def _launcher_text() -> bytes:
    """Return the launcher's text.

    ``MESSAGES`` in it has, for each agent, the text that identifies the start of a session, the
    silent answer, and the answer that shows the user a line.
    """
    package = os.path.dirname(lessons_kb.__file__)
    messages = {}
    for agent, row in AGENTS.items():
        begins = "" if is_taken_out(agent) else row.begins
        line = _GONE.format(prefix=sys.prefix, agent=agent, path=launcher_path())
        silence = f"{row.silence}\n" if row.silence else ""
        shown = f"{row.show_line(line)}\n" if begins else ""
        messages[agent] = (begins, silence, shown)
    text = _TEXT.format(
        interpreter=_find_interpreter(),
        python=sys.executable,
        package=package,
        messages=messages,
    )
    return text.encode()


def _find_interpreter() -> str:
    """Return the Python from which this virtual environment was created.

    The path is the one that the environment's link names. It is not the real path, which changes
    with a minor upgrade by a package manager.
    """
    python, inside = sys.executable, sys.prefix.rstrip(os.sep) + os.sep
    while sys.prefix != sys.base_prefix and python.startswith(inside) and os.path.islink(python):
        python = os.path.join(os.path.dirname(python), os.readlink(python))
    usable = len(python) <= _MAX_INTERPRETER_CHARS and not any(map(str.isspace, python))
    return python if usable and os.path.exists(python) else sys.executable

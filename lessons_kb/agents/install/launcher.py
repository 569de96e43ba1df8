"""Manage the launcher, the program in agents' settings that starts our hook client.

The launcher is in the state folder, so that its path survives upgrades. It starts Python without
``site``, which a console script cannot do. Its first line names the interpreter from which the
virtual environment was created. Without that environment, the launcher still runs and reports why
there are no lessons.
"""

from __future__ import annotations

import ast
import contextlib
import os
import re
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
"""In bytes. Every kernel accepts a first line with a path of this length."""
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
    posix._exit(int("strict" in sys.argv[2:]))
main()
"""
"""The launcher imports the client and does not contain it, because Python caches the compiled
module. This reduces the start to three quarters of the time."""
_STRING = r"'[^'\n]*'|\"[^\"\n]*\""
"""The ``repr`` of a text without escaped quotes."""


def _build_pattern() -> re.Pattern[str]:
    """Return the pattern of a launcher's text, with a group for each path in it.

    The groups are ``interpreter``, and ``python`` and ``package`` with their quotes. The messages
    are no path and have no group.
    """
    names = ("interpreter", "python", "package", "messages")
    pattern = re.escape(_TEXT.format(**{name: f"field_{name}" for name in names}))
    groups = {
        "interpreter": r"(?P<interpreter>[^\n]+)",
        "python": f"(?P<python>{_STRING})",
        "package": f"(?P<package>{_STRING})",
        "messages": r"\{[^\n]*\}",
    }
    for name, group in groups.items():
        # A field in quotes has been formatted with ``repr``. The quoted form is replaced first,
        # because it contains the plain one.
        for marked in (f"'field_{name}'", f"field_{name}"):
            pattern = pattern.replace(marked, group)
    return re.compile(pattern)


_GONE = (
    "Lessons are off: lessons-kb is no longer in {prefix}. Install it again and run"
    " `lessons install {agent}`, or delete the hooks that call {path}."
)


def launcher_path() -> str:
    """Return the path of the launcher even if it does not exist; "" if this platform has none."""
    python = sys.executable
    if os.name == "nt" or len(python) > _MAX_INTERPRETER_CHARS or any(map(str.isspace, python)):
        return ""
    return os.path.join(state_home(), NAME)


def write_launcher() -> None:
    """Write the launcher unless its file is up to date. Raises StorageError."""
    path = launcher_path()
    text = _launcher_text()
    with contextlib.suppress(OSError, StorageError):
        if not path:
            return
        is_current = read_regular(path, limit=_MAX_BYTES, name=path) == text
        if is_current and os.access(path, os.X_OK):
            return
    write_private(path, text)
    with storage_errors(path):
        os.chmod(path, 0o700)


def refresh_launcher() -> None:
    """Update an existing launcher. Raises StorageError."""
    if os.path.lexists(launcher_path()):
        write_launcher()


def find_launcher_problem() -> str | None:
    """Return why the launcher cannot start a hook client, or None if it can.

    The launcher of another existing installation of ours causes no problem. A launcher that does
    not exist causes no problem either, because settings then call another program.
    """
    path = launcher_path()
    if not os.path.lexists(path):
        return None
    try:
        text = read_regular(path, limit=_MAX_BYTES, name=path).decode("utf-8", "replace")
    except (OSError, StorageError):
        return "cannot be read"
    if not os.access(path, os.X_OK):
        return "is not executable"
    match = _build_pattern().fullmatch(text)
    if match is None:
        return "is not the program that `lessons install` wrote"
    if not os.access(match["interpreter"], os.X_OK):
        return f"needs {match['interpreter']}, which is not there"
    python, package = ast.literal_eval(match["python"]), ast.literal_eval(match["package"])
    for needed in (python, os.path.join(package, "hook_client.py")):
        if not os.path.exists(needed):
            return f"needs {needed}, which is not there"
    return None


def _launcher_text() -> bytes:
    """Return the text of the launcher.

    For each agent, its ``MESSAGES`` contain the text that identifies the start of a session, the
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

    The result is the path that the link of the environment names. It is not the real path, which
    changes when a package manager installs a minor upgrade.
    """
    python = sys.executable
    inside = sys.prefix.rstrip(os.sep) + os.sep
    while sys.prefix != sys.base_prefix and python.startswith(inside) and os.path.islink(python):
        python = os.path.join(os.path.dirname(python), os.readlink(python))
    usable = len(python) <= _MAX_INTERPRETER_CHARS and not any(map(str.isspace, python))
    return python if usable and os.path.exists(python) else sys.executable

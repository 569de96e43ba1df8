"""The program that agents' settings name: the hook client, behind this installation's Python.

It lies in the state folder, so that its path survives upgrades, and starts without ``site``,
which a console script cannot. Once it is gone, a shell says 127 and no agent is held up.
"""

from __future__ import annotations

import os
import sys

import lessons_kb
from lessons_kb.errors import StorageError
from lessons_kb.store.disk import read_regular, storage_error
from lessons_kb.store.locate import state_home
from lessons_kb.store.user_state import make_private, write_private

NAME = "lessons-hook"
_MAX_INTERPRETER_CHARS = 120
"""What every kernel takes in a first line."""
_MAX_BYTES = 100_000


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
        make_private(os.path.dirname(path))
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

    source = os.path.join(os.path.dirname(lessons_kb.__file__), "hook_client.py")
    body = read_regular(source, limit=_MAX_BYTES, name=source)
    return f"#!{sys.executable} -IS\n".encode() + body


def _read(path: str) -> bytes | None:
    try:
        return read_regular(path, limit=_MAX_BYTES, name=path)
    except FileNotFoundError:
        return None
    except (OSError, StorageError):
        return b""

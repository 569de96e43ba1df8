"""Open the user's editor."""

from __future__ import annotations

import os
import shlex
import subprocess

from lessons_kb.errors import InputError


def open_editor(path: str) -> None:
    """Run ``$VISUAL`` or ``$EDITOR`` on ``path`` and wait for it; nothing where neither is set.

    The variable is split like a shell would, but no shell runs, so a path cannot be a command.
    Raises InputError when the editor cannot be started.
    """
    command = os.environ.get("VISUAL") or os.environ.get("EDITOR")
    if not command:
        return
    try:
        subprocess.run([*shlex.split(command, posix=os.name != "nt"), path], check=False)
    except (OSError, ValueError) as error:
        raise InputError(f"cannot start the editor {command!r}: {error}; set $EDITOR") from None

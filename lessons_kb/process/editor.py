"""Open the user's editor."""

from __future__ import annotations

import os
import shlex
import subprocess

from lessons_kb.errors import InputError
from lessons_kb.process.find_program import find_program


def open_editor(path: str) -> None:
    """Run ``$VISUAL`` or ``$EDITOR`` on ``path`` and wait for it; nothing where neither is set.

    The variable is split like a shell would, but no shell runs, so a path cannot be a command.
    Raises InputError when the editor cannot be started.
    """
    command = os.environ.get("VISUAL") or os.environ.get("EDITOR")
    if not command:
        return
    try:
        program, *arguments = shlex.split(command, posix=os.name != "nt")
        # Where its folder is not given it is looked up here: Windows would begin with the working
        # directory, in which a repository may have put a program of that name.
        found = program if os.path.dirname(program) else find_program(program)
        if found is None:
            raise FileNotFoundError(2, "not found on the PATH")
        subprocess.run([found, *arguments, path], check=False)
    except (OSError, ValueError) as error:
        raise InputError(f"cannot start the editor {command!r}: {error}; set $EDITOR") from None

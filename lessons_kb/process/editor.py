"""Open the user's editor."""

from __future__ import annotations

import os
import shlex
import subprocess

from lessons_kb.errors import InputError
from lessons_kb.process.find_program import find_program

DEFAULTS = ("notepad",) if os.name == "nt" else ("editor", "sensible-editor", "nano", "vim", "vi")
"""Tried in this order where the user names none; the first is what the system is set to."""


def find_editor() -> str:
    """Return the command of the user's editor, else the platform's default one, "" without any."""
    named = (os.environ.get(name, "").strip() for name in ("VISUAL", "EDITOR"))
    return next(filter(None, named), "") or next(filter(find_program, DEFAULTS), "")


def open_editor(path: str) -> None:
    """Run ``$VISUAL``, ``$EDITOR`` or the platform's default editor on ``path`` and wait for it.

    The variable is split like a shell would, but no shell runs, so a path cannot be a command.
    Raises InputError where there is no editor, or it cannot be started.
    """
    command = find_editor()
    if not command:
        raise InputError(f"no editor found; set $EDITOR, or edit {path} yourself")
    try:
        program, *arguments = shlex.split(command, posix=os.name != "nt")
        # Where its folder is not given it is looked up here: Windows would begin with the working
        # directory, in which a repository may have put a program of that name.
        found = program if os.path.dirname(program) else find_program(program)
        if found is None:
            raise FileNotFoundError(2, "not found on the PATH")
        subprocess.run([found, *arguments, path], check=False)
    except (OSError, ValueError) as error:
        other = next(filter(find_program, DEFAULTS), "")
        fix = f"run `export EDITOR={other}`" if other else "set $EDITOR"
        raise InputError(
            f"cannot start the editor {command!r}: {error}; {fix}, or edit {path} yourself"
        ) from None

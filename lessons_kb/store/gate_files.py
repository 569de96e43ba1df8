"""The compiled gates of each brain, in this user's state: see ``brain/gate_file.py``."""

from __future__ import annotations

import contextlib
import os

from lessons_kb.errors import StorageError
from lessons_kb.hook_gates import gate_path
from lessons_kb.store.files import list_folder
from lessons_kb.store.locations import state_home
from lessons_kb.store.private_files import write_private


def has_gate_file(root: str) -> bool:
    """Return whether the gates of a brain are compiled for the hook's second stage."""
    return os.path.exists(gate_path(state_home(), root))


def write_gate_file(root: str, data: bytes) -> None:
    """Write the compiled gates of a brain; where the disk refuses, none are left there."""
    try:
        write_private(gate_path(state_home(), root), data)
    except StorageError:  # an old file would decide by what is no longer so
        remove_gate_file(root)


def remove_gate_file(root: str) -> None:
    """Remove the compiled gates of a brain that has none, or is not trusted any more."""
    with contextlib.suppress(OSError):
        os.unlink(gate_path(state_home(), root))


def remove_gate_files() -> None:
    """Remove the compiled gates of every brain."""
    folder = os.path.join(state_home(), "gates")
    for name in list_folder(folder):
        with contextlib.suppress(OSError):
            os.unlink(os.path.join(folder, name))

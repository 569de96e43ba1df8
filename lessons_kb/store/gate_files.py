"""Write and remove the gate files of brains in the state home; see ``brain/gate_file.py``."""

from __future__ import annotations

import contextlib
import os
from typing import Any

from lessons_kb.errors import StorageError
from lessons_kb.hook_gates import gate_path, read_gates
from lessons_kb.store.files import list_folder
from lessons_kb.store.locations import state_home
from lessons_kb.store.private_files import write_private


def write_gate_file(root: str, data: bytes) -> None:
    """Write the gate file of a brain, or remove the old file if that fails."""
    try:
        write_private(gate_path(state_home(), root), data)
    except StorageError:  # the old file has outdated gates
        remove_gate_file(root)


def remove_gate_file(root: str) -> None:
    """Remove the gate file of a brain that has no gates or is no longer trusted."""
    with contextlib.suppress(OSError):
        os.unlink(gate_path(state_home(), root))


def read_gate_files() -> list[dict[str, Any]]:
    """Return the gates of all brains, as the hook's second stage reads them."""
    folder = os.path.join(state_home(), "gates")
    names = sorted(name for name in list_folder(folder) if name.endswith(".json"))
    return [read_gates(os.path.join(folder, name)) for name in names]

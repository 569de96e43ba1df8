"""The seal of a gate file: a checksum that shows whether the file is complete and up to date."""

from __future__ import annotations

import zlib
from typing import Any

from lessons_kb.errors import StorageError
from lessons_kb.hook_gates import MAX_GATE_BYTES, gate_path, list_times, read_gates
from lessons_kb.store.catalogue import State
from lessons_kb.store.files import read_regular
from lessons_kb.store.locations import state_home
from lessons_kb.store.scan import find_card_folders

_SEAL = b', "checksum": "%08x"}'


def seal(root: str, state: State, gates: bytes) -> bytes:
    """Add a checksum to the gates of a brain, which are a JSON object.

    The checksum covers the gates themselves, the brain's files and the times of its card folders.
    """
    listing = list_times(root, find_card_folders(state))
    number = zlib.crc32(f"{root}\0{state.manifest}\0{listing}".encode("utf-8", "surrogatepass"))
    return gates[:-1] + _SEAL % zlib.crc32(gates, number)


def is_gate_file_current(root: str, state: State) -> bool:
    """Return whether the gate file of a brain is complete and matches this state of its index."""
    path = gate_path(state_home(), root)
    try:
        data = read_regular(path, limit=MAX_GATE_BYTES, name=path)
    except (OSError, StorageError):
        return False
    gates = data[: -len(_SEAL % 0)] + b"}"
    return seal(root, state, gates) == data


def read_gate_file(root: str) -> dict[str, Any]:
    """Return the gates of a brain in the form that the hook's second stage reads."""
    return read_gates(gate_path(state_home(), root))

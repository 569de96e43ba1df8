"""Which file systems lie on another machine: there SQLite's write-ahead log loses data."""

from __future__ import annotations

import os
import sys

from lessons_kb.data import read_words

_TABLE = read_words("network_file_systems.txt")
NETWORK_TYPES = _TABLE["types"]
NETWORK_FUSE = tuple(_TABLE["fuse"])
"""Subtypes of ``fuse``, such as ``fuse.sshfs``."""

_MOUNTS = "/proc/self/mountinfo"
_POINT = 4
"""Field of a mount's place."""


def is_network(path: str) -> bool:
    """Return whether ``path``, or the folder where it would be made, lies on a network.

    Shared folders of a virtual machine count. Where the system does not tell, the answer is no.
    """
    real = os.path.realpath(path)
    if os.name == "nt":  # a mapped drive's real path is the share's
        return real.startswith("\\\\") and not real.startswith(("\\\\?\\", "\\\\.\\"))
    if sys.platform != "linux":
        return False
    try:
        with open(_MOUNTS, "rb") as file:
            table = file.read().decode("utf-8", "surrogateescape")
    except OSError:
        return False
    return _is_network_type(_type_of(real, table))


def _type_of(real: str, table: str) -> str:
    """Return the type of the innermost mount around ``real``; of two at one place the later."""
    best, found = "", ""
    for line in table.splitlines():
        before, _, after = line.partition(" - ")
        fields = before.split(" ")
        if after and len(fields) > _POINT:
            point = _unescape(fields[_POINT])
            around = real == point or real.startswith(point.rstrip("/") + "/")
            if around and len(point) >= len(best):
                best, found = point, after.split(" ", 1)[0]
    return found


def _unescape(point: str) -> str:
    if "\\" not in point:
        return point
    for code, character in (("040", " "), ("011", "\t"), ("012", "\n"), ("134", "\\")):
        point = point.replace("\\" + code, character)
    return point


def _is_network_type(name: str) -> bool:
    kind, _, subtype = name.partition(".")
    if kind in ("fuse", "fuseblk"):
        return any(subtype.startswith(known) for known in NETWORK_FUSE)
    return kind in NETWORK_TYPES

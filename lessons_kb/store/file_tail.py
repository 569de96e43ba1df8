"""The end of a file that another program is writing."""

from __future__ import annotations

import os
import stat


def read_tail(path: str, offset: int | None, *, limit: int) -> tuple[bytes, int]:
    """Return what lies behind ``offset``, the last ``limit`` bytes at most, and where it starts.

    ``offset`` None is the end. A file that has become shorter is read from its begin. What
    cannot be read is empty.
    """
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    try:
        file = os.open(path, flags)
    except (OSError, ValueError):
        return b"", offset or 0
    try:
        info = os.fstat(file)
        if not stat.S_ISREG(info.st_mode):
            return b"", 0
        size = info.st_size
        start = size if offset is None else offset if offset <= size else 0
        start = max(start, size - limit)
        if start == size:
            return b"", start
        os.lseek(file, start, os.SEEK_SET)
        parts, left = [], size - start
        while left > 0 and (part := os.read(file, left)):
            parts.append(part)
            left -= len(part)
        return b"".join(parts), start
    except OSError:
        return b"", offset or 0
    finally:
        os.close(file)

"""The end of a file that another program is writing."""

from __future__ import annotations

import os

from lessons_kb.errors import StorageError
from lessons_kb.store.disk import open_regular


def read_tail(path: str, offset: int | None, *, limit: int) -> tuple[bytes, int]:
    """Return what lies behind ``offset``, the last ``limit`` bytes at most, and where it starts.

    ``offset`` None is the end. A file that has become shorter is read from its begin. What
    cannot be read is empty.
    """
    try:
        with open_regular(path) as file:
            size = os.fstat(file.fileno()).st_size
            start = size if offset is None else offset if offset <= size else 0
            start = max(start, size - limit)
            file.seek(start)
            return file.read(size - start), start
    except (OSError, ValueError):
        return b"", offset or 0
    except StorageError:
        return b"", 0

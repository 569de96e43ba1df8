"""Half a surrogate pair in a request over stdio: the SDK passes such a line over in silence.

Each half is replaced before the SDK reads the line, so that a tool can answer with an error.
"""

from __future__ import annotations

import json
import os
import re
import threading

MARK = "\ufdd0"
"""Stands for half a surrogate pair. Unicode reserves this code point for such internal use."""
_ESCAPED = re.compile(rb"\\u[dD][89a-fA-F]")
_SURROGATE = re.compile("[\ud800-\udfff]")


def mark_lone_surrogates(line: bytes) -> bytes:
    """Return a line of JSON with MARK in the place of each half of a surrogate pair."""
    if not _ESCAPED.search(line):
        return line
    try:
        text = json.dumps(json.loads(line), ensure_ascii=False)
    except (ValueError, RecursionError):
        return line
    return _SURROGATE.sub(MARK, text).encode() + b"\n"


def has_lone_surrogate(data: object) -> bool:
    """Return whether a text in JSON data has half a surrogate pair, or the mark of one."""
    text = json.dumps(data, ensure_ascii=False)
    return MARK in text or _SURROGATE.search(text) is not None


def filter_standard_input() -> None:
    """Let what reads standard input from now on get each line from `mark_lone_surrogates`."""
    source = os.dup(0)
    readable, writable = os.pipe()
    os.dup2(readable, 0)
    os.close(readable)
    threading.Thread(target=_copy_lines, args=(source, writable), daemon=True).start()


def _copy_lines(source: int, sink: int) -> None:
    try:
        with os.fdopen(source, "rb") as lines, os.fdopen(sink, "wb", buffering=0) as marked:
            for line in lines:
                data = memoryview(mark_lone_surrogates(line))
                while data:
                    data = data[marked.write(data) :]
    except OSError:  # the server has ended
        return

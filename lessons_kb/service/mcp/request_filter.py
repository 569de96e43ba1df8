"""Requests over stdio that the SDK ignores silently, because they have half a surrogate pair or are
nested too deeply.

Each half of a pair is replaced before the SDK reads the line, so that a tool can answer with an
error. The parameters of a request that is nested too deeply are replaced as well.
"""

from __future__ import annotations

import json
import os
import re
import threading

MARK = "\ufdd0"
"""The replacement of half a surrogate pair. Unicode reserves this code point for such internal
use.
"""
_ESCAPED = re.compile(rb"\\u[dD][89a-fA-F]")
_SURROGATE = re.compile("[\ud800-\udfff]")


DEEP = "\ufdd1"
"""The replacement of arguments that are nested too deeply. Like MARK, this code point is
reserved.
"""
_MAX_DEPTH = 150
"""Maximum depth of a request. The SDK reads about 200 levels."""
_TEXT = re.compile(rb'"(?:[^"\\]|\\.)*"')
_ID = re.compile(rb'"id"\s*:\s*("(?:[^"\\]|\\.)*"|-?[0-9]{1,20})')
_NAME = re.compile(rb'"name"\s*:\s*("[\w-]{1,100}")')
_METHOD = re.compile(rb'"method"\s*:\s*"([\w/]{1,100})"')


def flatten_deep_request(line: bytes) -> bytes:
    """Return a line of JSON, or a flat request in its place if it is nested too deeply.

    The flat request has the same id. If it calls a tool, its only argument is DEEP.
    """
    if line.count(b"[") + line.count(b"{") <= _MAX_DEPTH or _depth(line) <= _MAX_DEPTH:
        return line
    # The id is at the top level: outside of the brackets that are nested.
    found = _ID.search(_remove_nested(line))
    method = _METHOD.search(line)
    name = _NAME.search(line)
    if found is None or method is None:
        return line
    request = {"jsonrpc": "2.0", "id": json.loads(found[1]), "method": method[1].decode()}
    if name is not None:
        request["params"] = {"name": json.loads(name[1]), "arguments": {DEEP: DEEP}}
    return json.dumps(request).encode() + b"\n"


def _remove_nested(line: bytes) -> bytes:
    """Return a line without the value of ``params`` if the value is a complete object."""
    begin = re.search(rb'"params"\s*:\s*\{', line)
    if begin is None:
        return line
    depth = 1
    for match in re.finditer(rb'"(?:[^"\\]|\\.)*"|[\[\]{}]', line[begin.end() :]):
        depth += {b"{": 1, b"[": 1, b"}": -1, b"]": -1}.get(match[0], 0)
        if depth == 0:
            return line[: begin.start()] + line[begin.end() + match.end() :]
    return line


def _depth(line: bytes) -> int:
    """Return the nesting depth of the lists and objects in a line."""
    depth = deepest = 0
    for byte in _TEXT.sub(b"", line):
        if byte in b"[{":
            depth += 1
            deepest = max(deepest, depth)
        elif byte in b"]}":
            depth -= 1
    return deepest


def mark_lone_surrogates(line: bytes) -> bytes:
    """Return a line of JSON in which MARK replaces each half of a surrogate pair."""
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
    """Pass each further line of standard input through `mark_lone_surrogates` before it is read."""
    source = os.dup(0)
    readable, writable = os.pipe()
    os.dup2(readable, 0)
    os.close(readable)
    threading.Thread(target=_copy_lines, args=(source, writable), daemon=True).start()


def _copy_lines(source: int, sink: int) -> None:
    try:
        with os.fdopen(source, "rb") as lines, os.fdopen(sink, "wb", buffering=0) as marked:
            for line in lines:
                data = memoryview(mark_lone_surrogates(flatten_deep_request(line)))
                while data:
                    data = data[marked.write(data) :]
    except OSError:  # the server has ended
        return

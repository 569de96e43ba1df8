"""Read an event that a module inside an agent sends to the daemon over HTTP, and write the answer.

Such a module has no sockets and no processes of its own. Its agent sends HTTP requests for it, also
over the daemon's Unix socket. The body of the request is a JSON object: the strings ``agent``,
``cwd`` and ``event``, where ``event`` is the JSON that a hook gets on its standard input, and the
object ``environment`` with the variables that the answer may depend on. The answer has the status
200 and the output of a hook, or the status 503 if the module must start ``lessons-hook``.
"""

from __future__ import annotations

import json
import socket
from collections.abc import Mapping
from typing import BinaryIO

from lessons_kb.hook_client import MAX_EVENT_BYTES
from lessons_kb.values import frozen

METHOD = b"POST "
"""The beginning of a request. A message of ``hook_client`` begins with a zero byte."""
_MAX_LINE = 10_000
_MAX_LINES = 100
_MAX_BODY = 2 * MAX_EVENT_BYTES  # JSON escapes the quotes of an event
_OK, _DECLINED = "200 OK", "503 Service Unavailable"


@frozen
class ModuleRequest:
    """An event and its circumstances."""

    agent: str
    cwd: str
    event: str
    environment: Mapping[str, str]


def is_http(connection: socket.socket) -> bool:
    """Return whether the client speaks HTTP. Its first byte stays in the connection."""
    return connection.recv(1, socket.MSG_PEEK) == METHOD[:1]


def read_request(connection: socket.socket) -> ModuleRequest | None:
    """Return the request of a module, or None if it is malformed."""
    with connection.makefile("rb") as stream:
        body = _read_body(stream)
    try:
        fields = json.loads(body)
        request = ModuleRequest(
            agent=fields["agent"],
            cwd=fields["cwd"],
            event=fields["event"],
            environment=fields["environment"],
        )
        texts = [request.agent, request.cwd, request.event, *request.environment.values()]
    except (ValueError, RecursionError, TypeError, KeyError, AttributeError):
        return None
    return request if all(isinstance(text, str) for text in texts) else None


def write_answer(connection: socket.socket, output: bytes | None) -> None:
    """Send the output of a hook, or the refusal to answer if it is None."""
    status = _DECLINED if output is None else _OK
    body = output or b""
    head = (
        f"HTTP/1.1 {status}\r\n"
        "Content-Type: application/json\r\n"
        f"Content-Length: {len(body)}\r\n"
        "Connection: close\r\n\r\n"
    )
    connection.sendall(head.encode() + body)


def _read_body(stream: BinaryIO) -> bytes:
    """Return the body of a request, or b"" if its head is malformed."""
    if not stream.readline(_MAX_LINE).startswith(METHOD):
        return b""
    length = 0
    for _ in range(_MAX_LINES):
        name, _colon, value = stream.readline(_MAX_LINE).partition(b":")
        if not value:  # the empty line before the body, or the end of the input
            break
        if name.strip().lower() == b"content-length" and value.strip().isdigit():
            length = int(value)
    return stream.read(length) if length <= _MAX_BODY else b""

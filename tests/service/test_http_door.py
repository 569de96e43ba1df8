"""The form in which a module inside an agent sends an event, and what it gets for a broken one."""

import json
import socket

import pytest

from lessons_kb.service.http_door import is_http, read_request, write_answer

FIELDS = {"agent": "claude-code", "cwd": "/", "event": '{"a": "ü"}', "environment": {"HOME": "/h"}}


def send(data):
    """Return the daemon's side of a connection whose client has sent ``data``."""
    client, server = socket.socketpair()
    client.sendall(data)
    client.shutdown(socket.SHUT_WR)
    return client, server


def post(body, length=None):
    data = json.dumps(body).encode() if not isinstance(body, bytes) else body
    length = len(data) if length is None else length
    return f"POST / HTTP/1.1\r\nHost: x\r\ncontent-length: {length}\r\n\r\n".encode() + data


def test_a_request_is_read_whole():
    client, server = send(post(FIELDS))
    with client, server:
        assert is_http(server)
        request = read_request(server)
    assert (request.agent, request.cwd, request.event) == ("claude-code", "/", '{"a": "ü"}')
    assert request.environment == {"HOME": "/h"}


@pytest.mark.parametrize(
    "data",
    [
        post({}),
        post([]),
        post(b"\xff"),
        post({**FIELDS, "agent": 1}),
        post({**FIELDS, "environment": {"HOME": 1}}),
        post({**FIELDS, "environment": []}),
        post(FIELDS, length=10**12),
        post(FIELDS, length="many"),
        b"POST / HTTP/1.1\r\n",
        b"PUT / HTTP/1.1\r\n\r\n",
        b"POST / HTTP/1.1\r\n" + b"a: b\r\n" * 1000,
        b"[" * 100_000,
    ],
)
def test_a_malformed_request_is_declined(data):
    client, server = send(data[:50_000])
    with client, server:
        assert read_request(server) is None


def test_a_message_of_the_hook_program_is_no_http():
    client, server = send(b"\0\0\0\1a")
    with client, server:
        assert not is_http(server)


@pytest.mark.parametrize(("output", "status"), [(b"", b"200"), (b"{}", b"200"), (None, b"503")])
def test_an_answer_has_a_status(output, status):
    client, server = socket.socketpair()
    with client, server:
        write_answer(server, output)
        server.shutdown(socket.SHUT_WR)
        head, _, body = client.makefile("rb").read().partition(b"\r\n\r\n")
    assert head.split()[1] == status
    assert body == (output or b"")

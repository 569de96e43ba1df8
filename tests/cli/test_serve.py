"""`lessons serve`: what it refuses to start, and tokens on the command line."""

import json
import socket
import subprocess
import sys

import pytest

from tests.kit import free_port, wait_until


def is_open(port):
    """Return whether a server accepts connections."""
    with socket.socket() as client:
        return client.connect_ex(("127.0.0.1", port)) == 0


@pytest.mark.slow
def test_a_client_that_sends_too_much_at_once_reads_the_answer(lessons, brain):
    """Five megabytes fill the buffers of a connection, so that the client still sends."""
    secret = lessons("serve", "token", "add", "ci", "--brain", "shop").out.strip()
    port = free_port()
    command = [sys.executable, "-m", "lessons_kb.cli.main", "serve", f"shop={brain}"]
    with subprocess.Popen([*command, "--port", str(port)]) as server:
        try:
            wait_until(lambda: is_open(port))
            size = 5_000_000
            head = f"POST /v1/brains/shop/search HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n"
            head += f"Authorization: Bearer {secret}\r\nContent-Length: {size}\r\n\r\n"
            with socket.create_connection(("127.0.0.1", port), timeout=30) as client:
                client.sendall(head.encode() + b"x" * size)
                assert client.recv(100).startswith(b"HTTP/1.1 413 ")
        finally:
            server.terminate()
            server.wait(timeout=30)


def test_a_token_is_made_listed_and_removed(lessons):
    made = lessons("serve", "token", "add", "ci", "--brain", "shop", "--may", "read,propose")
    secret = made.out.strip()
    assert (made.code, secret[:4]) == (0, "lsn_")
    assert "shown this once" in made.err
    assert "it opens the brain that `lessons serve shop=FOLDER` serves" in made.err
    reviewer = ("--name", "Rita Kim", "--email", "rita@example.org")
    words = ("serve", "token", "add", "rita", "--brain", "shop", "--may", "read,review")
    assert lessons(*words, *reviewer).code == 0
    listed = lessons("serve", "token", "list").out
    assert listed.splitlines()[1].split() == ["ci", "shop", "read,", "propose"]
    assert ("Rita Kim" in listed, secret in listed) == (True, False)
    assert json.loads(lessons("serve", "token", "list", "--json").out) == [
        {"name": "ci", "brains": ["shop"], "may": ["read", "propose"], "person": "", "email": ""},
        {"name": "rita", "brains": ["shop"], "may": ["read", "review"],
         "person": "Rita Kim", "email": "rita@example.org"},
    ]  # fmt: skip
    for name in ("ci", "rita"):
        assert lessons("serve", "token", "remove", name).code == 0
    assert "there are no tokens" in lessons("serve", "token", "list").err


_REVIEW = ("token", "add", "ci", "--brain", "b", "--may", "review")


IMPOSSIBLE = [
    (_REVIEW, "add --name and --email"),
    ((*_REVIEW, "--name", "Rita"), "add --name and --email"),
    ((*_REVIEW, "--name", "Rita <r@x.org>", "--email", "r@x.org"), "cannot sign a commit"),
    ((*_REVIEW, "--name", "Rita\nKim", "--email", "r@x.org"), "cannot sign a commit"),
    ((*_REVIEW, "--name", "Rita", "--email", "nobody"), "is not an address"),
    ((".", "--branch", "a..b"), "not a valid branch name"),
    (("token", "add", "ci"), "add --brain NAME"),
    (("token", "add"), "token add NAME"),
    (("token", "burn", "ci"), "token add NAME"),
    (("token", "remove", "ci"), "no token named"),
    (("token", "add", "ci", "--brain", "b", "--may", "write"), "must be one of read, propose"),
    (("no-such-folder",), "is not a folder"),
    ((".", "--host", "0.0.0.0"), "there are no tokens"),
    ((".", "--behind-proxy"), "there are no tokens"),
    ((".", "--tls-cert", "c"), "belong together"),
    ((".", "--tls-cert", "none.pem", "--tls-key", "none.pem"), "check both"),
    (("a b=.",), "a b=. is not a folder"),
    (("x=.", "x=."), "two brains are called x"),
]


def test_what_cannot_be_is_said_in_one_line(lessons, brain, tmp_path):
    odd = tmp_path / "ein Ordner"
    odd.mkdir()
    for words, told in (*IMPOSSIBLE, ((odd,), "NAME=")):
        done = lessons("serve", *words)
        assert (done.code, done.err.count("\n")) == (2, 1)
        assert told in done.err, words
    lessons("serve", "token", "add", "ci", "--brain", "shop")
    done = lessons("serve", ".", "--host", "0.0.0.0")  # elsewhere it wants encryption
    assert (done.code, "--behind-proxy" in done.err) == (2, True)

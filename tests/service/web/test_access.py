"""Who gets in, to what, how often and with how much."""

import contextlib
import os
import pathlib
import socket
import stat
from types import SimpleNamespace

import pytest

from lessons_kb.errors import InputError, StorageError
from lessons_kb.service.mcp.server import listen
from lessons_kb.service.web.application import Address
from lessons_kb.store.server_tokens import (
    add_token,
    find_token,
    read_tokens,
    remove_token,
    tokens_path,
)

pytestmark = pytest.mark.slow  # a server with its brains

QUERY = {"query": "telegram"}


def search(client, brain="shop", **how):
    return client.post(f"/v1/brains/{brain}/search", json=QUERY, **how)


def test_a_secret_is_kept_nowhere_and_its_file_is_read_by_its_user_alone():
    secret = add_token("alice", brains=["shop"], may=["read"])
    path = pathlib.Path(tokens_path())
    assert (len(secret) > 40, stat.S_IMODE(path.stat().st_mode)) == (True, 0o600)
    everything = [one.read_bytes() for one in path.parents[1].rglob("*") if one.is_file()]
    assert not any(secret.encode() in data for data in everything)
    found = find_token(read_tokens(), secret)
    assert found is not None
    assert (found.name, found.brains, found.may) == ("alice", ("shop",), ("read",))
    assert find_token(read_tokens(), secret[:-1]) is None
    assert find_token(read_tokens(), found.digest) is None
    for name, brains, may in (
        ("alice", ["vault"], ["read"]),  # which exists
        *(("", ["b"], ["read"]), ("a b", ["b"], ["read"])),
        *(("a", [], ["read"]), ("a", ["../b"], []), ("a", ["b"], ["write"])),
    ):
        with pytest.raises(InputError):
            add_token(name, brains=brains, may=may)
    assert read_tokens() == (found,)
    os.chmod(path, 0o644)
    with pytest.raises(StorageError, match="chmod 600"):
        read_tokens()
    os.chmod(path, 0o600)
    remove_token("alice")
    with pytest.raises(InputError, match="no token named"):
        remove_token("alice")


def test_a_token_works_from_the_moment_it_is_made_until_it_is_removed(connect):
    client = connect()
    assert search(client).status_code == 200
    secret = add_token("alice", brains=["shop"], may=["read"])
    refused = search(client)
    assert (refused.status_code, refused.headers["www-authenticate"]) == (401, "Bearer")
    for given in ("Bearer", "Bearer wrong", f"Basic {secret}", secret, "Bearer \xff"):
        assert search(client, headers={"authorization": given.encode("latin-1")}).status_code == 401
    assert client.get("/metrics").status_code == 401
    assert [client.get(path).status_code for path in ("/health", "/openapi.json")] == [200, 200]
    client.headers["authorization"] = f"bearer {secret}"
    assert search(client).status_code == 200
    assert client.get("/metrics").status_code == 403
    prometheus = add_token("prometheus", brains=["shop"], may=["metrics"])
    measuring = {"authorization": f"Bearer {prometheus}"}
    assert client.get("/metrics", headers=measuring).status_code == 200
    assert search(client, headers=measuring).status_code == 403
    path = pathlib.Path(tokens_path())
    whole = path.read_text()
    for damage in ("[", "[1]", '[{"name": 1}]', "{}x"):  # which lets nobody in
        path.write_text(damage)
        assert search(client).status_code == 401, damage
    path.write_text(whole)
    assert search(client).status_code == 200
    remove_token("alice")
    assert search(client).status_code == 401
    remove_token("prometheus")
    del client.headers["authorization"]
    assert search(client).status_code == 401, "a server does not become open again"


def test_names_of_other_machines_are_refused_on_loopback(connect):
    client = connect()
    for host in (
        *("evil.example", "127.0.0.1.evil.example", "", "[::1", "[::1]x", "::1", "localhost:"),
        *("evil.example\\@localhost", "evil.example@localhost", "localhost@evil.example", ":80"),
        *("localhost/", "localhost?", "localhost#.evil.example", "localhost, evil.example"),
        *("localhost:80:80", "localhost:x", "localhost:999999", "localhost ", "[127.0.0.1]:1:1"),
        *("local\u017fhost", "127.0.0.1.", "0.0.0.0", "127.1", "\xff"),
    ):
        assert search(client, headers={"host": host.encode()}).status_code == 421, host
    assert client.get("/brains/shop", headers={"host": "evil.example"}).status_code == 421
    for host in ("localhost", "localhost:99", "127.0.0.1", "[::1]:8766"):
        assert search(client, headers={"host": host}).status_code == 200, host


OTHER_ORIGINS = (
    *("https://evil.example", "http://localhost:3000", "http://127.0.0.1:3000", "http://127.0.0.1"),
    *("null", "", "http://", "127.0.0.1:8766", "//127.0.0.1:8766", "vscode://127.0.0.1:8766"),
    *("http://evil.example\\@127.0.0.1:8766", "http://a@127.0.0.1:8766", "http://127.0.0.1:8766/"),
    *("http://127.0.0.1:8766.evil.example", "http://127.0.0.1:8766 http://evil.example"),
)


def test_web_pages_of_other_origins_are_refused_and_this_servers_may_ask_it(connect):
    client = connect()
    for origin in OTHER_ORIGINS:
        assert search(client, headers={"origin": origin}).status_code == 403, origin
        sent = client.post("/login", data={"token": "x"}, headers={"origin": origin})
        assert (sent.status_code, "not sent by a page" in sent.text) == (403, True), origin
    assert search(client, headers={"origin": "http://127.0.0.1:8766"}).status_code == 200
    named = {"origin": "http://LocalHost:99", "host": "localhost:99"}
    assert search(client, headers=named).status_code == 200


def test_beyond_this_machine_any_name_is_right_and_a_token_decides(connect, tokens):
    client = connect(tokens["shop"], local=False)
    assert search(client, headers={"host": "lessons.example"}).status_code == 200
    assert search(client, headers={"host": "lessons.example/"}).status_code == 421
    remove_token("alice")
    remove_token("bob")
    assert search(client, headers={"host": "lessons.example"}).status_code == 401
    assert search(connect(local=False)).status_code == 401, "as if there never was one"


@pytest.mark.parametrize("path", ["/v1/brains/shop/search", "/login", "/health"])
def test_a_request_of_two_lengths_is_refused(connect, path):
    both = {"content-length": "2", "transfer-encoding": "chunked"}
    refused = connect().post(path, content=iter([b"{}"]), headers=both)
    assert (refused.status_code, refused.headers["connection"]) == (400, "close")


def test_each_token_has_a_bucket_of_requests_that_fills_with_time(connect, tokens, monkeypatch):
    now = [0.0]
    clock = SimpleNamespace(monotonic=lambda: now[0])
    monkeypatch.setattr("lessons_kb.service.web.access.time", clock)
    client = connect(tokens["shop"], rate=2.0)
    for at, full in ((0.0, 10), (0.5, 1), (1_000.0, 10)):
        now[0] = at
        codes = [search(client).status_code for _ in range(full + 1)]
        assert codes == [200] * full + [429]
    assert search(client, "vault").status_code == 429, "no brain is told apart by it"
    other = {"authorization": f"Bearer {tokens['vault']}"}
    assert search(client, "vault", headers=other).status_code == 200
    slow = connect(tokens["shop"], rate=0.2)  # one at once, the next after five seconds
    assert search(slow).status_code == 200
    assert search(slow).headers["retry-after"] == "5"


def test_a_body_is_read_no_further_than_allowed(connect):
    client = connect(max_body=1_000)
    sent = 0

    def endless():
        nonlocal sent
        while sent < 1_000:
            sent += 1
            yield b"x" * 500

    path = "/v1/brains/shop/search"
    refused = client.post(path, content=endless())
    assert (refused.status_code, refused.headers["connection"]) == (413, "close")
    assert client.post(path, content=b"x" * 1_001).status_code == 413
    for length in ("1001", "9" * 50, "-1", "x"):
        how = {"content-length": length}
        assert client.post(path, content=b"{}", headers=how).status_code == 413, length
    assert search(client).status_code == 200
    mcp = client.post("/v1/brains/shop/mcp", content=b"x" * 1_001)
    assert mcp.status_code == 413


def test_other_methods_find_nothing(connect, tokens):
    client = connect(tokens["shop"])
    for path, status in {
        "/health": 405,
        "/v1/brains/shop/search": 405,
        "/v1/brains/vault/search": 404,
    }.items():
        told = client.put(path, content=b"{}")
        assert (told.status_code, list(told.json())) == (status, ["error"])
    for path in ("/v1/brains/shop/no-such", "/nowhere", "/v1/brains/shop/../vault/search"):
        assert client.post(path).status_code == 404


TLS = {"tls_cert": "c", "tls_key": "k"}
ENCRYPTED = "--tls-cert and --tls-key, or --behind-proxy"


@pytest.mark.parametrize(
    ("address", "token", "told"),
    [
        ({"host": "0.0.0.0"}, True, ENCRYPTED),
        ({"host": "0.0.0.0", "tls_cert": "c"}, True, "belong together"),
        ({"host": "127.0.0.1", "tls_key": "k"}, True, "belong together"),
        *(
            (address, token, "" if token else "serve token add")
            for address in (
                {"host": "0.0.0.0", "behind_proxy": True},
                {"host": "127.0.0.1", "behind_proxy": True},
                {"host": "10.0.0.1", **TLS},
            )
            for token in (True, False)
        ),
    ],
)
def test_an_address_that_others_can_reach_needs_encryption_and_tokens(address, token, told):
    if token:
        add_token("alice", brains=["shop"], may=["read"])
    refused = pytest.raises(InputError, match=told) if told else contextlib.nullcontext()
    with refused:
        Address(port=0, **address).check(read_tokens())


def test_no_answer_waits_for_the_client_to_acknowledge_a_part_of_it():
    with listen("127.0.0.1", 0) as listening, socket.create_connection(listening.getsockname()):
        accepted, _ = listening.accept()
        with accepted:
            assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)

"""Two brains on one server, a token for each, and a client that is nobody until it says."""

import contextlib
import html
import pathlib
import re

import pytest

from tests.kit import commit, copy_example, wait_until

pytest.importorskip("mcp", reason="the extra `server` is not installed")

from starlette.testclient import TestClient

from lessons_kb import Brain
from lessons_kb.service.web.application import build_app
from lessons_kb.store.server_tokens import add_token

SECRET_CARD = """\
---
type: lesson
title: Zebrafish ledger rotates at midnight in Vaduz
symptoms: [the zebrafish ledger lost a row, vaduz rotation dropped entries]
severity: high
paths: ["zebra/**"]
---

## Root Cause

The zebrafish ledger counted in local time.

## Prevention Checklist

- Rotate the zebrafish ledger in UTC
"""
HERE = "http://127.0.0.1:8766"
OWN = {"sec-fetch-site": "same-origin", "origin": HERE}
TITLE = "Charged a customer twice because the form was sent twice"
PARTS = {
    "sections": {"Root Cause": "the client retried although the first request had gone through"},
    "prevention": ["Send an idempotency key with each payment"],
    "symptoms": ["a customer was charged twice", "two invoices for one order"],
}


PROMPT = "Add a Telegram command that runs a shell script"
CARD = "lessons/telegram-allowlist.md"
PROPOSAL = {
    "title": TITLE,
    "root_cause": PARTS["sections"]["Root Cause"],
    "prevention": PARTS["prevention"],
    "symptoms": PARTS["symptoms"],
}


def ask(client, what, **body):
    """Post to an address of the shop."""
    return client.post(f"/v1/brains/shop/{what}", json=body)


def ask_mcp(client, method, **params):
    body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    headers = {"accept": "application/json, text/event-stream"}
    return client.post("/v1/brains/shop/mcp", json=body, headers=headers)


def be(client, name, *may):
    """Let a client ask with a new token."""
    client.headers["authorization"] = f"Bearer {add_token(name, brains=['shop'], may=may)}"


@pytest.fixture
def roots(tmp_path):
    shop = copy_example(tmp_path / "srv" / "shop")
    secret = tmp_path / "srv" / "vault" / "lessons"
    secret.mkdir(parents=True)
    (secret / "zebrafish.md").write_text(SECRET_CARD)
    return {"shop": str(shop), "vault": str(secret.parent)}


@pytest.fixture
def tokens():
    may = ["read", "propose"]
    return {
        "shop": add_token("alice", brains=["shop"], may=may),
        "vault": add_token("bob", brains=["vault"], may=may),
    }


def is_ready(client):
    """Tell whether a server can search all its brains: before, it is silent and says why."""
    return client.get("/ready").status_code == 200


@pytest.fixture
def connect(roots, monkeypatch):
    """Return a client of the server: ``connect(token, **how the server is built)``."""
    # A busy machine may be slow; the answers count here.
    monkeypatch.setattr("lessons_kb.service.web.application.ANSWER_SECONDS", 20.0)
    with contextlib.ExitStack() as stack:

        def connect(token="", *, ready=True, **how):
            headers = {"authorization": f"Bearer {token}"} if token else {}
            app = build_app(roots, **how)
            client = stack.enter_context(TestClient(app, base_url=HERE, headers=headers))
            if ready:
                wait_until(lambda: is_ready(client))
            return client

        yield connect


@pytest.fixture
def shop(roots):
    """The served brain as a clone in which somebody works."""
    root = roots["shop"]
    commit(pathlib.Path(root))
    return root


@pytest.fixture
def root(shop):
    return pathlib.Path(shop)


@pytest.fixture
def reviewer():
    return add_token(
        "rita", brains=["shop"], may=["read", "review"], person="Rita Kim", email="rita@x.org"
    )


@pytest.fixture
def propose(shop):
    def propose(title=TITLE, **more):
        with Brain.open(shop) as brain:
            return brain.drafts.propose(title, **{**PARTS, **more}).id

    return propose


def log_in(client, token, *, origin=HERE):
    headers = {**OWN, "origin": origin}
    return client.post("/login", data={"token": token}, headers=headers, follow_redirects=False)


def field(page, name):
    """Return the value of a hidden field of a page."""
    found = re.search(rf'name="{name}" value="([^"]*)"', page)
    assert found, name
    return html.unescape(found[1])


def send(client, path, **fields):
    """Fill in the form of a page, as somebody does who has just opened it."""
    page = client.get(path).text
    hidden = {name: field(page, name) for name in ("mark", "seen") if f'name="{name}"' in page}
    return client.post(path, data={**hidden, **fields}, headers=OWN)


def wait_for(client, path, text):
    """Return a page as soon as it holds a text: a file may be indexed a moment after it changed."""

    def page():
        told = str(client.get(path).text)
        return told if text in told else ""

    return wait_until(page)


@pytest.fixture
def rita(connect, shop, reviewer):
    """A browser in which a reviewer is logged in."""
    client = connect()
    log_in(client, reviewer)
    return client

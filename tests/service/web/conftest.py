"""Two brains on one server, a token for each, and a client that is nobody until it says."""

from __future__ import annotations

import contextlib
import html
import pathlib
import re
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

pytest.importorskip("mcp", reason="the extra `server` is not installed")

from starlette.testclient import TestClient

from lessons_kb.brain.brain import Brain
from lessons_kb.service.web.application import build_app
from lessons_kb.store.settings import add_token

EXAMPLE = pathlib.Path(__file__).parents[3] / "brain-example"
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
PARTS: dict[str, Any] = {
    "sections": {"Root Cause": "the client retried although the first request had gone through"},
    "prevention": ["Send an idempotency key with each payment"],
    "symptoms": ["a customer was charged twice", "two invoices for one order"],
}
Connect = Callable[..., TestClient]


@pytest.fixture
def roots(tmp_path: pathlib.Path) -> dict[str, str]:
    shop = tmp_path / "srv" / "shop"
    shutil.copytree(EXAMPLE, shop, ignore=shutil.ignore_patterns(".lessons"))
    secret = tmp_path / "srv" / "vault" / "lessons"
    secret.mkdir(parents=True)
    (secret / "zebrafish.md").write_text(SECRET_CARD)
    return {"shop": str(shop), "vault": str(secret.parent)}


@pytest.fixture
def tokens() -> dict[str, str]:
    may = ["read", "propose"]
    return {
        "shop": add_token("alice", brains=["shop"], may=may),
        "vault": add_token("bob", brains=["vault"], may=may),
    }


@pytest.fixture
def until_ready() -> Callable[[TestClient], None]:
    """Wait until a server can search all its brains: before, it is silent and says why."""

    def until_ready(client: TestClient) -> None:
        until = time.monotonic() + 30
        while client.get("/ready").status_code != 200:
            assert time.monotonic() < until, "the brains are never ready"
            time.sleep(0.02)

    return until_ready


@pytest.fixture
def connect(roots: dict[str, str], until_ready: Callable[[TestClient], None]) -> Iterator[Connect]:
    """Return a client of the server: ``connect(token, **how the server is built)``."""
    with contextlib.ExitStack() as stack:

        def connect(token: str = "", *, ready: bool = True, **how: Any) -> TestClient:
            headers = {"authorization": f"Bearer {token}"} if token else {}
            app = build_app(roots, **how)
            client = stack.enter_context(TestClient(app, base_url=HERE, headers=headers))
            if ready:
                until_ready(client)
            return client

        yield connect


def run_git(root: str, *words: str) -> str:
    command = ["git", "-c", "user.name=Owner", "-c", "user.email=owner@example.org", *words]
    return subprocess.run(command, cwd=root, check=True, capture_output=True, text=True).stdout


@pytest.fixture
def git() -> Callable[..., str]:
    """Run git in a folder and return what it prints."""
    return run_git


@pytest.fixture
def shop(roots: dict[str, str]) -> str:
    """The served brain as a clone in which somebody works."""
    root = roots["shop"]
    run_git(root, "init", "-q", "-b", "main")
    run_git(root, "add", "-A")
    run_git(root, "commit", "-q", "-m", "Begin")
    return root


@pytest.fixture
def reviewer() -> str:
    return add_token(
        "rita", brains=["shop"], may=["read", "review"], person="Rita Kim", email="rita@x.org"
    )


@pytest.fixture
def propose(shop: str) -> Callable[..., str]:
    def propose(title: str = TITLE, **more: Any) -> str:
        with Brain.open(shop) as brain:
            return brain.drafts.propose(title, **{**PARTS, **more}).id

    return propose


def paste_token(client: Any, token: str, *, origin: str = HERE) -> Any:
    headers = {**OWN, "origin": origin}
    return client.post("/login", data={"token": token}, headers=headers, follow_redirects=False)


def read_field(page: str, name: str) -> str:
    found = re.search(rf'name="{name}" value="([^"]*)"', page)
    assert found, name
    return html.unescape(found[1])


def fill_in(client: Any, path: str, **fields: str) -> Any:
    page = client.get(path)
    hidden = {"mark": read_field(page.text, "mark")}
    if 'name="seen"' in page.text:
        hidden["seen"] = read_field(page.text, "seen")
    return client.post(path, data={**hidden, **fields}, headers=OWN)


@pytest.fixture
def wait_for() -> Callable[[Any, str, str], str]:
    """Return a page as soon as it holds a text: a file may be indexed a moment after it changed."""

    def wait_for(client: Any, path: str, text: str) -> str:
        until = time.monotonic() + 30
        while text not in (page := str(client.get(path).text)):
            assert time.monotonic() < until, f"{path} never says {text}"
            time.sleep(0.05)
        return page

    return wait_for


@pytest.fixture
def log_in() -> Callable[..., Any]:
    return paste_token


@pytest.fixture
def field() -> Callable[..., str]:
    """Return the value of a hidden field of a page."""
    return read_field


@pytest.fixture
def send() -> Callable[..., Any]:
    """Fill in the form of a page, as somebody does who has just opened it."""
    return fill_in


@pytest.fixture
def rita(connect: Connect, shop: str, reviewer: str) -> Any:
    """A browser in which a reviewer is logged in."""
    client = connect()
    paste_token(client, reviewer)
    return client

"""Two brains on one server, a token for each, and a client that is nobody until it says."""

from __future__ import annotations

import contextlib
import pathlib
import shutil
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

pytest.importorskip("mcp", reason="the extra `server` is not installed")

from starlette.testclient import TestClient

from lessons_kb.service.web.server import build_app
from lessons_kb.store.server_tokens import add_token

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

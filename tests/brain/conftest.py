"""A small brain in a folder of its own."""

from __future__ import annotations

import pathlib
import textwrap
import time
from collections.abc import Callable

import pytest

Write = Callable[..., pathlib.Path]

TELEGRAM = """\
---
type: lesson
title: Telegram remote execution must require an allowlist
applies-to: [telegram, security]
severity: high
occurrences: 5  # counted by hand
last-seen: "2026-01-02"
---

## Situation

A command of the Telegram bot ran a shell script, and every member of the group could send it.

## Root Cause

The handler never looked at the sender. More text.

## Prevention Checklist

- Reject every chat id that is not on the allowlist
- Cover the rejection with a test
"""


@pytest.fixture
def root(tmp_path: pathlib.Path) -> pathlib.Path:
    folder = tmp_path / "brain"
    folder.mkdir()
    return folder


@pytest.fixture
def write(root: pathlib.Path) -> Write:
    def write(name: str, text: str) -> pathlib.Path:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text))
        return path

    return write


@pytest.fixture
def telegram(write: Write) -> pathlib.Path:
    return write("lessons/telegram-allowlist.md", TELEGRAM)


@pytest.fixture
def settle() -> Callable[[], None]:
    """Wait until files written so far are old enough to be vouched for."""
    return lambda: time.sleep(0.03)

"""The table of trust: what is promised in SPEC §13, held against real processes and disks.

Each row is measured in a few seconds by the normal suite; with LESSONS_SLOW_TESTS=1 the figures
are the full ones. `python -m benchmarks trust` prints them.
"""

from __future__ import annotations

import os
import pathlib
import textwrap
from collections.abc import Callable

import pytest

FULL = bool(os.environ.get("LESSONS_SLOW_TESTS"))

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


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers", "amounts(short, full): how many of `amount`; the full one is for slow runs"
    )


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if (marker := metafunc.definition.get_closest_marker("amounts")) is not None:
        short, full = marker.args
        wanted = pytest.param(full, marks=pytest.mark.slow) if FULL else short
        metafunc.parametrize("amount", [wanted])


@pytest.fixture
def root(tmp_path: pathlib.Path) -> pathlib.Path:
    """A folder that this user has made a brain."""
    from lessons_kb.brain.making import make_brain

    folder = tmp_path / "brain"
    folder.mkdir()
    make_brain(str(folder))
    return folder.resolve()


@pytest.fixture
def write(root: pathlib.Path) -> Callable[[str, str], pathlib.Path]:
    def write(name: str, text: str) -> pathlib.Path:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text))
        return path

    return write


@pytest.fixture
def telegram(write: Callable[[str, str], pathlib.Path]) -> pathlib.Path:
    return write("lessons/telegram-allowlist.md", TELEGRAM)

"""A trusted brain in a project, and hooks fired at it: in this process or through the entry."""

from __future__ import annotations

import json
import os
import pathlib
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from lessons_kb.brain.make_brain import make_brain
from lessons_kb.service.hook_event import answer_event

TELEGRAM = """\
---
type: lesson
title: Telegram remote execution must require an allowlist
applies-to: [telegram, security]
severity: high
occurrences: 5
paths: ["bot/**"]
---

## Situation

A command of the Telegram bot ran a shell script, and every member of the group could send it.

## Root Cause

The handler never looked at the sender. More text.

## Prevention Checklist

- Reject every chat id that is not on the allowlist
- Cover the rejection with a test
"""
MIGRATION = """\
---
type: lesson
title: Never drop a column in the release that stops writing it
severity: high
gate: ask
paths: ["migrations/*.sql"]
---

## Root Cause

Old processes still wrote the column.

## Prevention Checklist

- Drop the column one release later
"""

Fire = Callable[..., Any]


def read_output(printed: str) -> dict[str, Any]:
    """Return what an agent reads: the object, and under "progress" the messages in front of it."""
    objects = [json.loads(line) for line in printed.splitlines() if line.strip()]
    shown = [one["message"] for one in objects if one.get("type") == "progress"]
    outputs = [one for one in objects if one.get("type") != "progress"]
    assert len(outputs) <= 1
    return {**(outputs[0] if outputs else {}), **({"progress": "\n".join(shown)} if shown else {})}


@pytest.fixture
def project(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> pathlib.Path:
    for name in [name for name in os.environ if name.endswith(("_PROJECT_DIR", "_SESSION_ID"))]:
        monkeypatch.delenv(name)
    folder = tmp_path / "project"
    (folder / ".git").mkdir(parents=True)
    (folder / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    (folder / "bot").mkdir()
    make_brain(str(folder))
    card(folder, "lessons/telegram-allowlist.md", TELEGRAM)
    card(folder, "lessons/drop-column.md", MIGRATION)
    return folder


def card(folder: pathlib.Path, name: str, text: str) -> None:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(textwrap.dedent(text), encoding="utf-8")


@pytest.fixture
def fire(project: pathlib.Path) -> Fire:
    """Answer one event in this process: the output as JSON, {} for silence."""

    def fire(agent: str, payload: Any, environment: Mapping[str, str] | None = None) -> Any:
        data = payload if isinstance(payload, (bytes, str)) else json.dumps(payload)
        output, _line = answer_event(agent, data, environment or {})
        return read_output(output)

    return fire


@pytest.fixture
def drafted(project: pathlib.Path) -> Callable[[], None]:
    """Wait until the detached runs that make this project's drafts have ended."""
    if not os.path.isdir("/proc/self"):
        pytest.skip("needs /proc")

    def runs(process: pathlib.Path) -> bool:
        try:
            line = (process / "cmdline").read_bytes()
        except OSError:
            return False
        return b"draft_session" in line and os.fsencode(project) in line

    def wait() -> None:
        until = time.monotonic() + 60
        while any(map(runs, pathlib.Path("/proc").glob("[0-9]*"))):
            assert time.monotonic() < until
            time.sleep(0.02)

    return wait


@pytest.fixture
def enter(project: pathlib.Path) -> Fire:
    """Answer one event through the installed entry, as the agent would: (output, stderr)."""
    script = pathlib.Path(sys.executable).with_name("lessons-hook")
    code = "from lessons_kb.service.fallback import main; main()"
    start = [str(script)] if script.is_file() else [sys.executable, "-c", code]

    def enter(agent: str, payload: Any, **environment: str) -> Any:
        data = payload if isinstance(payload, bytes) else json.dumps(payload).encode()
        done = subprocess.run(
            [*start, agent],
            input=data,
            capture_output=True,
            cwd=project,
            env={**os.environ, "LESSONS_HOOK_DEADLINE": "20", **environment},
            check=False,
        )
        assert done.returncode == 0, done.stderr
        assert b"Traceback" not in done.stdout + done.stderr
        output = done.stdout.decode()
        return read_output(output), done.stderr.decode()

    return enter

"""A trusted brain in a project, and hooks fired at it: in this process or through the entry."""

import json
import os
import pathlib
import subprocess
import sys
import time

import pytest

from tests.kit import Claude, answer, make_brain, read_output, write

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


@pytest.fixture
def project(tmp_path):
    folder = tmp_path / "project"
    (folder / ".git").mkdir(parents=True)
    (folder / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    (folder / "bot").mkdir()
    make_brain(str(folder))
    write(folder, "lessons/telegram-allowlist.md", TELEGRAM)
    write(folder, "lessons/drop-column.md", MIGRATION)
    return folder


@pytest.fixture
def fire(project):
    """Answer one event in this process: ``fire(agent, payload, environment)``."""
    return answer


@pytest.fixture
def claude(project):
    return Claude(project)


@pytest.fixture
def drafted(project):
    """Wait until the detached runs that make this project's drafts have ended."""
    if not os.path.isdir("/proc/self"):
        pytest.skip("needs /proc")

    def runs(process):
        try:
            line = (process / "cmdline").read_bytes()
        except OSError:
            return False
        return b"draft_session" in line and os.fsencode(project) in line

    def wait():
        until = time.monotonic() + 60
        while any(map(runs, pathlib.Path("/proc").glob("[0-9]*"))):
            assert time.monotonic() < until
            time.sleep(0.02)

    return wait


@pytest.fixture
def enter(project):
    """Answer one event through the installed entry, as the agent would: (output, stderr)."""
    script = pathlib.Path(sys.executable).with_name("lessons-hook")
    code = "from lessons_kb.service.fallback import main; main()"
    start = [str(script)] if script.is_file() else [sys.executable, "-c", code]

    def enter(agent, payload, **environment):
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

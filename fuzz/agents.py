"""What agents send and what they keep: hook events, settings files."""

from __future__ import annotations

import atexit
import json
import os
import shutil
import tempfile
from typing import Any

from fuzz.lines import check_one_line
from lessons_kb.errors import LessonsError


def agent_settings(data: bytes) -> None:
    """An agent's settings file: refused, or ours put in and taken out without a trace."""
    from lessons_kb.agents.install import Entries, Request
    from lessons_kb.agents.install.settings_files import add_pieces, find_targets, take_pieces
    from lessons_kb.agents.table import AGENTS

    names = sorted(AGENTS)
    name = names[data[0] % len(names)] if data else names[0]
    entries = Entries(hook="/opt/lessons-hook", server="/opt/lessons")
    for target in find_targets(Request(agent=name, project="/p", entries=entries)):
        before = data[1:]
        try:
            added = add_pieces(before, target)
            assert add_pieces(added, target) == added, "done twice it changes something"
            left = take_pieces(added, target, like=before)
        except LessonsError as error:
            check_one_line(error)
            continue
        if target.syntax == "json" and left is not None:
            assert b"lessons-hook" not in left or b"lessons-hook" in before
        if target.syntax != "text" and b"lessons" not in before:
            again = add_pieces(left, target) if left is not None else None
            assert again is None or take_pieces(again, target, like=before) == left


def payload(data: bytes) -> None:
    """A hook's event, of any agent: an answer or silence, and nothing in the hook log."""
    from lessons_kb.agents.table import AGENTS
    from lessons_kb.service import hook_event as hook

    names = sorted(AGENTS)
    name = names[data[0] % len(names)] if data else names[0]
    brain = _Brain.open()
    troubles: list[str] = []

    def note(agent: str, event: str, error: BaseException | str) -> None:
        if isinstance(error, BaseException):
            raise error
        if "not a JSON object" not in error:
            troubles.append(f"{agent} {event}: {error}")

    kept, hook.log_failure = hook.log_failure, note
    try:
        event = data[1:].replace(b"@CWD@", os.fsencode(_Brain.folder))
        output, line = hook.answer_event(name, event, {}, find=lambda _folder: brain)
    finally:
        hook.log_failure = kept
    assert not troubles, troubles
    assert not line or output or line.strip()
    if output:
        *before, last = (json.loads(line) for line in output.splitlines())
        assert isinstance(last, dict)
        assert all(shown["type"] == "progress" for shown in before)
        assert output.isascii()


class _Brain:
    """One small trusted brain for all payloads of a process."""

    folder = ""
    _open: Any = None

    @classmethod
    def open(cls) -> Any:
        if cls._open is None:
            cls.folder = tempfile.mkdtemp(prefix="lessons-fuzz-")
            atexit.register(shutil.rmtree, cls.folder, ignore_errors=True)
            os.environ["LESSONS_STATE_HOME"] = os.path.join(cls.folder, "state")
            from lessons_kb import Brain
            from lessons_kb.brain.make_brain import make_brain

            root = os.path.join(cls.folder, "project")
            make_brain(root)
            with open(os.path.join(root, "lessons", "telegram.md"), "w", encoding="utf-8") as file:
                file.write(_CARD)
            cls.folder = root
            cls._open = Brain.open(root)
        return cls._open


_CARD = """\
---
type: lesson
title: Telegram remote execution must require an allowlist
severity: high
gate: ask
paths: ["bot/**"]
---

## Root Cause

The handler never looked at the sender.

## Prevention Checklist

- Reject every chat id that is not on the allowlist
- Cover the rejection with a test
"""

"""Nothing that announces itself as a secret is kept of a call, in whatever column."""

from __future__ import annotations

import contextlib
import json
import os
import pathlib
import sqlite3

import pytest

from lessons_kb.service.hook_event import answer_event
from lessons_kb.store.user_state import state_dir
from tests.text.test_secret_kinds import SECRETS, filled


def kept(project: pathlib.Path) -> str:
    """Return every value of every table of the journal."""
    path = os.path.join(state_dir(str(project)), "journal.db")
    with contextlib.closing(sqlite3.connect(path)) as db:
        return "\n".join(db.iterdump())


@pytest.mark.slow
def test_no_part_of_a_secret_of_any_kind_is_kept_of_a_call(project: pathlib.Path) -> None:
    made = {}
    for number, name in enumerate(SECRETS):
        made[name] = filled(name)
        text = made[name][0]
        call = {"session_id": f"s{number}", "cwd": str(project), "hook_event_name": "PostToolUse"}
        call |= {"tool_name": "Bash", "tool_use_id": f"t{number}"}
        call |= {"tool_input": {"command": text}, "tool_response": {"stdout": text, "stderr": ""}}
        answer_event("claude-code", json.dumps(call), {})
    journal = kept(project)
    left = {
        name: piece
        for name, (text, secret) in made.items()
        for piece in (secret[i : i + 6] for i in range(len(secret) - 5))
        if piece in text and piece in journal
        if " " not in secret  # English words
        if not piece.isdecimal()  # a time may hold the same digits
    }
    assert not left


def test_what_a_command_touches_is_kept_beside_its_secret(project: pathlib.Path) -> None:
    command = (
        "deploy --password Ab3xY7kQ9zT && sed -i s/a/b/ bot/run.py 'bot/it has.py' && cat bot/x.py"
    )
    call = {"session_id": "s", "cwd": str(project), "hook_event_name": "PostToolUse"}
    call |= {"tool_name": "Bash", "tool_use_id": "t", "tool_input": {"command": command}}
    answer_event("claude-code", json.dumps(call | {"tool_response": {"stdout": ""}}), {})
    journal = kept(project)
    assert '"bot/run.py", "bot/it has.py"' in journal
    assert '"bot/x.py"' in journal
    assert "Ab3xY7" not in journal

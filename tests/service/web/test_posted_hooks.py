"""What a client posts is data: nothing in it is looked up on the server."""

import builtins
import json
import os
import pathlib
import subprocess

import pytest

from lessons_kb import Brain
from lessons_kb.brain import search_index
from lessons_kb.service.web.authentication import Shared
from lessons_kb.store.locations import user_settings_path
from tests.service.web.conftest import PROMPT, ask, be

pytestmark = pytest.mark.slow  # a server with its brains

CARD = """\
---
type: lesson
title: The ledger is written in one place
severity: high
gate: ask
paths: ["src/ledger/**"]
detect: [{regex: 'write_row\\('}]
---

## Root Cause

Two writers raced.

## Prevention Checklist

- Write rows through the queue
"""


@pytest.fixture
def touched(tmp_path, monkeypatch):
    """Return the paths below the client's folder, or with its name, that anything looked at."""
    client = str(tmp_path / "client")
    seen = []

    def watched(function):
        def look(path=".", *rest, **how):
            if isinstance(path, (str, bytes)) and client in os.fsdecode(path):
                seen.append(os.fsdecode(path))
            return function(path, *rest, **how)

        return look

    for name in ("stat", "lstat", "open", "scandir", "listdir", "readlink", "access"):
        monkeypatch.setattr(os, name, watched(getattr(os, name)))
    for name in ("exists", "lexists", "isfile", "isdir", "islink", "realpath", "getsize"):
        monkeypatch.setattr(os.path, name, watched(getattr(os.path, name)))
    monkeypatch.setattr(builtins, "open", watched(builtins.open))
    return seen


def post(client, **event):
    return str(ask(client, "hooks/claude-code", **{"session_id": "s", **event}).text)


def whole_session(client, folder):
    """Post all that happens in a session of Claude Code that stands in ``folder``."""
    place = {"cwd": f"{folder}/src", "transcript_path": f"{folder}/record.jsonl"}
    path = f"{folder}/src/ledger/rows.py"
    edit = {"file_path": path, "old_string": "queue(row)", "new_string": "write_row(row)"}
    remove = {"command": f"rm -rf {folder}/src/ledg* ~/x && python {path} && sed -i s/a/b/ *.py"}

    def tool(name, kind, arguments, call, **more):
        return post(
            client, hook_event_name=kind, tool_name=name, tool_input=arguments,
            tool_use_id=call, permission_mode="default", **place, **more,
        )  # fmt: skip

    failed = {"error": "Exit code 1\nTelegram: chat id not on the allowlist"}
    return {
        "start": post(client, hook_event_name="SessionStart", source="startup", **place),
        "prompt": post(client, hook_event_name="UserPromptSubmit", prompt=PROMPT, **place),
        "before": tool("Edit", "PreToolUse", edit, "c1"),
        "after": tool("Edit", "PostToolUse", edit, "c1", tool_response={}),
        "command": tool("Bash", "PreToolUse", remove, "c2"),
        "failed": tool("Bash", "PostToolUseFailure", remove, "c2", **failed),
        "write": tool("Write", "PreToolUse", {"file_path": path, "content": "write_row(1)"}, "c3"),
        "compact": post(client, hook_event_name="SessionStart", source="compact", **place),
        "stop": post(
            client, hook_event_name="Stop", last_assistant_message="I left the tests out.", **place
        ),
        "end": post(client, hook_event_name="SessionEnd", **place),
    }


@pytest.fixture
def client(connect, roots):
    (pathlib.Path(roots["shop"]) / "lessons/ledger.md").write_text(CARD)
    return connect()


@pytest.fixture
def folder(tmp_path):
    """Return a folder of the server that has the name of the client's."""
    ledger = tmp_path / "client" / "shop" / "src" / "ledger"
    ledger.mkdir(parents=True)
    (ledger / "rows.py").write_text("queue(row)\n")
    (tmp_path / "client" / "shop" / ".git").mkdir()
    (tmp_path / "client" / "shop" / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    (tmp_path / "client" / "shop" / "record.jsonl").write_text("{}\n")
    return str(tmp_path / "client" / "shop")


def test_no_path_of_a_session_is_looked_at_and_nothing_is_started_for_it(
    client, roots, folder, touched, monkeypatch
):
    started = []
    for place in ("process.programs.start_index", "session.draft_process.start_draft_process"):
        monkeypatch.setattr(f"lessons_kb.{place}", lambda *call, **_: started.append(call))
    told = whole_session(client, folder)
    assert "Reject every chat id" in told["prompt"]
    again = {"prompt": "it broke again, regression", "cwd": folder}
    post(client, hook_event_name="UserPromptSubmit", **again)
    assert (touched, started) == ([], [])
    run, places = subprocess.Popen.__init__, []

    def seen(self, *words, **how):
        places.append(f"{words} {how.get('cwd')}")
        run(self, *words, **how)

    monkeypatch.setattr("subprocess.Popen.__init__", seen)
    with Brain.open(roots["shop"]) as brain:
        brain.drafts.collect()
    assert not [place for place in places if folder in place]


@pytest.mark.parametrize(
    ("place", "path", "new", "words"),
    [
        ("/home/dev/shop", "/src/ledger/rows.py", "x", "The ledger is written in one place"),
        (r"C:\dev\shop", r"\src\main.py", "write_row(1)", "write_row(1)"),
    ],
    ids=["by its path", "by what is written"],
)
def test_a_lesson_for_an_edit_names_the_cards_id_and_not_its_place(
    client, roots, place, path, new, words
):
    edit = {"file_path": place + path, "old_string": "", "new_string": new}
    event = {"hook_event_name": "PreToolUse", "tool_name": "Edit", "tool_input": edit}
    told = post(client, **event, tool_use_id="c", cwd=place)
    said = json.loads(told)["hookSpecificOutput"]
    assert words in said["additionalContext"]
    assert "lessons/ledger.md" in said["additionalContext"]
    assert "permissionDecision" not in said, "a server holds nobody up"
    assert os.path.dirname(roots["shop"]) not in told


def test_a_brain_that_another_process_indexes_is_not_scanned(connect, monkeypatch):
    """Of 10,000 cards a scan takes ten times as long as the rest of the answer."""
    scanned = []
    scan = search_index.scan_brain
    client = connect(shared=Shared())
    monkeypatch.setattr(
        search_index, "scan_brain", lambda *a, **k: scanned.append(a) or scan(*a, **k)
    )
    for session in ("s1", "s2"):
        event = {"hook_event_name": "UserPromptSubmit", "prompt": PROMPT, "cwd": "/home/dev/shop"}
        assert "Reject every" in post(client, session_id=session, **event)
    assert "Reject every" in ask(client, "preflight", prompt=PROMPT).text
    assert scanned == []


def test_the_sessions_of_two_tokens_are_two(connect, tokens):
    asked = {"hook_event_name": "UserPromptSubmit", "prompt": PROMPT, "cwd": "/home/dev/shop"}
    client = connect(tokens["shop"])
    assert "Reject every" in post(client, **asked)
    assert post(client, **asked, prompt_id="2") == ""
    be(client, "carol", "read")
    assert "Reject every" in post(client, **asked)


def test_no_route_returns_a_lesson_that_is_withheld_from_the_session(client):
    def look(session):
        event = {"hook_event_name": "UserPromptSubmit", "prompt": PROMPT, "cwd": "/home/dev/shop"}
        hook = post(client, session_id=session, **event)
        return [hook, ask(client, "preflight", prompt=PROMPT, session=f"{session}x").text]

    assert all("Reject every chat id" in one for one in look("s1"))
    path = pathlib.Path(user_settings_path())
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("[effect]\nwithhold = 1.0\nwithhold_high = true\n")
    assert not [one for one in look("s2") if "Reject every chat id" in one]
    assert "Telegram" in ask(client, "search", query=PROMPT).text  # who has no session is answered

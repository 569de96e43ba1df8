"""A hook whose state, agent, input or process limits are not what they should be."""

import json
import os
import pathlib
import subprocess
import sys
import time
import types

import pytest

import lessons_kb
from lessons_kb.service.daemon_client import note_failure, read_record, start_daemon
from lessons_kb.store.locations import state_home
from lessons_kb.store.private_files import make_private
from lessons_kb.store.state_folder import state_dir

CLIENT = pathlib.Path(lessons_kb.__file__).parent / "hook_client.py"
PROMPT = "Add a telegram command that restarts the service"

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the client forks")


def hook(agent, event, **options):
    # What is printed is waited for to its end, as agents wait: whoever holds it open is waited for.
    command = [sys.executable, "-I", "-S", CLIENT, agent]
    return subprocess.run(command, input=event, capture_output=True, timeout=20, **options)


@pytest.mark.parametrize("record", [
    '{"failures": "3"}', '{"failures": null}', '{"tried": null}', '{"tried": "now"}',
    '{"error": 1}', "[" * 5000, "", "\0",
])  # fmt: skip
def test_a_damaged_record_of_the_daemon_costs_no_answer(monkeypatch, record):
    started = []
    monkeypatch.setattr(
        "subprocess.Popen", lambda *a, **_: started.append(a) or types.SimpleNamespace()
    )
    make_private(state_home())
    pathlib.Path(state_home(), "daemon.json").write_text(record)
    assert start_daemon(os.environ, directory=os.sep)
    assert len(started) == 1
    pathlib.Path(state_home(), "daemon.json").write_text(record)
    note_failure("no room")
    assert read_record()["failures"] == 1


@pytest.mark.parametrize("agent", ["somebody", b"\xff"])
def test_an_agent_that_nobody_knows_is_not_waited_for(agent):
    done = hook(agent, json.dumps({"prompt": "x" * 2_000_000}).encode())
    assert (done.returncode, done.stdout) == (0, b"")


def test_a_hook_that_may_open_no_file_is_silent():
    import resource

    done = hook(
        "cursor", b"{}", preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (4, 4))
    )
    assert (done.returncode, done.stdout) == (0, b"{}\n")


@pytest.mark.slow
@pytest.mark.parametrize("what", ["a journal that is no file", "an event of thirty megabytes"])
def test_what_is_odd_is_answered_and_not_waited_for(root, monkeypatch, what):
    card = "---\ntype: lesson\ntitle: A telegram command must require an allowlist\n---\n"
    (root / "lessons/telegram.md").write_text(card)
    monkeypatch.setenv("LESSONS_HOOK_DEADLINE", "50")
    event = {"hook_event_name": "UserPromptSubmit", "session_id": "s", "cwd": str(root)}
    if "journal" in what:
        journal = pathlib.Path(state_dir(str(root)), "journal.db")
        journal.unlink(missing_ok=True)
        os.mkfifo(journal)
    else:
        event["more"] = "x" * 30_000_000
    started = time.monotonic()
    done = hook("claude-code", json.dumps({**event, "prompt": PROMPT}).encode())
    assert b"allowlist" in done.stdout
    assert (b"is not a file" in done.stdout) is ("journal" in what)
    assert time.monotonic() - started < 60

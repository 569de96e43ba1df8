"""No command waits for a FIFO, wherever it stands in for a file; nor does one outlive Ctrl-C."""

import json
import os
import select
import signal
import subprocess
import sys

import pytest

from lessons_kb.errors import GitError
from tests.cli.test_mine import commit, project
from tests.kit import git

__all__ = ["project"]

HANGS_AFTER = 100.0
"""Seconds; longer than anything that a busy machine takes, and than git's own deadlines."""
READS_GIT = ("doctor", "mine", "detect", "install git", "check --diff answer", "bump a")
READS_SETTINGS = ("doctor", "list", "config", "preflight retry", "add title", "review")
MAIN = "import sys; from lessons_kb.cli.main import main; sys.exit(main())"
CARD = "---\ntitle: A\ndetect: [{regex: x}]\n---\n\n## Situation\n\nNothing.\n"

GIT_PLACES = (
    *(".gitattributes", ".gitignore", ".git/HEAD", ".git/config", ".git/index"),
    *(".git/packed-refs", ".git/info/attributes", ".git/info/exclude", ".git/info/grafts"),
    *(".git/config.worktree", ".git/shallow", ".git/logs/HEAD"),
    *(".git/objects/info/alternates", ".git/objects/info/commit-graph"),
)
PLACES = {
    **dict.fromkeys(GIT_PLACES, READS_GIT),
    ".git/commondir": ("install git",),
    "lessons.toml": READS_SETTINGS,
    ".lessonsignore": READS_SETTINGS,
    "lessons/a.md": ("doctor", "list", "show a", "lint", "bump a", "import lessons/a.md"),
    "AGENTS.md": ("doctor", "mine", "detect", "install codex --scope project --dry-run"),
    ".specstory/history/one.md": ("mine",),
    "docs/solutions/one.md": ("mine", "import docs/solutions", "import docs/solutions/one.md"),
    "~/.claude/projects/{name}/one.jsonl": ("mine", "import ~/.claude/projects/{name}/one.jsonl"),
    "~/.codex/sessions/one.jsonl": ("mine",),
    "~/.copilot/session-state/one.jsonl": ("mine",),
    "~/.gemini/tmp/one/.project_root": ("mine",),
    "~/.gemini/tmp/{digest}/chats/one.json": ("mine",),
    "~/.local/share/opencode/opencode.db": ("mine",),
    "~/.local/share/opencode/storage/session/one/one.json": ("mine",),
    "~/.config/lessons-kb/settings.toml": READS_SETTINGS,
    "~/.local/state/lessons-kb/hook.log": ("doctor", "hook"),
    "~/.local/state/lessons-kb/daemon.json": ("doctor", "daemon status"),
    "~/.claude/settings.json": ("doctor", "install claude-code"),
}


def program(text):
    """Return a command line as it starts in a process of its own."""
    if text == "hook":
        return [sys.executable, "-m", "lessons_kb.service.fallback", "claude-code"]
    return [sys.executable, "-c", MAIN, *text.split()]


def place(project, text):
    """Return a place of the table for this project."""
    import hashlib
    import re

    name = re.sub(r"[^A-Za-z0-9]", "-", str(project))
    digest = hashlib.sha256(str(project).encode()).hexdigest()
    home = os.environ["HOME"]
    return text.replace("{name}", name).replace("{digest}", digest).replace("~", home)


CASES = [(where, command) for where, commands in PLACES.items() for command in commands]


@pytest.mark.slow
@pytest.mark.parametrize(("where", "command"), CASES, ids=[f"{w}-{c}" for w, c in CASES])
def test_no_command_waits_for_a_fifo(project, where, command):
    commit(project, "one", **{"lessons/a.md": CARD})
    fifo = project / place(project, where)
    fifo.parent.mkdir(parents=True, exist_ok=True)
    fifo.unlink(missing_ok=True)
    os.mkfifo(fifo)
    done = subprocess.run(
        program(place(project, command)),
        input=b'{"hook_event_name": "SessionStart", "session_id": "1", "cwd": "."}',
        capture_output=True,
        timeout=HANGS_AFTER,
        check=False,
    )
    output = done.stderr.decode()
    assert done.returncode in (0, 1, 2), output
    assert "internal error" not in output
    assert "Traceback" not in output
    if where in GIT_PLACES and command != "bump a":
        assert "is a FIFO" in output + done.stdout.decode()


@pytest.mark.slow
@pytest.mark.parametrize("set_by", [None, "mailmap.file"])
def test_a_history_is_read_without_a_mailmap(project, lessons, set_by):
    commit(project, "one", **{"lessons/a.md": CARD})
    os.mkfifo(project / ".mailmap")
    if set_by:
        git(project, "config", set_by, str(project / ".mailmap"))
    found = json.loads(lessons("mine", "--json").out)
    assert found["trouble"] == []


@pytest.mark.slow
def test_a_git_that_waits_is_no_clone_without_content(project, lessons, monkeypatch):
    commit(project, "one", **{"lessons/a.md": CARD})

    def wait(*_arguments):
        raise GitError("git log gave no answer")
        yield

    monkeypatch.setattr("lessons_kb.mining.mine_project.read_commits", wait)
    assert json.loads(lessons("mine", "--json").out)["trouble"] == ["git log gave no answer"]


def is_readable(descriptor):
    """Wait until a pipe can be read or has ended; ``select`` takes no number from 1,024 on."""
    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    return bool(poll.poll(1000 * HANGS_AFTER))


@pytest.mark.slow
@pytest.mark.parametrize("command", ["mine", "detect", "check --diff answer", "install git"])
def test_ctrl_c_ends_a_command_and_the_git_it_waits_for(project, tmp_path, monkeypatch, command):
    commit(project, "one", **{"lessons/a.md": CARD})
    os.mkfifo(tmp_path / "held")
    held = os.open(tmp_path / "held", os.O_RDONLY | os.O_NONBLOCK)
    fake = tmp_path / "bin" / "git"
    fake.parent.mkdir()
    # Half a second: it is about a git that runs, not about one that is being started.
    run = f"exec 3> {tmp_path}/held; sleep 600 & sleep 0.5; echo x >&3; wait"
    fake.write_text(f"#!/bin/sh\n{run}\n")
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", f"{fake.parent}{os.pathsep}{os.environ['PATH']}")
    with subprocess.Popen(
        program(command), stderr=subprocess.PIPE, stdin=subprocess.DEVNULL
    ) as process:
        assert is_readable(held)
        assert os.read(held, 2) == b"x\n"
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=HANGS_AFTER)
    assert is_readable(held)
    assert os.read(held, 1) == b""  # nobody holds it any more
    os.close(held)
    assert process.returncode == 130
    assert b"Traceback" not in said

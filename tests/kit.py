"""What tests of every room share: files, git, hooks and what this process opens and starts."""

import contextlib
import datetime as dt
import functools
import importlib.util
import json
import os
import pathlib
import shutil
import socket
import subprocess
import sys
import tempfile
import textwrap
import time
from typing import NamedTuple

import lessons_kb
from lessons_kb.brain.make_brain import make_brain, trust_brain
from lessons_kb.cards.conflicts import Conflict
from lessons_kb.collection.contradictions import Verdicts
from lessons_kb.model import Card, Occasion
from lessons_kb.service.hook_event import answer_event
from lessons_kb.service.open_brains import OpenBrains
from lessons_kb.store.error_log import read_troubles
from lessons_kb.store.journal import Journal
from lessons_kb.store.state_folder import state_dir

__all__ = ["OpenBrains", "answer_event", "make_brain", "read_troubles", "state_dir", "trust_brain"]

ROOT = pathlib.Path(__file__).parents[1]
EXAMPLE = ROOT / "brain-example"
START = "from lessons_kb.cli.entry import main; main()"
"""What a process of `lessons` runs."""

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


def read_lines(name):
    """Return the lines of a file of the package's data, without comments."""
    lines = (
        (pathlib.Path(lessons_kb.__file__).parent / "data" / name).read_text("utf-8").split("\n")
    )
    return [line for line in lines if line.strip() and not line.startswith("#")]


def today():
    """Return the day of now in ISO 8601, for a run of the suite may pass midnight."""
    return dt.date.today().isoformat()


def free_port():
    """Return a port of this machine that nobody listens on."""
    with socket.create_server(("127.0.0.1", 0)) as found:
        return found.getsockname()[1]


def write(folder, name, text):
    """Write a file and the folders above it; return its path."""
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(textwrap.dedent(text), encoding="utf-8")
    return path


def copy_example(folder):
    """Copy the example brain, without what an index has left in it; return the folder."""
    return shutil.copytree(EXAMPLE, folder, ignore=shutil.ignore_patterns(".lessons"))


class Result(NamedTuple):
    """What a command did."""

    code: int
    out: str
    err: str


def run_python(code, *words, cwd=None, **environment):
    """Run a piece of Python in a process of its own, which imports nothing from its folder."""
    done = subprocess.run(
        [sys.executable, "-P", "-c", code, *map(str, words)], cwd=cwd, stdin=subprocess.DEVNULL,
        env={**os.environ, **environment}, capture_output=True, encoding="utf-8", timeout=120,
    )  # fmt: skip
    assert "Traceback" not in done.stderr, done.stderr
    return Result(done.returncode, done.stdout, done.stderr)


def run_lessons(cwd, *words, **environment):
    """Run `lessons` in a process of its own."""
    return run_python(START, *words, cwd=cwd, **environment)


def wait_until(holds, seconds=60):
    """Return what ``holds()`` returns as soon as that is true."""
    until = time.monotonic() + seconds
    while not (found := holds()):
        assert time.monotonic() < until, "it does not happen"
        time.sleep(0.02)
    return found


def load_script(name):
    """Import a script of the folder tools/."""
    spec = importlib.util.spec_from_file_location(name, ROOT / "tools" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def git(folder, *words, when=""):
    """Run git as somebody, at a time of ISO 8601 or now; return what it prints."""
    who = {"NAME": "Ada", "EMAIL": "ada@example.org", **({"DATE": when} if when else {})}
    roles = {f"GIT_{role}_{k}": v for role in ("AUTHOR", "COMMITTER") for k, v in who.items()}
    command = ["git", "-c", "protocol.file.allow=always", *words]
    environment = {**os.environ, **roles}
    done = subprocess.run(
        command, cwd=folder, env=environment, check=True, capture_output=True, text=True
    )
    return done.stdout


def commit(folder, subject="change", when="", **files):
    """Write files and commit all that there is, in a repository of its own; return the commit."""
    for name, text in files.items():
        write(folder, name, text)
    if not (folder / ".git").exists():
        init(folder)
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", subject, when=when)
    if (folder / ".git").is_dir():
        branch = (folder / ".git" / "HEAD").read_text().strip().removeprefix("ref: ")
        if (file := folder / ".git" / branch).is_file():
            return file.read_text().strip()
    return git(folder, "rev-parse", "HEAD").strip()


def init(folder):
    """Make a folder an empty repository. A copy takes less time than git does."""
    new = pathlib.Path(empty_repository().name, ".git")
    shutil.copytree(new, folder / ".git", ignore=shutil.ignore_patterns("*.sample"))


@functools.cache
def empty_repository():
    """Return a temporary folder that is a new repository."""
    folder = tempfile.TemporaryDirectory(prefix="lessons-tests-")
    git(folder.name, "init", "-q", "-b", "main")
    return folder


def read_output(printed):
    """Return what an agent reads: the object, and under "progress" the messages in front of it.

    An agent that reads text takes what is no object as context.
    """
    if printed.strip() and not printed.lstrip().startswith("{"):
        return {"hookSpecificOutput": {"additionalContext": printed}}
    objects = [json.loads(line) for line in printed.splitlines() if line.strip()]
    shown = [one["message"] for one in objects if one.get("type") == "progress"]
    outputs = [one for one in objects if one.get("type") != "progress"]
    assert len(outputs) <= 1
    return {**(outputs[0] if outputs else {}), **({"progress": "\n".join(shown)} if shown else {})}


def open_journal(root):
    """Open the journal of a brain."""
    return Journal(os.path.join(state_dir(str(root)), "journal.db"))


class Said(dict):
    """What a hook answered, as an agent reads it; {} for silence."""

    log = ""
    """What it printed beside."""

    @property
    def context(self):
        return self.get("hookSpecificOutput", {}).get("additionalContext", "")

    @property
    def asked(self):
        """Why the user is asked before a call, "" where nobody is asked."""
        return self._decided("ask")

    @property
    def refused(self):
        """Why a call is refused, "" where it is not."""
        return self._decided("deny")

    def _decided(self, decision):
        specific = self.get("hookSpecificOutput", {})
        assert specific.get("permissionDecision") in (None, "ask", "deny")
        decides = specific.get("permissionDecision") == decision
        return specific["permissionDecisionReason"] if decides else ""

    @property
    def line(self):
        """What the user is shown."""
        return self.get("systemMessage") or self.get("message") or ""


def answer(agent, event, environment=None, **how):
    """Answer one hook event in this process."""
    data = event if isinstance(event, (bytes, str)) else json.dumps(event)
    output, log = answer_event(agent, data, environment or {}, **how)
    said = Said(read_output(output))
    said.log = log
    return said


def oppose(root, first, second):
    """Store that an agent called two cards opposed, each given by its title and its only item."""
    cards = [
        Card(id=f"lessons/{number}.md", kind="lesson", title=title, checklist=(item,))
        for number, (title, item) in enumerate((first, second))
    ]
    conflict = Conflict(*cards, demand=first[1], opposed=second[1], is_judged=True)
    Verdicts(str(root)).add([conflict], [])


def occasions(card="lessons/a.md", **arms):
    """Return a card's occasions: ``block=(3, 20)`` were told, and three of twenty left it."""
    return [
        Occasion(
            session=f"{told}-{number}", card=card, at=number, occasion="prompt", told=told,
            outcome="left" if number < left else "avoided", fact="pattern",
        )
        for told, (left, of) in arms.items()
        for number in range(of)
    ]  # fmt: skip


class Claude:
    """A session of Claude Code: each event of it, and what is answered."""

    def __init__(self, project, session="s1", agent="claude-code", **how):
        self.project, self.session, self.agent, self.how = project, session, agent, how
        self.transcript = project / "transcript.jsonl"

    def event(self, name, **fields):
        return {
            "session_id": self.session, "transcript_path": str(self.transcript),
            "cwd": str(self.project), "permission_mode": "default", "hook_event_name": name,
            **fields,
        }  # fmt: skip

    def say(self, name, environment=None, **fields):
        return answer(self.agent, self.event(name, **fields), environment, **self.how)

    def prompt(self, text, number=1, **fields):
        turn = "turn_id" if self.agent == "codex" else "prompt_id"
        return self.say("UserPromptSubmit", prompt=text, **{turn: f"p{number}", **fields})

    def call(self, when, tool, arguments, number=1, **fields):
        """Tell of a call: "Pre", "Post" or, with its error, "Failed"."""
        name = f"{when}ToolUse" if when != "Failed" else "PostToolUseFailure"
        named = {"tool_name": tool, "tool_use_id": f"toolu_{number}", "tool_input": arguments}
        return self.say(name, **{**named, **fields})

    def run(self, command, number=1, when="Pre", **fields):
        return self.call(when, "Bash", {"command": command}, number, **fields)

    def edit(self, path, number=1, when="Pre", new="b", old="a", **fields):
        change = {"file_path": str(self.project / path), "old_string": old, "new_string": new}
        return self.call(when, "Edit", change, number, **fields)

    def stop(self, text="finished", **fields):
        return self.say("Stop", last_assistant_message=text, **fields)

    def record(self, *lines):
        """Write to the transcript what the agent writes there."""
        with self.transcript.open("a") as file:
            file.writelines(json.dumps(line) + "\n" for line in lines)


_watching = []


def _see(event, arguments):
    if event in ("open", "os.listdir", "os.scandir", "subprocess.Popen"):
        for seen in _watching:
            seen.append((event, str(arguments[1 if event == "subprocess.Popen" else 0])))


@contextlib.contextmanager
def watched():
    """Collect the files that this process opens and the programs that it starts."""
    if not hasattr(_see, "added"):
        sys.addaudithook(_see)
        _see.added = True
    seen = []
    _watching.append(seen)
    try:
        yield seen
    finally:
        _watching.remove(seen)
